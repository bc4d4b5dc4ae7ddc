/** Tests the budgets of workspaces: which tasks ask for one, what is counted, and how much a task may spill. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { FakeClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { findingsOf, openTestPool, STARTED_AT, sqlTemplate, templateOf } from '../test-pool.ts'
import { meterTask } from './meter.ts'
import type { Claim, Pool, WorkspaceBudgets } from './pool.ts'

const asked: { workspace_id: string; claim: Claim }[] = []
const spent = new Map<string, number>()
let full = false
/** The bytes that all tasks of a workspace may spill. */
let room: number | null = null

const budgets: WorkspaceBudgets = {
  async admit(workspace_id, claim) {
    asked.push({ workspace_id, claim })
    if (full && claim !== 'accepted') throw new AppError('workspace_busy', 'It is used up.')
    return room
  },
  spend(workspace_id, ms) {
    spent.set(workspace_id, (spent.get(workspace_id) ?? 0) + ms)
  },
}
/** A table of 150 kB in Windows-1252, which is written again as UTF-8. */
const FOREIGN = Buffer.from(`name,n\n${'caf\u00e9,1\n'.repeat(21_000)}`, 'latin1')
const bench = await openTestPool({ size: 1, budgets, files: { 'foreign.csv': FOREIGN } })
after(() => bench.close())
const { pool, roots } = bench
const template = sqlTemplate('select 1 as a')
const job = { kind: 'run' as const, template, variables: {}, started_at: STARTED_AT, roots }
const head = {
  insight_id: 'i',
  template_id: 't',
  template_version: 'v',
  title: 'T',
  created_at: STARTED_AT,
}
const own = { workspace_id: 'guests' }

/** Every method of the pool that starts a task, except that of jobs. */
const WAYS: Record<Exclude<keyof Pool, 'run' | 'stats' | 'jail' | 'stop'>, () => Promise<unknown>> = {
  preview: () => pool.preview(job, { ...own, max_running: null, max_queued: null }),
  check: () => pool.check({ kind: 'check', template, roots }, own),
  describe: () => pool.describe({ kind: 'describe', template, roots }, own),
  draw: () => pool.draw({ kind: 'draw', specs: [] }, own),
  render: () =>
    pool.render({ kind: 'render', form: 'mail', markdown: '# A', charts: [], reading: null, cids: {} }, own),
  tables: () => pool.tables({ kind: 'tables', form: 'csv', head, table: null }, own),
  explain: () => pool.explain({ kind: 'explain', template, variables: {}, started_at: '', roots }, own),
  auditDay: () => pool.auditDay({ kind: 'audit-day', roots } as never, own),
  probe: () => pool.probe({ kind: 'probe', connection: {} as never, roots }, own),
  convert: () => pool.convert({ kind: 'convert', variables: [], items: [] }, own),
  read: () => pool.read({ kind: 'read', templates: [template] }, own),
  readMetrics: () => pool.readMetrics({ kind: 'read-metrics', metrics: [] }, own),
}

test('whatever is new asks the budget of its workspace before it waits; jobs, patient work and the reading of templates go on', async () => {
  // A process is ready then, so its start does not count in the time of a small task.
  findingsOf(await pool.run(job, own))
  full = true
  const refused: string[] = []
  for (const [way, go] of Object.entries(WAYS)) {
    asked.length = 0
    await go().catch((error: unknown) => {
      assert.ok(error instanceof AppError && error.code === 'workspace_busy', `${way}: ${String(error)}`)
      refused.push(way)
    })
    assert.deepEqual(
      asked.map(({ workspace_id }) => workspace_id),
      ['guests'],
      way,
    )
  }
  assert.deepEqual(
    Object.keys(WAYS).filter((way) => !refused.includes(way)),
    ['read', 'readMetrics'],
  )
  findingsOf(await pool.run(job, own))
  await pool.draw({ kind: 'draw', specs: [] }, { ...own, patient: true })
  full = false
  asked.length = 0
  await pool.draw({ kind: 'draw', specs: [] }, { ...own, reader: true })
  assert.deepEqual(asked, [{ workspace_id: 'guests', claim: 'reader' }])
})

