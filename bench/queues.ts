/**
 * Runs the same work through four queues: each job is claimed, writes a result of 10 kB and a delivery to one
 * webhook, and ends. The peers on PostgreSQL write both rows in a transaction as their users would: once for each
 * job, however often it runs, and in a form in which a sender finds due deliveries. `single`: one worker that holds
 * one job at a time. `batch`: each queue as its own documentation says that it is fastest. Jobs are queued before;
 * the time runs from the first claim to the last settle.
 */

import { uuidv7 } from '@assay/model/ids'
import type { Findings } from '@assay/model/insight'
import type { ClaimedJob, Store } from '@assay/store/store'
import { Queue, Worker } from 'bullmq'
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import { milliseconds } from './measure.ts'

export type Mode = 'single' | 'batch'

const BATCH = 500
const NODE = 'bench'
/** A text of 10 kB as JSON. */
const SUMMARY = 'A summary of ten thousand letters. '.repeat(285)
const RESULT = JSON.stringify({ summary: SUMMARY })

/** Queues jobs that do nothing. */
export async function queueEmpty(store: Store, count: number): Promise<void> {
  const template = { template_id: 'empty', version: 'bench', source: '# x', partials: {} }
  const rest = { user_id: 'admin', variables: {}, presence_name: null, priority: 0, metadata: {} }
  for (let done = 0; done < count; done += BATCH)
    await Promise.all(
      Array.from({ length: Math.min(BATCH, count - done) }, async () => {
        const created = { assignment_id: uuidv7(), workspace_id: 'default', template, ...rest }
        await store.queueJob(await store.createJob(created))
      }),
    )
}

const FINDINGS = {
  title: 'bench',
  summary: SUMMARY,
  skipped: null,
} as unknown as Findings

function settle(store: Store, { job }: ClaimedJob): Promise<boolean> {
  const { assignment_id, attempt } = job
  const lease = { assignment_id, attempt, node_id: NODE }
  return store.completeJob({ ...lease, insight_id: uuidv7(), findings: FINDINGS, ran_ms: 0 })
}

/** Adds a webhook that gets the ends of all jobs. Nothing sends its deliveries. */
export async function addWebhook(store: Store): Promise<void> {
  await store.createWebhook({
    webhook_id: uuidv7(),
    workspace_id: 'default',
    url: 'https://receiver.example',
    headers: [],
    user_id: 'admin',
    presence_name: '',
    events: null,
    description: null,
    signature: 'v1',
    secrets: [{ sealed: 'bench', expires_at: null }],
    public_key: null,
    retry_schedule: null,
    max_in_flight: null,
    rate_per_second: null,
  })
}

/**
 * The tables that a user of a queue library adds: `results` with one row for each job, `webhooks`, and `deliveries`
 * with their due times.
 */
const USER_TABLES = `
  CREATE TABLE IF NOT EXISTS results (
    result_id uuid PRIMARY KEY, job_id text NOT NULL UNIQUE, created_at timestamptz NOT NULL, body json NOT NULL);
  CREATE TABLE IF NOT EXISTS webhooks (webhook_id uuid PRIMARY KEY, url text NOT NULL);
  CREATE TABLE IF NOT EXISTS outbox (
    delivery_id uuid PRIMARY KEY, webhook_id uuid NOT NULL REFERENCES webhooks, result_id uuid NOT NULL, type text NOT NULL,
    body json NOT NULL, status text NOT NULL, due_at timestamptz NOT NULL, attempts integer NOT NULL DEFAULT 0);
  CREATE INDEX IF NOT EXISTS outbox_due ON outbox (webhook_id, due_at) WHERE status = 'pending';
  INSERT INTO webhooks SELECT gen_random_uuid(), 'https://receiver.example' WHERE NOT EXISTS (SELECT 1 FROM webhooks)`
// A job that runs a second time, because its worker died before its end was recorded, writes nothing.
const INSERT_RESULTS = `
  INSERT INTO results SELECT id, job_id, now(), body::json
  FROM unnest($1::uuid[], $2::text[], $3::text[]) AS given (id, job_id, body) ON CONFLICT (job_id) DO NOTHING RETURNING result_id`
const INSERT_OUTBOX = `
  INSERT INTO outbox SELECT gen_random_uuid(), webhook_id, id, 'job.completed',
    json_build_object('result_id', id, 'job_status', 'completed', 'at', now()), 'pending', now()
  FROM unnest($1::uuid[]) AS given (id) CROSS JOIN webhooks`

interface Queryable {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>
}

async function writeResults(client: Queryable, job_ids: string[]): Promise<void> {
  const ids = job_ids.map(() => uuidv7())
  const { rows } = await client.query(INSERT_RESULTS, [ids, job_ids, ids.map(() => RESULT)])
  const made = (rows as { result_id: string }[]).map(({ result_id }) => result_id)
  await client.query(INSERT_OUTBOX, [made])
}

