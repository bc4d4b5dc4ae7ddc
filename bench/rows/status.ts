/** `GET /jobs/status` with authentication, store and JSON, beside a bare Fastify route that answers the same JSON. */
import { setInterval } from 'node:timers'
import { atLeast, type Figure } from '../figure.ts'
import { requestRate } from '../load.ts'
import {
  type Form,
  inTurns,
  putTrivial,
  type Running,
  startPeer,
  TOKEN,
  TRIVIAL_ID,
  withService,
} from '../measure.ts'

const CONNECTIONS = 50
const JOBS = 1000
const WRITES_A_SECOND = 50
const BESIDE = `bare Fastify, same JSON, ${CONNECTIONS} connections`

export const statusRow = {
  name: 'status',
  run: (form: Form): Promise<Figure[]> => withService({}, (service) => measure(form, service)),
}

async function jobsOf({ client }: Running): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < JOBS) {
    const some = Array.from({ length: 50 }, () => client.jobs.create({ template_id: TRIVIAL_ID }))
    ids.push(...(await Promise.all(some)))
  }
  return ids
}

/** Each request asks for the next of `ids`. */
function asking(url: string, ids: string[], seconds: number): Promise<number> {
  const asks = ids.map((id) => ({ method: 'GET' as const, path: `/v1alpha/jobs/status?assignment_id=${id}` }))
  let at = 0
  const next = () => asks[at++ % asks.length]!
  const headers = { authorization: `Bearer ${TOKEN}` }
  return requestRate({ url, connections: CONNECTIONS, headers, next }, seconds)
}

async function measure({ turns, short }: Form, service: Running): Promise<Figure[]> {
  const { client, url } = service
  const seconds = short ? 1 : 3
  await putTrivial(service)
  const id = await client.jobs.create({ template_id: TRIVIAL_ID })
  await client.jobs.run(id)
  const view = await client.jobs.wait(id)
  const peer = await startPeer('fastify.ts', ['status', JSON.stringify(view)])
  const ask = { method: 'GET' as const, path: '/status' }
  const bare = () => requestRate({ url: peer.ready, connections: CONNECTIONS, next: () => ask }, seconds)
  try {
    const figure = { beside: BESIDE, aim: atLeast(0.75), compare: 'ratio' as const, unit: 'requests/s' }
    const one = await inTurns(turns, () => asking(url, [id], seconds), bare)
    const ids = await jobsOf(service)
    const written = await inTurns(turns, () => whileWriting(service, () => asking(url, ids, seconds)), bare)
    return [
      { ...figure, work: '`GET /jobs/status`, SQLite', turns: one },
      {
        ...figure,
        work: `the same over ${JOBS} jobs while ${WRITES_A_SECOND} jobs a second are written`,
        turns: written,
        note: 'an answer is kept until its own job changes',
      },
    ]
  } finally {
    await peer.stop()
  }
}

async function whileWriting<T>({ client }: Running, work: () => Promise<T>): Promise<T> {
  const writes: Promise<unknown>[] = []
  const timer = setInterval(
    () => writes.push(client.jobs.create({ template_id: TRIVIAL_ID })),
    1000 / WRITES_A_SECOND,
  )
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await Promise.all(writes)
  }
}