test('large texts of a task are read when it has its turn and come whole, and none is read for one that is refused', async () => {
  let reads = 0
  const words = Array.from({ length: 60_000 }, (_, row) => [`Zürich 😀 ${row}`])
  const columns = [{ name: 'word', type: 'text', database_type: 'VARCHAR' }]
  const tables = Buffer.from(JSON.stringify({ t: { columns, rows: words, total: words.length } }))
  const task = { kind: 'tables' as const, form: 'csv' as const, head, table: null }
  const texts = (bytes: Promise<Uint8Array>) => async () => {
    reads += 1
    return { tables: await bytes }
  }
  full = true
  await assert.rejects(pool.tables(task, { ...own, texts: texts(Promise.resolve(tables)) }), /used up/)
  assert.equal(reads, 0)
  full = false
  const answer = await pool.tables(task, { ...own, texts: texts(Promise.resolve(tables)) })
  assert.ok('file' in answer)
  assert.deepEqual(answer.file.replace('\u{FEFF}', '').split('\r\n').slice(0, -1), ['word', ...words.flat()])
  assert.equal(reads, 1)
  const gone = new AppError('not_found', 'The insight was deleted.')
  const [before] = pool.stats().children.filter(({ owner }) => owner === 'guests')
  await assert.rejects(pool.tables(task, { ...own, texts: () => Promise.reject(gone) }), gone)
  const [after] = pool.stats().children.filter(({ owner }) => owner === 'guests')
  assert.equal(after?.pid, before?.pid, 'its process goes on')
})

test('a task that is stopped while its texts are read is never begun, and its process goes on', async () => {
  const task = { kind: 'tables' as const, form: 'csv' as const, head, table: null }
  const ofGuests = () => pool.stats().children.filter(({ owner }) => owner === 'guests')
  const stop = new AbortController()
  const reading = Promise.withResolvers<{ tables: Uint8Array }>()
  const asked = Promise.withResolvers<void>()
  const texts = () => {
    asked.resolve()
    return reading.promise
  }
  const stopped = pool.tables(task, { ...own, signal: stop.signal, texts })
  await asked.promise
  const before = ofGuests()
  stop.abort()
  await assert.rejects(stopped, /was stopped/)
  reading.resolve({ tables: Buffer.from('{"late":') })
  const tables = Buffer.from(JSON.stringify({ t: { columns: [], rows: [], total: 0 } }))
  const answer = await pool.tables(task, { ...own, texts: async () => ({ tables }) })
  assert.ok('file' in answer, JSON.stringify(answer))
  assert.deepEqual(
    ofGuests().map(({ pid }) => pid),
    before.map(({ pid }) => pid),
  )
})

test('the processor time of a task is told to its workspace alone', async () => {
  spent.clear()
  const busy = sqlTemplate("select count(*) as a from range(1000000) t(i) where md5(i::varchar) < 'z'")
  findingsOf(await bench.run(busy, {}, { workspace_id: 'busy' }))
  assert.ok(spent.get('busy')! >= 20, `${spent.get('busy')} ms of processor time`)
  assert.deepEqual([...spent.keys()], ['busy'])
  assert.equal(pool.stats().spent.get('busy'), spent.get('busy'))
})

test('an analysis spills no more than its share of what its workspace may, and ends alone with limit_exceeded', async () => {
  // The query sorts 160 MB.
  const sql = 'select i, repeat(md5(i::varchar), 10) as m from range(500000) t(i) order by m'
  const wide = templateOf(
    `---\nlimits: { memory: 100MB, rows: 1 }\n---\n\n\`\`\`sql a\n${sql}\n\`\`\`\n\n# A\n`,
  )
  room = 40_000_000
  const ended = await bench.run(wide, {}, own)
  assert.ok(ended.status === 'failed', JSON.stringify(ended))
  assert.equal(ended.error.code, 'limit_exceeded', ended.error.detail)
  room = 400_000
  const foreign = templateOf(
    '---\nsources:\n  s: { file: foreign.csv }\n---\n\n```sql a\nselect sum(n) as n from s\n```\n\n# {{ a[0].n }}\n',
  )
  const larger = await bench.run(foreign, {}, own)
  assert.ok(larger.status === 'failed', JSON.stringify(larger))
  assert.equal(larger.error.code, 'limit_exceeded', larger.error.detail)
  room = null
  assert.match(findingsOf(await bench.run(foreign, {}, own)).markdown, /^# 21000/)
})

test('a long task is counted while it runs: by the system, or by the clock where the system does not tell', async () => {
  const clock = new FakeClock()
  const told: number[] = []
  let used: number | null = 100
  const end = meterTask({ processorMs: () => used }, clock, (ms) => told.push(ms))
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await setImmediate()
  }
  used = 4_100
  await pass(5_000)
  used = null
  await pass(5_000)
  clock.advance(700)
  end()
  await pass(60_000)
  assert.deepEqual(told, [4_000, 5_000, 700])
})
