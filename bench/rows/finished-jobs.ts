/** Measures status requests and claims in a store that holds many finished jobs, beside an almost empty store. */
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { atLeast, type Figure } from '../figure.ts'
import { requestRate } from '../load.ts'
import { type Form, inTurns, putTrivial, startService, TOKEN, TRIVIAL_ID, withFolder } from '../measure.ts'

/** The number of finished jobs in the small store. */
const FEW = 20_000
const CLAIMS = 200

interface Homes {
  many: string
  few: string
  /** The number of finished jobs in `many`. */
  count: number
}

export const finishedJobsRow = {
  name: 'finished-jobs',
  run: (form: Form): Promise<Figure[]> =>
    withFolder((many) => withFolder((few) => measure(form, { many, few }))),
}

/**
 * Fills a home with one finished job, made by the service itself, and with `count` copies of its row and its insight.
 */
async function fill(home: string, count: number): Promise<void> {
  const service = await startService(home)
  await putTrivial(service)
  const id = await service.client.jobs.create({ template_id: TRIVIAL_ID })
  await service.client.jobs.run(id)
  await service.client.jobs.wait(id)
  await service.stop()
  const db = new DatabaseSync(path.join(home, 'assay.db'))
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -500000')
  const columns = (table: string, except: string[]): string =>
    (db.prepare(`SELECT name FROM pragma_table_info('${table}')`).all() as { name: string }[])
      .map(({ name }) => name)
      .filter((name) => !except.includes(name))
      .join(', ')
  const job = columns('jobs', ['assignment_id', 'insight_id'])
  const insight = columns('insights', ['assignment_id', 'insight_id'])
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`
  db.exec(`BEGIN;
    ${numbers} INSERT INTO jobs (assignment_id, insight_id, ${job})
      SELECT printf('01900000-0000-7000-8000-%012x', i), printf('01900000-0000-7000-9000-%012x', i), ${prefixed(job)}
      FROM n, jobs AS one WHERE one.assignment_id = '${id}';
    ${numbers} INSERT INTO insights (assignment_id, insight_id, ${insight})
      SELECT printf('01900000-0000-7000-8000-%012x', i), printf('01900000-0000-7000-9000-%012x', i), ${prefixed(insight)}
      FROM n, insights AS one WHERE one.assignment_id = '${id}';
    COMMIT; PRAGMA wal_checkpoint(TRUNCATE)`)
  db.close()
}

function prefixed(columns: string): string {
  return columns
    .split(', ')
    .map((name) => `one.${name}`)
    .join(', ')
}

/** Resolves with the requests a second for the status of jobs anywhere in the store. */
function statusRate(url: string, count: number, seconds: number): Promise<number> {
  const next = () => {
    const number = 1 + Math.floor(Math.random() * count)
    const id = `01900000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
    return { method: 'GET' as const, path: `/v1alpha/jobs/status?assignment_id=${id}` }
  }
  const headers = { authorization: `Bearer ${TOKEN}` }
  return requestRate({ url, connections: 50, headers, next }, seconds)
}

/** Resolves with the jobs a second through claim, start and settle, one at a time. Their creation is not counted. */
async function claimRate(store: Store): Promise<number> {
  const node_id = 'bench'
  await store.registerNode({ node_id, name: 'bench', roles: ['worker'], version: '0', lease_ms: 600_000 })
  const template = { template_id: TRIVIAL_ID, version: 'bench', source: '# x', partials: {} }
  const rest = { user_id: 'admin', variables: {}, presence_name: null, priority: 0, metadata: {} }
  for (let job = 0; job < CLAIMS; job += 1) {
    const created = { assignment_id: uuidv7(), workspace_id: 'default', template, ...rest }
    await store.queueJob(await store.createJob(created))
  }
  const began = performance.now()
  for (let job = 0; job < CLAIMS; job += 1) {
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
  return (CLAIMS * 1000) / (performance.now() - began)
}

async function statuses({ turns, short }: Form, homes: Homes): Promise<Figure['turns']> {
  const [many, few] = [await startService(homes.many), await startService(homes.few)]
  const seconds = short ? 1 : 3
  try {
    return await inTurns(
      turns,
      () => statusRate(many.url, homes.count, seconds),
      () => statusRate(few.url, FEW, seconds),
    )
  } finally {
    await many.stop()
    await few.stop()
  }
}

async function claims({ turns }: Form, homes: Homes): Promise<Figure['turns']> {
  const open = (home: string) => openStore({ url: '', home, clock: systemClock, publicUrl: null })
  const [many, few] = [await open(homes.many), await open(homes.few)]
  try {
    return await inTurns(
      turns,
      () => claimRate(many),
      () => claimRate(few),
    )
  } finally {
    await many.close()
    await few.close()
  }
}

async function measure(form: Form, folders: { many: string; few: string }): Promise<Figure[]> {
  const count = form.short ? 1_000_000 : 10_000_000
  const homes = { ...folders, count }
  await fill(homes.many, count)
  await fill(homes.few, FEW)
  const figure = {
    aim: atLeast(0.9),
    compare: 'ratio' as const,
    beside: `the same with ${FEW.toLocaleString('en-US')} finished jobs`,
  }
  const million = `with ${count / 1_000_000} million finished jobs, SQLite`
  return [
    {
      ...figure,
      work: `\`GET /jobs/status\`, any job at random, ${million}`,
      unit: 'requests/s',
      turns: await statuses(form, homes),
    },
    {
      ...figure,
      work: `claim, start and settle, one at a time, ${million}`,
      unit: 'jobs/s',
      turns: await claims(form, homes),
    },
  ]
}
