/** A situation that a method may meet, made in SQL, for docs/sentences.md. */
import type { ColumnMeaning } from '@assay/model/template'
import { METHODS } from '../../packages/engine/methods/catalog.ts'
import { outcomeOf, relation } from '../../packages/engine/methods/relation-fixture.ts'
import type { Extent } from '../../packages/engine/methods/shared/method.ts'

export interface Situation {
  /** What is so in the data. */
  is: string
  method: string
  options: Record<string, unknown>
  sql: string
  columns?: Record<string, Partial<ColumnMeaning>>
  time_zone?: string
  extent?: Partial<Extent>
}

export interface Told {
  grade: string
  codes: string[]
  headline: string
  summary: string
}

const NOW = '2026-01-15T00:00:00.000Z'

export async function tell(situation: Situation): Promise<Told> {
  const { method, options, sql, columns = {}, time_zone = 'UTC', extent = {} } = situation
  const empty: ColumnMeaning = { label: null, unit: null, fmt: null, good: 'none', target: null }
  const meanings = new Map(Object.entries(columns).map(([name, given]) => [name, { ...empty, ...given }]))
  const outcome = await outcomeOf(METHODS[method]!, await relation(sql), structuredClone(options), NOW, {
    time_zone,
    meanings,
    extent: () => Promise.resolve({ periods: [], columns: [], ...extent }),
  })
  const doubts = [...outcome.blockers, ...outcome.caveats]
  return {
    grade: outcome.grade,
    codes: doubts.map(({ code }) => code),
    headline: outcome.headline,
    summary: outcome.summary,
  }
}

/** Measures as readers have them: a name in the data, and what the template says of it. */
export const MEASURES: { name: string; scale: number; columns: Record<string, Partial<ColumnMeaning>> }[] = [
  { name: 'revenue', scale: 21_961.39, columns: { revenue: { label: 'revenue', unit: 'EUR' } } },
  { name: 'delay', scale: 8.923, columns: { delay: { label: 'delay', unit: 'minutes' } } },
  { name: 'late_share', scale: 0.4419, columns: { late_share: { fmt: 'pct1' } } },
  { name: 'orders', scale: 412, columns: {} },
  { name: 'page_views', scale: 4_130_000, columns: {} },
]

/** Even noise between -0.5 and 0.5, the same in every run; `i` is the row. */
export const NOISE = '(((i * i * 7919 + i * 104729 + 13) % 10007) / 10007.0 - 0.5)'

/** `n` rows a `step` apart from `from` on; `value` is SQL over the row `i`. */
export function series(
  name: string,
  value: string,
  { n = 60, step = 'month', from = '2020-01-01', where = 'true' } = {},
): string {
  return `select date '${from}' + interval (i) ${step} as t, cast(${value} as double) as ${name} from range(${n}) r(i) where ${where}`
}
