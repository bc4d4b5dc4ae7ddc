/**
 * Measures durable creations and runs of jobs over HTTP, beside bare Fastify with one INSERT and one fsync a request.
 */
import path from 'node:path'
import { atLeast, type Figure } from '../figure.ts'
import { type Ask, sendAll } from '../load.ts'
import {
  type Form,
  inTurns,
  putTrivial,
  type Running,
  startPeer,
  TOKEN,
  TRIVIAL_ID,
  withFolder,
  withService,
} from '../measure.ts'

const CONNECTIONS = 50

export const createRunRow = {
  name: 'create-run',
  // No worker runs the jobs meanwhile, because the analyses would take the second core.
  run: (form: Form): Promise<Figure[]> =>
    withService({ ASSAY_ROLES: 'api' }, (service) => withFolder((folder) => measure(form, service, folder))),
}

const BODY = JSON.stringify({ payload: { type: 'template', template_id: TRIVIAL_ID, template_vars: {} } })

/** Creates `count` jobs, then runs each. Resolves with the requests a second (two for each job). */
async function createAndRun(url: string, count: number): Promise<number> {
  const ids: string[] = []
  const options = { url, connections: CONNECTIONS, headers: { authorization: `Bearer ${TOKEN}` } }
  const create: Ask = { method: 'POST', path: '/v1alpha/jobs/', body: BODY }
  let left = count
  const created = await sendAll({
    ...options,
    next: () => (left-- > 0 ? create : null),
    onBody: (body) => ids.push(JSON.parse(body) as string),
  })
  const runs = ids.map((assignment_id) => ({
    method: 'POST' as const,
    path: '/v1alpha/jobs/run',
    body: JSON.stringify({ payload: { type: 'assignment', assignment_id } }),
  }))
  const ran = await sendAll({ ...options, next: () => runs.pop() ?? null })
  return (created.requests + ran.requests) / (created.seconds + ran.seconds)
}

async function insertAll(url: string, count: number): Promise<number> {
  let left = count
  const ask: Ask = { method: 'POST', path: '/jobs', body: BODY }
  const load = await sendAll({ url, connections: CONNECTIONS, next: () => (left-- > 0 ? ask : null) })
  return load.requests / load.seconds
}

async function measure({ turns, short }: Form, service: Running, folder: string): Promise<Figure[]> {
  const count = short ? 1000 : 5000
  await putTrivial(service)
  const peer = await startPeer('fastify.ts', ['insert', path.join(folder, 'peer.db')])
  try {
    return [
      {
        work: 'create + run over HTTP, durable, SQLite',
        beside: `bare Fastify, one INSERT and fsync each, ${CONNECTIONS} connections`,
        aim: atLeast(0.5),
        compare: 'ratio',
        unit: 'requests/s',
        turns: await inTurns(
          turns,
          () => createAndRun(service.url, count),
          () => insertAll(peer.ready, 2 * count),
        ),
        note: 'a job is two requests, each a commit of its own: half of this is jobs a second',
      },
    ]
  } finally {
    await peer.stop()
  }
}
