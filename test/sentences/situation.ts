/** A situation that a method may meet, made in SQL, for docs/sentences.md. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { OpenConnection } from '@assay/model/connection'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import type { Outcome } from '@assay/model/insight'
import type { ColumnMeaning } from '@assay/model/template'
import { openEngine } from '../../packages/engine/duckdb/duckdb.ts'
import { METHODS } from '../../packages/engine/methods/catalog.ts'
import { outcomeOf, relation } from '../../packages/engine/methods/relation-fixture.ts'
import type { Extent } from '../../packages/engine/methods/shared/method.ts'
import { NOTHING_KEPT } from '../../packages/engine/partitions/keeper.ts'
import { runTask } from '../../packages/engine/run/run.ts'
import { CAPS, findingsOf, STARTED_AT, templateOf } from '../../packages/engine/run/test-pool.ts'
import { headlineFaults } from '../../packages/engine/verdicts/headline-fixture.ts'

export interface Situation {
  /** The fact that the data hold. */
  is: string
  method: string
  options: Record<string, unknown>
  sql: string
  columns?: Record<string, Partial<ColumnMeaning>>
  time_zone?: string
  /**
   * A metric in place of `sql`, with the rows of the file that it reads, or of the table "orders" of a connection
   * whose kept days an audit found to differ. The analysis reads its series as "time" and "value".
   */
  metric?: { yaml: string; rows: readonly string[][]; doubt?: string }
  extent?: Partial<Extent>
}

export interface Told {
  grade: string
  codes: string[]
  /** The faults of the headline, by the rules for every headline. */
  faults: string[]
  summary: string
}

const NOW = '2026-01-15T00:00:00.000Z'
const SHOP_TYPES: Record<string, string> = { paid_at: 'datetime', amount: 'real', order_id: 'text' }
const SHOP: OpenConnection = {
  name: 'shop',
  kind: 'sqlite',
  options: { file: 'shop.db' },
  secrets: {},
  limits: CONNECTION_LIMITS,
  targets: [],
}

export async function tell(situation: Situation): Promise<Told> {
  const outcome = situation.metric ? await outcomeOfMetric(situation) : await outcomeOfRows(situation)
  const doubts = [...outcome.blockers, ...outcome.caveats]
  return {
    codes: doubts.map(({ code }) => code),
    faults: headlineFaults(outcome),
    grade: outcome.grade,
    summary: outcome.summary,
  }
}

function outcomeOfRows(situation: Situation): Promise<Outcome> {
  const { method, options, sql, columns = {}, time_zone = 'UTC', extent = {} } = situation
  const empty: ColumnMeaning = { label: null, unit: null, fmt: null, good: 'none', target: null }
  const meanings = new Map(Object.entries(columns).map(([name, given]) => [name, { ...empty, ...given }]))
  const more = {
    time_zone,
    meanings,
    extent: () => Promise.resolve({ periods: [], columns: [], ...extent }),
  }
  return relation(sql).then((table) =>
    outcomeOf(METHODS[method]!, table, structuredClone(options), NOW, more),
  )
}

/**
 * Runs a template as a user writes it, because only a run makes the tests of a metric. It runs in this process, since
 * a pool would start another.
 */
async function outcomeOfMetric({ method, options, metric }: Situation): Promise<Outcome> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-situation-'))
  const engine = await openEngine()
  try {
    const { yaml, rows: orders, doubt } = metric!
    if (doubt === undefined) await writeFile(path.join(home, 'orders.csv'), `${orders.join('\n')}\n`)
    else writeShop(path.join(home, 'shop.db'), orders)
    const asked = Object.entries(options).map(([name, value]) => `${name}: ${String(value)}`)
    const analysis = ['```analysis found', `method: ${method}`, 'of: series', ...asked, '```']
    const text = [
      '```metric series',
      'metric: revenue',
      '```',
      '',
      ...analysis,
      '',
      '# A report',
      '',
      '{{ found.summary }}',
    ]
    const template = templateOf(`${text.join('\n')}\n`, { 'metrics/revenue.yaml': yaml })
    const roots = { sample: {}, data: home }
    const result = await runTask(
      { kind: 'run', template, variables: {}, started_at: STARTED_AT, roots, caps: CAPS },
      {
        engine,
        temp_folder: path.join(home, 'temp'),
        onStarted: () => Promise.resolve(),
        onProgress: () => undefined,
        acquire: () => Promise.resolve({ connection: SHOP, release: () => undefined }),
        keeper: {
          find: () => Promise.resolve({ ...NOTHING_KEPT, doubt: doubt ?? null }),
          keep: () => Promise.resolve(null),
        },
        narrate: () => Promise.resolve([]),
        signal: new AbortController().signal,
      },
    )
    return findingsOf(result).analyses.found!
  } finally {
    engine.close()
    await rm(home, { recursive: true, force: true })
  }
}

function writeShop(file: string, [columns, ...orders]: readonly string[][]): void {
  const database = new DatabaseSync(file)
  database.exec(`create table orders (${columns!.map((name) => `${name} ${SHOP_TYPES[name]!}`).join(', ')})`)
  const insert = database.prepare(`insert into orders values (${columns!.map(() => '?').join(', ')})`)
  database.exec('begin')
  for (const order of orders) insert.run(...order)
  database.exec('commit')
  database.close()
}

/** Measures as readers know them: the name in the data, and the words of the template for it. */
export const MEASURES: { name: string; scale: number; columns: Record<string, Partial<ColumnMeaning>> }[] = [
  { name: 'revenue', scale: 21_961.39, columns: { revenue: { label: 'revenue', unit: 'EUR' } } },
  { name: 'delay', scale: 8.923, columns: { delay: { label: 'delay', unit: 'minutes' } } },
  { name: 'late_share', scale: 0.4419, columns: { late_share: { fmt: 'pct1' } } },
  { name: 'orders', scale: 412, columns: {} },
  { name: 'page_views', scale: 4_130_000, columns: {} },
]

/** Uniform noise between -0.5 and 0.5, the same in every run. `i` is the row. */
export const NOISE = '(((i * i * 7919 + i * 104729 + 13) % 10007) / 10007.0 - 0.5)'

/** Returns `n` rows a `step` apart, starting at `from`. `value` is SQL over the row `i`. */
export function series(
  name: string,
  value: string,
  { n = 60, step = 'month', from = '2020-01-01', where = 'true' } = {},
): string {
  return `select date '${from}' + interval (i) ${step} as t, cast(${value} as double) as ${name} from range(${n}) r(i) where ${where}`
}

/** Returns `n` rows. `i` is the row. */
export const rows = (select: string, n = 600): string => `select ${select} from range(${n}) r(i)`
