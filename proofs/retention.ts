/**
 * Checks that retention deletes millions of finished jobs beside requests. A home (or a database) is filled with
 * finished jobs that are too old. A service answers status requests that arrive at a constant rate: at first it keeps
 * everything, then it deletes, and then it has deleted.
 */

import { Agent, request } from 'node:http'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createClient } from '@assay/client'
import { Client as PostgresClient } from 'pg'
import { copies } from '../packages/store/conformance/given.ts'
import { INSIGHT_CARDS } from '../packages/store/tables/jobs/insight-cards.ts'
import { INSIGHTS, JOBS } from '../packages/store/tables/jobs/jobs.ts'
import { EVENTS } from '../packages/store/tables/webhooks/events.ts'
import { missingPostgres, type Postgres, startOwnPostgres } from '../test/servers/postgres.ts'
import { eventually, type Service, startService, temporaryFolder } from '../test/servers/service.ts'
import type { Proof } from './main.ts'

export interface RetentionOptions {
  store: 'sqlite' | 'postgres'
  jobs: number
  /** Requests a second, and the seconds of each calm stretch. */
  rate: number
  calmSeconds: number
  log(line: string): void
}

export interface Retained {
  deleted: number
  /** Milliseconds within which 99 of 100 status requests were answered. */
  calm: number
  beside: number
  failed: number
  seconds: number
}

const TOKEN = 'assay-retention-proof-token'
const TEMPLATE = '# A report\n\n' + 'A sentence of a report that says something.\n'.repeat(40)
const OLD_MS = 40 * 86_400_000
const FOREVER = '36500d'
const KEEPS_ALL = { ASSAY_KEEP_JOBS: FOREVER, ASSAY_KEEP_EVENTS: FOREVER, ASSAY_KEEP_DELIVERIES: '30d' }
const KEEPS_A_MONTH = { ASSAY_KEEP_JOBS: '30d', ASSAY_KEEP_EVENTS: '30d', ASSAY_KEEP_DELIVERIES: '7d' }
/** The jobs whose status is asked. They are young, so they stay. */
const YOUNG = 500
/** The rows that one statement makes. */
const PORTION = 250_000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Runs statements of SQL in the store of a stopped service. */
type Sql = (statements: string[]) => Promise<void>

/** Returns statements that make old copies of the one job, with its insight, card and event. */
function fillStatements(count: number): string[] {
  const at = new Date(Date.now() - OLD_MS).toISOString()
  const own = ['assignment_id', 'insight_id', 'event_id']
  const seqless = { name: EVENTS.name, columns: EVENTS.except('seq') }
  const aged = [
    `UPDATE jobs SET created_at = '${at}', queued_at = '${at}', started_at = '${at}', finished_at = '${at}'`,
    `UPDATE insights SET created_at = '${at}'`,
    `UPDATE insight_cards SET created_at = '${at}'`,
    `UPDATE events SET timestamp = '${at}'`,
  ]
  const portions: string[] = []
  for (let done = 0; done < count; done += PORTION) {
    const times = Math.min(PORTION, count - done)
    for (const table of [JOBS, INSIGHTS, INSIGHT_CARDS, seqless]) {
      // The id of a copy has more hyphens than that of the first.
      const id = table.name === 'events' ? `type = 'job.completed' AND event_id` : 'assignment_id'
      const copied = copies(table, own, times, `${id} NOT LIKE '%-%-%-%-%-%'`)
      portions.push(copied.replaceAll(`|| '-' || n`, `|| '-${done}-' || n`))
    }
  }
  return [...aged, ...portions]
}

async function makeOne(service: Service): Promise<void> {
  const client = createClient({ url: service.url, token: TOKEN })
  await client.templates.put('report', TEMPLATE)
  const id = await client.jobs.create({ template_id: 'report' })
  await client.jobs.run(id)
  await client.jobs.wait(id)
}

async function stop(service: Service): Promise<void> {
  service.signal('SIGTERM')
  await service.exited
}

/** Makes young finished jobs. Resolves with their ids. */
async function makeYoung(service: Service): Promise<string[]> {
  const client = createClient({ url: service.url, token: TOKEN })
  const ids: string[] = []
  while (ids.length < YOUNG) {
    const id = await client.jobs.create({ template_id: 'report' })
    await client.jobs.cancel(id)
    ids.push(id)
  }
  return ids
}

interface Stretch {
  took: number[]
  failed: number
}

/** Asks for the status of a job at each of the due times, until `over`. A wait counts from the due time. */
async function press(url: string, ids: string[], rate: number, over: () => boolean): Promise<Stretch> {
  const agent = new Agent({ keepAlive: true, maxSockets: 50 })
  const { hostname, port } = new URL(url)
  const stretch: Stretch = { took: [], failed: 0 }
  const open = new Set<Promise<void>>()
  const headers = { authorization: `Bearer ${TOKEN}` }
  const ask = (id: string): Promise<number> =>
    new Promise((resolve) => {
      const asked = { agent, hostname, port, headers, path: `/v1alpha/jobs/status?assignment_id=${id}` }
      request(asked, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode!))
      })
        .on('error', () => resolve(0))
        .end()
    })
  const begun = performance.now()
  for (let n = 0; !over(); n += 1) {
    const due = begun + (n * 1000) / rate
    const left = due - performance.now()
    if (left > 0) await pause(left)
    const answered = ask(ids[n % ids.length]!).then((status) => {
      stretch.took.push(performance.now() - due)
      if (status !== 200) stretch.failed += 1
    })
    open.add(answered)
    void answered.finally(() => open.delete(answered))
  }
  await Promise.all(open)
  agent.destroy()
  return stretch
}

