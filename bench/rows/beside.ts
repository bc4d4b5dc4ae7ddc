/**
 * The service beside that of another checkout, such as an earlier commit, in turns in one run. Processor time depends
 * less on other work of the machine than seconds do. Figures are costs, so a ratio above 1 is worse.
 */
import { missingPostgres, startPostgres } from '../../test/servers/postgres.ts'
import { atLeast, atMost, type Figure, type Missing, median } from '../figure.ts'
import { type Ask, sendAll } from '../load.ts'
import {
  type Form,
  inTurns,
  memoryOf,
  type Peer,
  pause,
  putTrivial,
  type Running,
  startPeer,
  startService,
  TOKEN,
  TRIVIAL_ID,
  withFolder,
} from '../measure.ts'
import { held, processorMs } from '../process-tree.ts'
import { deliver, makeEvents } from './deliveries.ts'
import { oneJob } from './run-to-completed.ts'

const MB = 1_000_000
const CONNECTIONS = 50
/** By then the service has started its analysis process, and has done what it does once after a start. */
const REST_MS = 15_000
const FIRST_JOBS = 25
/** The jobs whose status is asked for. */
const ASKED = 1000

type Measured = Record<string, number>

interface Part {
  work: string
  name: string
  unit: string
  /** The figure is a rate, so less is worse. */
  isRate?: boolean
}

/** Returns the figures of `parts` from the turns. */
function figuresOf(
  parts: readonly Part[],
  beside: string,
  turns: { ours: Measured; theirs: Measured }[],
): Figure[] {
  return parts.map(({ work, name, unit, isRate }) => ({
    work,
    beside,
    aim: isRate ? atLeast(0.9) : atMost(1.1),
    compare: 'ratio',
    unit,
    turns: turns.map(({ ours, theirs }) => ({ ours: ours[name]!, theirs: theirs[name]! })),
  }))
}

/** Runs work with a service of a checkout. */
function withServiceOf<T>(
  root: string | undefined,
  env: Record<string, string>,
  work: (service: Running) => Promise<T>,
): Promise<T> {
  return withFolder(async (home) => {
    const service = await startService(home, env, root)
    try {
      return await work(service)
    } finally {
      await service.stop()
    }
  })
}

/** Runs work with two services that are up at the same time, ours and the other's. */
async function withBoth<T>(
  root: string,
  env: (side: string) => Promise<Record<string, string>>,
  work: (ours: Running, theirs: Running) => Promise<T>,
): Promise<T> {
  const [mine, other] = [await env('ours'), await env('theirs')]
  return withServiceOf(undefined, mine, (ours) => withServiceOf(root, other, (theirs) => work(ours, theirs)))
}

const START: readonly Part[] = [
  { work: 'start to ready, fresh home', name: 'ms', unit: 'ms' },
  { work: 'processor time of the service until it is ready', name: 'processor', unit: 'ms' },
]

function start(root?: string): Promise<Measured> {
  const began = performance.now()
  return withServiceOf(root, {}, async ({ pid }) => ({
    ms: performance.now() - began,
    processor: processorMs(pid, false),
  }))
}

const REST: readonly Part[] = [
  { work: `memory of the service ${REST_MS / 1000} s after its start`, name: 'memory', unit: 'MB' },
  { work: 'the same with all processes', name: 'all', unit: 'MB' },
  { work: 'the first job, by the clock', name: 'first', unit: 'ms' },
  {
    work: `the first ${FIRST_JOBS} jobs, processor time of a job in all processes`,
    name: 'firstMany',
    unit: 'ms',
  },
  { work: 'the jobs after these, likewise', name: 'later', unit: 'ms' },
  { work: 'the same by the clock', name: 'clock', unit: 'ms' },
  { work: `memory of the service ${REST_MS / 1000} s after these jobs`, name: 'after', unit: 'MB' },
]

async function runJobs(service: Running, count: number): Promise<{ times: number[]; processor: number }> {
  const before = processorMs(service.pid)
  const times: number[] = []
  while (times.length < count) times.push(await oneJob(service))
  return { times, processor: (processorMs(service.pid) - before) / count }
}

function rest(later: number, root?: string): Promise<Measured> {
  return withServiceOf(root, {}, async (service) => {
    const { pid } = service
    await pause(REST_MS)
    const [memory, all] = [memoryOf(pid, 'VmRSS') / MB, held(pid) / MB]
    await putTrivial(service)
    const first = await runJobs(service, FIRST_JOBS)
    const then = await runJobs(service, later)
    await pause(REST_MS)
    return {
      memory,
      all,
      first: first.times[0]!,
      firstMany: first.processor,
      later: then.processor,
      clock: median(then.times),
      after: memoryOf(pid, 'VmRSS') / MB,
    }
  })
}

const REQUESTS: readonly Part[] = [
  { work: `create a job, processor time of a request, ${CONNECTIONS} at once`, name: 'create', unit: 'ms' },
  { work: 'run a job, likewise', name: 'run', unit: 'ms' },
  { work: `status of ${ASKED} jobs, likewise`, name: 'status', unit: 'ms' },
  { work: 'cancel a job, likewise', name: 'cancel', unit: 'ms' },
]

