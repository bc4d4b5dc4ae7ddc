/** Claiming and settling empty jobs on PostgreSQL, one at a time, beside queue libraries on the same database. */

import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import { systemClock } from '../../src/runtime/clock.ts'
import { uuidv7 } from '../../src/runtime/ids.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { missingPostgres, startPostgres } from '../../test/postgres.ts'
import type { Figure, Missing } from '../figure.ts'
import { type Form, inTurns } from '../measure.ts'

const WORK = 'claim and settle of empty jobs, PostgreSQL, one at a time'
const AIM = { text: 'ahead (over 1)', holds: (ratio: number) => ratio > 1 }

export const queuesRow = {
  name: 'queues',
  run: (form: Form): Promise<(Figure | Missing)[]> => withPostgres(form),
}

async function withPostgres(form: Form): Promise<(Figure | Missing)[]> {
  const absent = await missingPostgres()
  if (absent !== null) return [missing('graphile-worker', absent), missing('pg-boss', absent)]
  const postgres = await startPostgres({ fsync: 'on', full_page_writes: 'on', autovacuum: 'on' })
  try {
    const [assay, graphile, boss] = await Promise.all(
      ['assay', 'graphile', 'boss'].map((name) => postgres.createDatabase(`bench_${name}`)),
    )
    return await measure(form, { assay: assay!, graphile: graphile!, boss: boss! })
  } finally {
    await postgres.stop()
  }
}

/** Jobs a second through claim, start and settle: four commits' worth of promises, one job at a time. */
async function ours(store: Store, count: number): Promise<number> {
  const node_id = 'bench'
  await store.registerNode({ node_id, name: 'bench', roles: ['worker'], version: '0', lease_ms: 600_000 })
  const template = { template_id: 'empty', version: 'bench', source: '# x', partials: {} }
  const rest = { user_id: 'admin', variables: {}, presence_name: null, priority: 0, metadata: {} }
  for (let job = 0; job < count; job += 1) {
    const created = { assignment_id: uuidv7(), workspace_id: 'default', template, ...rest }
    await store.queueJob(await store.createJob(created))
  }
  const began = performance.now()
  for (let job = 0; job < count; job += 1) {
    const [claimed] = await store.claimJobs({ node_id, limit: 1 })
    const { assignment_id, attempt } = claimed!.job
    await store.startJob({ assignment_id, attempt, node_id })
    await store.failJob({
      assignment_id,
      attempt,
      node_id,
      error: { code: 'analysis_failed', detail: 'bench' },
    })
  }
  return (count * 1000) / (performance.now() - began)
}

async function graphile(connectionString: string, count: number): Promise<number> {
  const pgPool = new Pool({ connectionString, max: 4 })
  pgPool.on('error', () => undefined)
  const utils = await makeWorkerUtils({ pgPool })
  await utils.migrate()
  for (let job = 0; job < count; job += 1) await utils.addJob('empty', {})
  const done = Promise.withResolvers<void>()
  let left = count
  const began = performance.now()
  const runner = await run({
    pgPool,
    concurrency: 1,
    noHandleSignals: true,
    parsedCronItems: [],
    logger: new Logger(() => () => undefined),
    taskList: {
      empty: () => {
        left -= 1
        if (left === 0) done.resolve()
      },
    },
  })
  await done.promise
  const rate = (count * 1000) / (performance.now() - began)
  await runner.stop()
  await utils.release()
  await pgPool.end()
  return rate
}

async function boss(connectionString: string, count: number): Promise<number> {
  const queue = new PgBoss({ connectionString, supervise: false, schedule: false })
  await queue.start()
  await queue.createQueue('empty')
  for (let job = 0; job < count; job += 1) await queue.send('empty', {})
  const began = performance.now()
  for (let job = 0; job < count; job += 1) {
    const [claimed] = await queue.fetch('empty')
    await queue.complete('empty', claimed!.id)
  }
  const rate = (count * 1000) / (performance.now() - began)
  await queue.stop({ graceful: false })
  return rate
}

const missing = (beside: string, reason: string): Missing => ({ work: WORK, beside, aim: AIM.text, reason })

async function measure(
  { turns, short }: Form,
  url: Record<'assay' | 'graphile' | 'boss', string>,
): Promise<(Figure | Missing)[]> {
  const count = short ? 100 : 500
  const redis = missing('BullMQ', 'it needs a Redis server, and none is installed here')
  const store = await openStore({
    url: url.assay,
    home: '',
    clock: systemClock,
    publicUrl: null,
  }).catch((error: unknown) => error as Error)
  if (store instanceof Error) {
    const reason = `the store on PostgreSQL could not be opened: ${store.message}`
    return [missing('graphile-worker', reason), missing('pg-boss', reason), redis]
  }
  const figure = { work: WORK, aim: AIM, compare: 'ratio' as const, unit: 'jobs/s' }
  const note = 'ours also writes each move, the event and the state of its start: three commits a job'
  try {
    const mine = () => ours(store, count)
    return [
      {
        ...figure,
        beside: 'graphile-worker',
        turns: await inTurns(turns, mine, () => graphile(url.graphile, count)),
        note,
      },
      {
        ...figure,
        beside: 'pg-boss',
        turns: await inTurns(turns, mine, () => boss(url.boss, count)),
        note,
      },
      redis,
    ]
  } finally {
    await store.close()
  }
}
