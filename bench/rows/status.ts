/**
 * Measures `GET /jobs/status` with authentication, store and JSON, beside a bare Fastify route that answers the same
 * JSON.
 */
import { setInterval } from 'node:timers'
import { missingPostgres, startPostgres } from '../../test/servers/postgres.ts'
import { atLeast, type Figure, type Missing } from '../figure.ts'
import { requestRate } from '../load.ts'
import {
  type Form,
  inTurns,
  type Peer,
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
  run: async (form: Form): Promise<(Figure | Missing)[]> => [
    ...(await withService({}, (service) => measure(form, service))),
    await onPostgres(form),
  ],
}

async function jobsOf({ client }: Running): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < JOBS) {
    const some = Array.from({ length: 50 }, () => client.jobs.create({ template_id: TRIVIAL_ID }))
    ids.push(...(await Promise.all(some)))
  }
  return ids
}

/** Resolves with the requests a second. Each request asks for the next of `ids`. */
function asking(url: string, ids: string[], seconds: number): Promise<number> {
  const asks = ids.map((id) => ({ method: 'GET' as const, path: `/v1alpha/jobs/status?assignment_id=${id}` }))
  let at = 0
  const next = () => asks[at++ % asks.length]!
  const headers = { authorization: `Bearer ${TOKEN}` }
  return requestRate({ url, connections: CONNECTIONS, headers, next }, seconds)
}

async function bareBeside(service: Running): Promise<Peer> {
  const { client } = service
  await putTrivial(service)
  const id = await client.jobs.create({ template_id: TRIVIAL_ID })
  await client.jobs.run(id)
  return startPeer('fastify.ts', ['status', JSON.stringify(await client.jobs.wait(id))])
}

function bareRate(peer: Peer, seconds: number): Promise<number> {
  const ask = { method: 'GET' as const, path: '/status' }
  return requestRate({ url: peer.ready, connections: CONNECTIONS, next: () => ask }, seconds)
}

async function measure({ turns, short }: Form, service: Running): Promise<Figure[]> {
  const seconds = short ? 1 : 3
  const peer = await bareBeside(service)
  const bare = () => bareRate(peer, seconds)
  try {
    const figure = { beside: BESIDE, aim: atLeast(0.75), compare: 'ratio' as const, unit: 'requests/s' }
    const ids = await jobsOf(service)
    const one = await inTurns(turns, () => asking(service.url, ids.slice(0, 1), seconds), bare)
    const written = await inTurns(
      turns,
      () => whileWriting(service, () => asking(service.url, ids, seconds)),
      bare,
    )
    return [
      { ...figure, work: '`GET /jobs/status`, SQLite', turns: one },
      {
        ...figure,
        work: `the same over ${JOBS} jobs while ${WRITES_A_SECOND} jobs a second are written`,
        turns: written,
      },
    ]
  } finally {
    await peer.stop()
  }
}

async function onPostgres({ turns, short }: Form): Promise<Figure | Missing> {
  const work = `\`GET /jobs/status\` over ${JOBS} jobs, PostgreSQL`
  const aim = atLeast(0.35)
  const absent = await missingPostgres()
  if (absent !== null) return { work, beside: BESIDE, aim: aim.text, reason: absent }
  const seconds = short ? 1 : 3
  const postgres = await startPostgres({ fsync: 'on', full_page_writes: 'on', autovacuum: 'on' })
  try {
    const url = await postgres.createDatabase(`bench_status_${process.pid}`)
    const settings = { ASSAY_STORE: url, ASSAY_SECRET_KEY: 'a1'.repeat(32) }
    return await withService(settings, async (service) => {
      const peer = await bareBeside(service)
      const ids = await jobsOf(service)
      const ask = () => asking(service.url, ids, seconds)
      const rates = await inTurns(turns, ask, () => bareRate(peer, seconds))
      await peer.stop()
      const note = 'each answer is read from the database; requests of one moment share a query'
      return { work, beside: BESIDE, aim, compare: 'ratio', unit: 'requests/s', turns: rates, note }
    })
  } finally {
    await postgres.stop()
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
