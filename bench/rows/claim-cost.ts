/**
 * Measures how a claim and a settle on PostgreSQL slow down as the store fills: with finished jobs, then with a long
 * queue.
 */

import { systemClock } from '@assay/model/clock'
import { openStore } from '@assay/store/open'
import { Client } from 'pg'
import { missingPostgres, type Postgres, startPostgres } from '../../test/servers/postgres.ts'
import { atLeast, type Figure, type Missing } from '../figure.ts'
import { type Form, inTurns } from '../measure.ts'
import { addWebhook, assay } from '../queues.ts'

const WORK = 'claim and settle of jobs with a result of 10 kB and a delivery, PostgreSQL, one at a time'
const BESIDE = 'an almost empty store'

export const claimCostRow = {
  name: 'claim-cost',
  async run(form: Form): Promise<(Figure | Missing)[]> {
    const absent = await missingPostgres()
    if (absent !== null) return [{ work: WORK, beside: BESIDE, aim: atLeast(0.9).text, reason: absent }]
    const postgres = await startPostgres({
      fsync: 'on',
      full_page_writes: 'on',
      autovacuum: 'on',
      max_wal_size: '4GB',
    })
    const [many, few] = [await open(postgres, 'many'), await open(postgres, 'few')]
    try {
      return await growing(form, many, few)
    } finally {
      await many.store.close()
      await few.store.close()
      await postgres.stop()
    }
  },
}

type Opened = Awaited<ReturnType<typeof open>>

async function open(postgres: Postgres, name: string) {
  const url = await postgres.createDatabase(`bench_cost_${name}_${process.pid}`)
  const store = await openStore({ url, home: '', clock: systemClock, publicUrl: null })
  await addWebhook(store)
  return { url, store }
}

/** Copies the first job of the store $1 times into the state $2. Each copy is created a moment after the one before. */
const COPY = `
  INSERT INTO jobs (assignment_id, workspace_id, user_id, template_id, template_version, job_status, priority, attempt,
    created_at, queued_at, finished_at, progress, error, moves, metadata, variables)
  SELECT gen_random_uuid()::text, workspace_id, user_id, template_id, template_version, $2, priority, attempt,
    created_at + n * interval '1 ms', queued_at + n * interval '1 ms', CASE WHEN $2 = 'queued' THEN NULL ELSE finished_at END,
    progress, error, moves, metadata, variables
  FROM (SELECT * FROM jobs WHERE finished_at IS NOT NULL LIMIT 1) AS one, generate_series(1, $1) AS n`

/**
 * Inserts the copies without indexes and triggers, and puts these back. This takes a tenth of the time for the same
 * rows.
 */
async function copy(url: string, count: number, status: 'queued' | 'canceled'): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string; sql: string }>(
      `SELECT indexname AS name, indexdef AS sql FROM pg_indexes WHERE tablename = 'jobs' AND indexname <> 'jobs_pkey'`,
    )
    await client.query('BEGIN; ALTER TABLE jobs DISABLE TRIGGER USER')
    for (const { name } of rows) await client.query(`DROP INDEX ${name}`)
    await client.query(COPY, [count, status])
    for (const { sql } of rows) await client.query(sql)
    if (status === 'queued') await client.query(`SELECT count_jobs_of('default', 0, $1, 0)`, [count])
    await client.query('ALTER TABLE jobs ENABLE TRIGGER USER; COMMIT')
    await client.query('VACUUM ANALYZE jobs')
    await client.query('CHECKPOINT')
  } finally {
    await client.end()
  }
}

async function growing({ turns, short }: Form, many: Opened, few: Opened): Promise<Figure[]> {
  const jobs = short ? 100 : 500
  const million = short ? 100_000 : 1_000_000
  const figures: Figure[] = []
  await assay(many.store, 'single', 1)
  let finished = 0
  for (const [status, count] of [
    ['canceled', million],
    ['canceled', 10 * million],
    ['queued', million],
  ] as const) {
    await copy(many.url, status === 'canceled' ? count - finished : count, status)
    if (status === 'canceled') finished = count
    const shown = count.toLocaleString('en-US')
    figures.push({
      work: `${WORK}, with ${shown} ${status === 'queued' ? 'queued beside them' : 'finished jobs'}`,
      beside: BESIDE,
      aim: atLeast(0.9),
      compare: 'ratio',
      unit: 'jobs/s',
      turns: await inTurns(
        turns,
        () => assay(many.store, 'single', jobs),
        () => assay(few.store, 'single', jobs),
      ),
    })
  }
  return figures
}