const within99 = (took: number[]): number =>
  took.toSorted((a, b) => a - b)[Math.min(took.length - 1, Math.ceil(took.length * 0.99))]!

async function deletedBy(service: Service): Promise<number> {
  const answer = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  return Number(/^assay_rows_deleted_total\{kind="jobs"\} (\d+)$/m.exec(await answer.text())?.[1] ?? 0)
}

interface Ground {
  env: Record<string, string>
  home: string
  sql: Sql
}

async function measure(ground: Ground, options: RetentionOptions): Promise<Retained> {
  const { jobs, rate, calmSeconds, log } = options
  const start = (keep: Record<string, string>): Promise<Service> =>
    startService({
      home: ground.home,
      wrapped: false,
      env: { ...ground.env, ASSAY_TOKEN: TOKEN, ASSAY_LOG_LEVEL: 'warn', ...keep },
    })
  const first = await start(KEEPS_ALL)
  await makeOne(first)
  await stop(first)
  const began = performance.now()
  await ground.sql(fillStatements(jobs))
  log(
    `${jobs.toLocaleString('en-US')} finished jobs were made in ${Math.round((performance.now() - began) / 1000)} s`,
  )

  const quiet = await start(KEEPS_ALL)
  const ids = await makeYoung(quiet)
  const calmly = async (service: Service): Promise<Stretch> => {
    const until = performance.now() + calmSeconds * 1000
    return press(service.url, ids, rate, () => performance.now() > until)
  }
  // The first requests warm the service up.
  await press(
    quiet.url,
    ids,
    rate,
    (
      (until) => () =>
        performance.now() > until
    )(performance.now() + 3000),
  )
  const before = await calmly(quiet)
  log(`calm: 99 of 100 within ${within99(before.took).toFixed(1)} ms, of ${before.took.length}`)
  await stop(quiet)

  const service = await start(KEEPS_A_MONTH)
  await eventually(async () => (await deletedBy(service)) > 0, 'retention begins', 180_000)
  const deleting = performance.now()
  let over = false
  const pressing = press(service.url, ids, rate, () => over)
  let deleted = 0
  for (let told = 0; ; ) {
    await pause(Math.min(1000, calmSeconds * 100))
    const now = await deletedBy(service)
    // The job from which the others were copied is old, too.
    if (now >= jobs) {
      deleted = now
      break
    }
    if (performance.now() - told > 60_000) {
      told = performance.now()
      log(`${now.toLocaleString('en-US')} are deleted`)
    }
  }
  over = true
  const beside = await pressing
  const seconds = (performance.now() - deleting) / 1000
  const after = await calmly(service)
  await stop(service)
  const calm = within99([...before.took, ...after.took])
  const failed = before.failed + beside.failed + after.failed
  log(`calm again: 99 of 100 within ${within99(after.took).toFixed(1)} ms`)
  log(
    `${deleted.toLocaleString('en-US')} jobs were deleted in ${Math.round(seconds)} s; beside it 99 of 100 status requests were answered within ${within99(beside.took).toFixed(1)} ms, of ${beside.took.length}, ${failed} failed`,
  )
  return { deleted, calm, beside: within99(beside.took), failed, seconds }
}

async function onSqlite(options: RetentionOptions): Promise<Retained> {
  const { folder, remove } = temporaryFolder()
  const home = path.join(folder, 'home')
  const sql: Sql = async (statements) => {
    const db = new DatabaseSync(path.join(home, 'assay.db'))
    db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -500000')
    for (const statement of statements) db.exec(statement)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
  }
  try {
    return await measure({ env: {}, home, sql }, options)
  } finally {
    remove()
  }
}

async function onPostgres(options: RetentionOptions): Promise<Retained> {
  const { folder, remove } = temporaryFolder()
  const postgres: Postgres = await startOwnPostgres({
    fsync: 'on',
    full_page_writes: 'on',
    autovacuum: 'on',
    max_wal_size: '4GB',
  })
  const url = await postgres.createDatabase('assay_retention')
  const sql: Sql = async (statements) => {
    const client = new PostgresClient({ connectionString: url })
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.query('VACUUM ANALYZE')
    await client.query('CHECKPOINT')
    await client.end()
  }
  try {
    const env = { ASSAY_STORE: url, ASSAY_SECRET_KEY: 'a1'.repeat(32) }
    return await measure({ env, home: path.join(folder, 'home'), sql }, options)
  } finally {
    await postgres.stop()
    remove()
  }
}

export function retention(options: RetentionOptions): Promise<Retained> {
  return options.store === 'sqlite' ? onSqlite(options) : onPostgres(options)
}

/** How much longer 99 of 100 status requests may take beside the deletion. */
const SLOWER = 1.5

/** npm run proof -- retention [--store postgres] [--jobs 2000000] [--rate 100] */
export const proof: Proof = {
  summary: 'retention deletes two million finished jobs, and status requests hardly notice',
  async run({ number, text, log }) {
    const store = text('store', 'sqlite')
    if (store !== 'sqlite' && store !== 'postgres') throw new Error('--store takes sqlite or postgres')
    const missing = store === 'postgres' ? await missingPostgres() : null
    if (missing !== null) throw new Error(missing)
    const jobs = number('jobs', 2_000_000)
    const { calm, beside, failed } = await retention({
      store,
      jobs,
      rate: number('rate', 100),
      calmSeconds: number('calm', 60),
      log,
    })
    const broken = failed > 0 ? [`${failed} status requests failed.`] : []
    if (beside > SLOWER * calm)
      broken.push(
        `Beside the deletion 99 of 100 status requests were answered within ${beside.toFixed(1)} ms, ${(beside / calm).toFixed(2)} times as long as before and after (${calm.toFixed(1)} ms).`,
      )
    return broken
  },
}
