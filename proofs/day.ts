/**
 * Checks that the queue tables of PostgreSQL do not grow with the jobs that went through them. A day of jobs is
 * simulated hour by hour: each job is queued, claimed and settled with its insight, a tenth with a delivery, and
 * retention deletes what is older than a few hours. After each hour claims are timed, in turns with those of an almost
 * empty store, and the tables are measured. Then comes a long queue.
 */
import { systemClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { Client } from 'pg'
import { addWebhook, attempt, DAY, findings, jobInput, outcome } from '../packages/store/conformance/given.ts'
import { missingPostgres, type Postgres, startOwnPostgres } from '../test/servers/postgres.ts'
import type { Proof } from './main.ts'

export interface DayOptions {
  jobs: number
  hours: number
  /** The hours for which finished jobs are kept. */
  keepHours: number
  /** The jobs of the queue at the end. */
  queued: number
  autovacuum: 'on' | 'off'
  log(line: string): void
}

/** The time of a claim, which depends on other work of the machine, and its ratio to that in an almost empty store. */
type Claims = Pick<Hour, 'claimMs' | 'ratio'>

export interface Hour {
  /** The bytes of the tables of the queue with their indexes. */
  bytes: number
  /** The median milliseconds of a claim of one job, and how many times as long that is as in an almost empty store. */
  claimMs: number
  ratio: number
}

export interface Day {
  hours: Hour[]
  /** The same of a claim beside the long queue. */
  longQueue: Claims
  violations: string[]
}

const NODE = 'day'
const BATCH = 500
/** The jobs after which the store tidies up: 7 minutes of the day. A node does so each minute. */
const TIDIED = 5000
/** The jobs that are claimed one by one after each hour, for the time of a claim. */
const CLAIMS = 60
const DELIVERED_TO = 'ops'
/** The share of jobs that have a delivery to a webhook. */
const HEARD = 0.1
/** How much the tables may grow after the first hours, and how much longer a claim may take than in an empty store. */
const FLAT = 1.25
const TABLES = [
  'jobs',
  'insights',
  'insight_cards',
  'events',
  'deliveries',
  'attempts',
  'webhooks',
  'job_counts',
]

/** An insight of 2 kB, the size of a short report. */
const FOUND = findings({ markdown: 'A sentence of a report that says something. '.repeat(40) })

/** Queues copies of the one draft, each a row as the store writes it. */
const QUEUE = `
  INSERT INTO jobs (assignment_id, workspace_id, user_id, template_id, template_version, job_status, priority, attempt,
    presence_name, created_at, queued_at, progress, moves, metadata, variables)
  SELECT gen_random_uuid()::text, workspace_id, user_id, template_id, template_version, 'queued', priority, attempt,
    CASE WHEN n % $3 = 0 THEN $4 END, clock_timestamp(), clock_timestamp(), progress, moves, metadata, variables
  FROM jobs, generate_series(1, $2::int) AS n WHERE assignment_id = $1`

/** The store, a connection beside it, and the draft of which the jobs are copies. */
interface Queue {
  store: Store
  client: Client
  draft: string
}

async function makeJobs({ client, draft }: Queue, count: number): Promise<void> {
  await client.query(QUEUE, [draft, count, 1 / HEARD, DELIVERED_TO])
}

/** Claims jobs and settles them, with their insights. Resolves with the number. */
async function work({ store }: Queue, limit: number): Promise<number> {
  const claimed = await store.claimJobs({ node_id: NODE, limit })
  const settled = await Promise.all(
    claimed.map(({ job: { assignment_id, attempt: number } }) =>
      store.completeJob({
        assignment_id,
        attempt: number,
        node_id: NODE,
        insight_id: uuidv7(),
        findings: FOUND,
        ran_ms: 0,
      }),
    ),
  )
  if (settled.includes(false)) throw new Error('A job was not settled.')
  return claimed.length
}

async function deliver({ store }: Queue): Promise<void> {
  for (;;) {
    const claimed = await store.claimDeliveries({ node_id: NODE, limit: BATCH })
    if (claimed.length === 0) return
    await store.recordAttempts(
      claimed.map((one) => outcome(one, { record: attempt({ number: one.attempt }) })),
    )
  }
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** Claims and settles one job. Resolves with the milliseconds of the claim. */
async function claimOne({ store }: Queue): Promise<number> {
  const begun = performance.now()
  const [claimed] = await store.claimJobs({ node_id: NODE, limit: 1 })
  const ms = performance.now() - begun
  const { assignment_id, attempt: number } = claimed!.job
  const lease = { assignment_id, attempt: number, node_id: NODE }
  await store.completeJob({ ...lease, insight_id: uuidv7(), findings: FOUND, ran_ms: 0 })
  return ms
}

/**
 * Times claims in turns with those of an almost empty store, so that other work on the machine counts on both sides.
 */
async function timeClaims(queue: Queue, empty: Queue): Promise<Claims> {
  await makeJobs(queue, CLAIMS)
  await makeJobs(empty, CLAIMS)
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let done = 0; done < CLAIMS; done += 1) {
    ours.push(await claimOne(queue))
    theirs.push(await claimOne(empty))
  }
  return { claimMs: median(ours), ratio: median(ours) / median(theirs) }
}

async function bytesOf({ client }: Queue): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    'SELECT sum(pg_total_relation_size(name::regclass))::float8 AS bytes FROM unnest($1::text[]) AS name',
    [TABLES],
  )
  return rows[0]!.bytes
}

