/** Kept days of metrics in a real store, over a real database and pool. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { keptBlocks } from '@assay/engine/partitions/block-days'
import { FakeClock } from '@assay/model/clock'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import {
  findingsOf,
  openTestPool,
  STARTED_AT,
  type TestPool,
  templateOf,
} from '../../engine/run/test-pool.ts'
import { accessOf } from '../../engine/sources/conformance/conformance.ts'
import { syncAtOnce } from '../../store/sqlite/durable/sync-at-once.ts'
import { silentLog } from '../runtime/log.ts'
import { createMetrics } from '../runtime/metrics.ts'
import { auditDue } from './auditor.ts'
import { createFinder, createKeeper } from './keeper.ts'

syncAtOnce()

const workspace_id = 'default'
const DAY_MS = 86_400_000
const DEFINITION = `metric: revenue
source: { connection: shop, table: orders }
time: { column: paid_at }
value: sum(amount)
partitions: { reopen: 2d, deletes: none }
`
const TEMPLATE = templateOf(
  '```metric rev\nmetric: revenue\n```\n\n```analysis change\nmethod: describe\nof: rev\nvalue: value\n```\n\n# Revenue\n\n{{ rev.size }}\n',
  { 'metrics/revenue.yaml': DEFINITION },
)

let home: string
let store: Store
let bench: TestPool
let database: DatabaseSync
const clock = new FakeClock()

before(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'assay-kept-days-'))
  store = await openStore({ url: '', home, clock, publicUrl: null })
  bench = await openTestPool()
  database = new DatabaseSync(path.join(bench.data, 'shop.db'))
  database.exec('create table orders (paid_at datetime, amount real)')
  for (let day = 1; day <= 14; day += 1)
    database.exec(
      `insert into orders values ('2026-01-${String(day).padStart(2, '0')} 09:00:00', ${day} + 0.1), ('2026-01-${String(day).padStart(2, '0')} 10:00:00', 1)`,
    )
})

after(async () => {
  database.close()
  await bench.close()
  await store.close()
  await rm(home, { recursive: true, force: true })
})

const shop = () => ({
  name: 'shop',
  kind: 'sqlite' as const,
  options: { file: 'shop.db' },
  secrets: {},
  limits: { ...CONNECTION_LIMITS, timeout_seconds: 60 },
  targets: [],
})

const files = (quota = 1e9) => ({ list: async () => [], limits: { file: 1e9, quota } })

async function run(quota?: number) {
  const keeper = createKeeper({ store, files: files(quota) }, workspace_id)
  const findings = findingsOf(await bench.run(TEMPLATE, {}, { connections: { ...accessOf(shop()), keeper } }))
  return { findings, days: findings.lineage.sources[0]!.remote!.days!, rows: findings.tables.rev!.rows }
}

const audit = () =>
  auditDue(
    {
      store,
      pool: bench.pool,
      connections: { accessFor: () => accessOf(shop()) },
      data: bench.data,
      clock,
      log: silentLog,
      metrics: createMetrics(),
    },
    new AbortController().signal,
  )

/** What a run would read. */
async function foreseen(template = TEMPLATE, isKept = true) {
  const keeper = createFinder({ store, files: files() }, workspace_id)
  const task = { kind: 'explain' as const, template, variables: {}, started_at: STARTED_AT }
  const roots = { sample: {}, data: bench.data }
  const connections = { ...accessOf(shop()), ...(isKept ? { keeper } : {}) }
  const result = await bench.pool.explain({ ...task, roots }, { workspace_id, connections })
  assert.ok(result.status === 'done', JSON.stringify(result))
  const { days, rows } = result.explained.sources[0]!
  return { kept: days!.kept, doubt: days!.doubt, reads: days!.reads, rows }
}

test('an explanation tells which days are kept, and why the others would be read', async () => {
  await store.dropKeptDays({ workspace_id, metrics: ['revenue'] })
  const none = await foreseen()
  assert.deepEqual([none.kept, none.rows, none.doubt], [0, 14, null])
  assert.match(none.reads[0]!.because, /^Nothing of it is kept yet/)
  const alone = await foreseen(TEMPLATE, false)
  assert.match(alone.reads[0]!.because, /^Nothing is kept here: only a service/)
  await run()
  const after = await foreseen()
  const [closed] = none.reads
  assert.equal(after.kept, 12)
  assert.deepEqual(after.reads, [none.reads.at(-1)])
  assert.match(after.reads[0]!.because, /^Open: its rows may come until 2 days after its end/)
  assert.deepEqual([closed!.from, closed!.until, after.rows], ['2026-01-01', '2026-01-13', 2])
  const other = DEFINITION.replace('sum(amount)', 'max(amount)')
  const changed = await foreseen(templateOf(TEMPLATE.source, { 'metrics/revenue.yaml': other }))
  assert.match(changed.reads[0]!.because, /but of one other series of the metric: another value/)
  assert.equal(changed.kept, 0)
  await store.dropKeptDays({ workspace_id, metrics: ['revenue'] })
})