/** Runs the work on `count` jobs. Resolves with jobs a second. */
export type Meter = (count: number, work: () => Promise<void>) => Promise<number>

export const perSecond: Meter = async (count, work) => (count * 1000) / (await milliseconds(work))

/** Works as the worker of the service does: ended jobs are settled while the next ones are claimed. */
export async function assay(
  store: Store,
  mode: Mode,
  count: number,
  meter: Meter = perSecond,
): Promise<number> {
  await store.registerNode({ node_id: NODE, name: NODE, roles: ['worker'], version: '0', lease_ms: 600_000 })
  await queueEmpty(store, count)
  const limit = mode === 'single' ? 1 : BATCH
  return meter(count, async () => {
    let held = await store.claimJobs({ node_id: NODE, limit })
    for (let done = 0; done < count; ) {
      const settled = held.map((one) => settle(store, one))
      done += held.length
      held = done < count ? await store.claimJobs({ node_id: NODE, limit }) : []
      const kept = await Promise.all(settled)
      if (kept.includes(false)) throw new Error('A job was not settled.')
    }
  })
}

export async function graphile(
  connectionString: string,
  mode: Mode,
  count: number,
  meter: Meter = perSecond,
): Promise<number> {
  const pgPool = new Pool({ connectionString, max: 10 })
  pgPool.on('error', () => undefined)
  const utils = await makeWorkerUtils({ pgPool })
  await utils.migrate()
  await pgPool.query(USER_TABLES)
  for (let job = 0; job < count; job += BATCH)
    await utils.addJobs(
      Array.from({ length: Math.min(BATCH, count - job) }, () => ({ identifier: 'empty', payload: {} })),
    )
  const done = Promise.withResolvers<void>()
  let left = count
  const fast = { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } }
  const start = () =>
    run({
      pgPool,
      concurrency: mode === 'single' ? 1 : 24,
      preset: mode === 'single' ? {} : fast,
      noHandleSignals: true,
      parsedCronItems: [],
      logger: new Logger(() => () => undefined),
      taskList: {
        empty: async (_payload, { withPgClient, job: { id } }) => {
          await withPgClient(async (client) => {
            await client.query('BEGIN')
            await writeResults(client, [id])
            await client.query('COMMIT')
          })
          left -= 1
          if (left === 0) done.resolve()
        },
      },
    })
  let stop: (() => Promise<void>) | undefined
  const rate = await meter(count, async () => {
    const runner = await start()
    stop = () => runner.stop()
    await done.promise
  })
  await stop?.()
  await utils.release()
  await pgPool.end()
  return rate
}

export async function boss(
  connectionString: string,
  mode: Mode,
  count: number,
  meter: Meter = perSecond,
): Promise<number> {
  const queue = new PgBoss({ connectionString, supervise: false, schedule: false })
  await queue.start()
  await queue.createQueue('empty')
  const pool = new Pool({ connectionString, max: 1 })
  pool.on('error', () => undefined)
  await pool.query(USER_TABLES)
  const batchSize = mode === 'single' ? 1 : BATCH
  for (let job = 0; job < count; job += BATCH)
    await queue.insert(
      'empty',
      Array.from({ length: Math.min(BATCH, count - job) }, () => ({ data: {} })),
    )
  const rate = await meter(count, async () => {
    for (let done = 0; done < count; ) {
      const claimed = await queue.fetch('empty', { batchSize })
      // The job ends in one transaction with the rows of its user, on the connection that the library is given.
      const client = await pool.connect()
      const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) }
      const ids = claimed.map(({ id }) => id)
      await client.query('BEGIN')
      await writeResults(client, ids)
      await queue.complete('empty', ids, {}, { db })
      await client.query('COMMIT')
      client.release()
      done += claimed.length
    }
  })
  await queue.stop({ graceful: false })
  await pool.end()
  return rate
}

export async function bull(url: string, mode: Mode, count: number): Promise<number> {
  const connection = new Redis(url, { maxRetriesPerRequest: null })
  const blocking = connection.duplicate()
  const queue = new Queue('empty', { connection })
  for (let job = 0; job < count; job += BATCH)
    await queue.addBulk(
      Array.from({ length: Math.min(BATCH, count - job) }, () => ({
        name: 'empty',
        data: {},
        opts: { removeOnComplete: true },
      })),
    )
  const done = Promise.withResolvers<void>()
  let left = count
  const worker = new Worker('empty', async () => undefined, {
    connection: blocking,
    concurrency: mode === 'single' ? 1 : BATCH,
    autorun: false,
  })
  worker.on('completed', () => {
    left -= 1
    if (left === 0) done.resolve()
  })
  await worker.waitUntilReady()
  const began = performance.now()
  void worker.run()
  await done.promise
  const rate = (count * 1000) / (performance.now() - began)
  await worker.close()
  await queue.close()
  connection.disconnect()
  blocking.disconnect()
  return rate
}