/** Deletes what ended before `since`. */
async function retire({ store }: Queue, since: number): Promise<number> {
  let jobs = 0
  for (;;) {
    const ms = Math.max(1, Math.round(performance.now() - since))
    const keep = { jobs_ms: ms, drafts_ms: DAY, events_ms: ms, deliveries_ms: ms }
    const pruned = await store.prune({ keep, limit: BATCH })
    jobs += pruned.jobs
    if (Object.values(pruned).every((count) => count === 0)) return jobs
  }
}

const told = ({ claimMs, ratio }: Claims): string =>
  `a claim takes ${claimMs.toFixed(2)} ms, ${ratio.toFixed(2)} times as long as in an almost empty store`

const shown = (bytes: number): string => `${Math.round(bytes / 1e6).toLocaleString('en-US')} MB`

async function oneDay(queue: Queue, empty: Queue, options: DayOptions): Promise<Hour[]> {
  const { jobs, hours, keepHours, log } = options
  const perHour = Math.ceil(jobs / hours)
  const begun: number[] = []
  const all: Hour[] = []
  let deleted = 0
  for (let hour = 0; hour < hours; hour += 1) {
    begun.push(performance.now())
    // Clients, workers and the dispatcher work at the same time.
    for (let done = 0; done < perHour; done += BATCH) {
      await Promise.all([
        makeJobs(queue, Math.min(BATCH, perHour - done)),
        work(queue, BATCH),
        deliver(queue),
      ])
      if (done % TIDIED === 0) await queue.store.reclaim()
    }
    while ((await work(queue, BATCH)) > 0);
    await deliver(queue)
    const claims = await timeClaims(queue, empty)
    if (hour >= keepHours) deleted += await retire(queue, begun[hour - keepHours + 1]!)
    const bytes = await bytesOf(queue)
    all.push({ bytes, ...claims })
    const [made, gone] = [(hour + 1) * perHour, deleted].map((count) => count.toLocaleString('en-US'))
    log(`hour ${hour + 1}: ${made} jobs, ${gone} deleted, ${shown(bytes)}, ${told(claims)}`)
  }
  return all
}

/** Judges the hours after as many as are kept: by then rows are deleted as fast as they are made. */
function judge(hours: Hour[], { keepHours, queued }: DayOptions, longQueue: Claims): string[] {
  const settled = hours.slice(keepHours)
  const third = Math.max(1, Math.floor(settled.length / 3))
  const [first, last] = [settled.slice(0, third), settled.slice(-third)]
  const size = (of: Hour[]): number => median(of.map(({ bytes }) => bytes))
  const ratio = median(last.map((hour) => hour.ratio))
  const broken: string[] = []
  if (size(last) > FLAT * size(first))
    broken.push(`The tables grew from ${shown(size(first))} to ${shown(size(last))}.`)
  if (ratio > FLAT)
    broken.push(`At last a claim took ${ratio.toFixed(2)} times as long as in an almost empty store.`)
  if (longQueue.ratio > FLAT) broken.push(`With ${queued} jobs in the queue ${told(longQueue)}.`)
  return broken
}

async function openQueue(postgres: Postgres, name: string): Promise<Queue> {
  const url = await postgres.createDatabase(name)
  const store = await openStore({ url, home: '', clock: systemClock, publicUrl: null })
  const client = new Client({ connectionString: url })
  await client.connect()
  const node = { node_id: NODE, name: NODE, roles: ['worker' as const], version: '0', lease_ms: DAY }
  await store.registerNode(node)
  await addWebhook(store, { presence_name: DELIVERED_TO, max_in_flight: BATCH })
  return { store, client, draft: (await store.createJob(jobInput())).assignment_id }
}

async function through(postgres: Postgres, options: DayOptions): Promise<Day> {
  const queues = [await openQueue(postgres, 'assay_day'), await openQueue(postgres, 'assay_empty')] as const
  const [queue, empty] = queues
  try {
    const hours = await oneDay(queue, empty, options)
    for (let made = 0; made < options.queued; made += BATCH) await makeJobs(queue, BATCH)
    const longQueue = await timeClaims(queue, empty)
    options.log(`with ${options.queued.toLocaleString('en-US')} queued: ${told(longQueue)}`)
    return { hours, longQueue, violations: judge(hours, options, longQueue) }
  } finally {
    for (const { client, store } of queues) {
      await client.end()
      await store.close()
    }
  }
}

export async function day(options: DayOptions): Promise<Day> {
  // The day passes many times as fast as a real one, and so do the pauses of autovacuum, between and within its rounds.
  const postgres = await startOwnPostgres({
    autovacuum: options.autovacuum,
    autovacuum_naptime: '1s',
    autovacuum_vacuum_cost_delay: '0',
    fsync: 'on',
    full_page_writes: 'on',
    max_wal_size: '4GB',
  })
  try {
    return await through(postgres, options)
  } finally {
    await postgres.stop()
  }
}

/** npm run proof -- day [--jobs 1000000] [--queued 200000] [--autovacuum on|off] */
export const proof: Proof = {
  summary: 'a day of a million jobs on PostgreSQL: tables and claims stay as they are',
  async run({ number, text, log }) {
    const missing = await missingPostgres()
    if (missing !== null) throw new Error(missing)
    const autovacuum = text('autovacuum', 'on')
    if (autovacuum !== 'on' && autovacuum !== 'off') throw new Error('--autovacuum takes on or off')
    const jobs = number('jobs', 1_000_000)
    const { violations } = await day({
      jobs,
      hours: 24,
      keepHours: 3,
      queued: number('queued', 200_000),
      autovacuum,
      log,
    })
    return violations
  },
}