test('a run reads what is new, an audit finds what was changed, and a run over nothing kept reads all again', async () => {
  const full = await run(0)
  assert.match(full.days.note!, /no room left \(max_files_bytes\)/)
  const first = await run()
  assert.deepEqual(first.rows, full.rows)
  assert.deepEqual(first.days, {
    kept: 0,
    read: [
      { from: '2026-01-01', until: '2026-01-13' },
      { from: '2026-01-13', until: '' },
    ],
    note: null,
  })
  assert.ok((await store.keptBytes({ workspace_id })) > 2000)
  database.exec("insert into orders values ('2026-01-13 11:00:00', 5)")
  const second = await run()
  assert.deepEqual(second.days, { kept: 12, read: [{ from: '2026-01-13', until: '' }], note: null })
  assert.deepEqual([first.rows[12]![1], second.rows[12]![1]], [14.1, 19.1])
  assert.deepEqual(second.rows.slice(0, 12), first.rows.slice(0, 12))

  // This breaks the promise that closed days never change.
  database.exec("delete from orders where amount = 1 and paid_at < '2026-01-13'")
  assert.equal((await run()).rows[0]![1], 2.1)
  assert.equal(await audit(), 0)
  clock.advance(DAY_MS + 1)
  assert.equal(await audit(), 1)
  assert.equal(await audit(), 0)
  const { items } = await store.listAudit({ workspace_id, limit: 10 })
  assert.deepEqual(
    items.map(({ action, object_id, user_id }) => [action, object_id, user_id]),
    [['metric.doubt', 'revenue', null]],
  )
  const doubted = await run()
  assert.equal(doubted.days.kept, 11)
  const told = JSON.stringify(doubted.findings.analyses.change)
  assert.match(told, /"kept_days_differ"/)
  assert.match(
    told,
    /Revenue may be wrong: an audit of [\w ]+ found that the rows of \d+ January 2026 have changed/,
  )

  assert.equal(await store.dropKeptDays({ workspace_id, metrics: ['revenue'] }), 1)
  const again = await run()
  assert.deepEqual([again.days.kept, again.rows[0]![1], again.rows[11]![1]], [0, 1.1, 12.1])
  assert.doesNotMatch(JSON.stringify(again.findings.analyses.change), /kept_days_differ/)
})

test('a query of a block keeps its rows by day, a run reads what is new, and an audit finds what was changed', async () => {
  const template = templateOf(
    '```sql daily at: shop day: day reopen: 2d deletes: none\nselect date(paid_at) as day, sum(amount) as amount, count(*) as n from orders group by date(paid_at); -- by day\n```\n\n```sql last\nselect max(day) as day, sum(n)::bigint as n, sum(amount) as amount from daily\n```\n\n```analysis amounts\nmethod: describe\nof: daily\nvalue: amount\n```\n\n# Orders\n\n{{ last[0].n }}\n',
  )
  const keeper = createKeeper({ store, files: files() }, workspace_id)
  const runBlock = async () => {
    const findings = findingsOf(
      await bench.run(template, {}, { connections: { ...accessOf(shop()), keeper } }),
    )
    const [day, n] = findings.tables.last!.rows[0]!
    const told = JSON.stringify(findings.analyses.amounts)
    return { day, n, kept: findings.lineage.sources[0]!.remote!.days!.kept, told }
  }
  const [name] = keptBlocks(template)
  assert.equal(name, `${template.template_id}/daily`)
  const first = await runBlock()
  database.exec("insert into orders values ('2026-01-14 12:00:00', 3), (null, 2)")
  const second = await runBlock()
  assert.deepEqual([first.day, first.kept, second.kept], ['2026-01-14', 0, 12])
  assert.equal(second.n, Number(first.n) + 2)
  const { kept, reads } = await foreseen(template)
  assert.deepEqual([kept, reads.length], [12, 1])

  database.exec("delete from orders where amount > 1 and paid_at < '2026-01-13'")
  assert.equal((await runBlock()).n, second.n)
  clock.advance(DAY_MS + 1)
  assert.ok((await audit()) > 0)
  const doubted = await runBlock()
  assert.equal(doubted.kept, 11)
  assert.match(doubted.told, /"kept_days_differ"/)
  assert.match(doubted.told, /The rows of .{1,3}daily.{1,3} may be wrong: an audit of/)
  assert.equal(await store.dropKeptDays({ workspace_id, metrics: [name] }), 1)
  assert.equal((await runBlock()).kept, 0)
})

test('a query without the column of its days is refused with the columns that it has', async () => {
  const source = (column: string) =>
    templateOf(
      `\`\`\`sql daily at: shop day: ${column} reopen: 2d deletes: none\nselect amount, paid_at from orders\n\`\`\`\n\n\`\`\`sql all_rows\nselect count(*) as n from daily\n\`\`\`\n\n# Orders\n\n{{ all_rows[0].n }}\n`,
    )
  const result = await bench.run(source('day'), {}, { connections: accessOf(shop()) })
  assert.ok(result.status === 'failed', result.status)
  assert.match(
    result.error.detail,
    /no column "day", by which its days are kept: name one of amount, paid_at/,
  )
})