const BODY = JSON.stringify({ payload: { type: 'template', template_id: TRIVIAL_ID, template_vars: {} } })

const change =
  (path: string) =>
  (assignment_id: string): Ask => ({
    method: 'POST',
    path,
    body: JSON.stringify({ payload: { type: 'assignment', assignment_id } }),
  })

/** Sends the requests. Returns the milliseconds of the service's processor time for each. */
async function costOf(
  { url, pid }: Running,
  asks: readonly Ask[],
  onBody?: (body: string) => void,
): Promise<number> {
  let at = 0
  const before = processorMs(pid, false)
  await sendAll({
    url,
    connections: CONNECTIONS,
    headers: { authorization: `Bearer ${TOKEN}` },
    next: () => asks[at++] ?? null,
    ...(onBody ? { onBody } : {}),
  })
  return (processorMs(pid, false) - before) / asks.length
}

async function requests(service: Running, count: number): Promise<Measured> {
  const ids: string[] = []
  const creations = Array.from(
    { length: count },
    (): Ask => ({ method: 'POST', path: '/v1alpha/jobs/', body: BODY }),
  )
  const create = await costOf(service, creations, (body) => ids.push(JSON.parse(body) as string))
  const run = await costOf(service, ids.map(change('/v1alpha/jobs/run')))
  const asks = ids
    .slice(0, ASKED)
    .map((id): Ask => ({ method: 'GET', path: `/v1alpha/jobs/status?assignment_id=${id}` }))
  const status = await costOf(
    service,
    Array.from({ length: Math.ceil((2 * count) / asks.length) }, () => asks).flat(),
  )
  const cancel = await costOf(service, ids.map(change('/v1alpha/jobs/cancel')))
  return { create, run, status, cancel }
}

const deliveryParts = (store: string): Part[] => [
  { work: `a delivery, processor time of the service, ${store}`, name: 'processor', unit: 'ms' },
  { work: `deliveries a second, ${store}`, name: 'rate', unit: 'deliveries/s', isRate: true },
]

async function deliveries(service: Running, receiver: Peer, count: number): Promise<Measured> {
  const before = processorMs(service.pid, false)
  const rate = await deliver(service, receiver, count)
  return { rate, processor: (processorMs(service.pid, false) - before) / count }
}

async function deliveriesIn(
  { turns, short }: Form,
  checkout: string,
  store: string,
  env: (side: string) => Promise<Record<string, string>>,
): Promise<Figure[]> {
  const count = short ? 2000 : 10_000
  const given = async (side: string) => ({
    ASSAY_ROLES: 'api,dispatcher',
    ASSAY_WEBHOOK_TARGETS: 'loopback',
    ...(await env(side)),
  })
  return withBoth(checkout, given, async (ours, theirs) => {
    const receiver = await startPeer('receiver.ts')
    try {
      for (const service of [ours, theirs]) await makeEvents(service, count)
      const done = await inTurns(
        turns,
        () => deliveries(ours, receiver, count),
        () => deliveries(theirs, receiver, count),
      )
      return figuresOf(deliveryParts(store), checkout, done)
    } finally {
      await receiver.stop()
    }
  })
}

async function deliveriesOnPostgres(form: Form, checkout: string): Promise<(Figure | Missing)[]> {
  const reason = await missingPostgres()
  const [part] = deliveryParts('PostgreSQL')
  if (reason !== null) return [{ work: part!.work, beside: checkout, aim: atMost(1.1).text, reason }]
  const postgres = await startPostgres({ fsync: 'on', full_page_writes: 'on', autovacuum: 'on' })
  try {
    return await deliveriesIn(form, checkout, 'PostgreSQL', async (side) => ({
      ASSAY_STORE: await postgres.createDatabase(`bench_beside_${side}`),
      ASSAY_SECRET_KEY: 'a1'.repeat(32),
    }))
  } finally {
    await postgres.stop()
  }
}

export const besideRow = {
  name: 'beside',
  async run(form: Form): Promise<(Figure | Missing)[]> {
    const { turns, short, checkout } = form
    if (checkout === '') throw new Error('Name the other checkout: --checkout FOLDER.')
    const count = short ? 1000 : 4000
    const later = short ? 50 : 200
    const starts = await inTurns(
      turns,
      () => start(),
      () => start(checkout),
    )
    const rests = await inTurns(
      turns,
      () => rest(later),
      () => rest(later, checkout),
    )
    // Nothing may run the jobs meanwhile: the analyses would take the second core.
    const roles = async () => ({ ASSAY_ROLES: 'api' })
    const asked = await withBoth(checkout, roles, async (ours, theirs) => {
      for (const service of [ours, theirs]) await putTrivial(service)
      return inTurns(
        turns,
        () => requests(ours, count),
        () => requests(theirs, count),
      )
    })
    return [
      ...figuresOf(START, checkout, starts),
      ...figuresOf(REST, checkout, rests),
      ...figuresOf(REQUESTS, checkout, asked),
      ...(await deliveriesIn(form, checkout, 'SQLite', async () => ({}))),
      ...(await deliveriesOnPostgres(form, checkout)),
    ]
  },
}
