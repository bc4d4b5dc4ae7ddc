/**
 * profile: tells what each column holds.
 *
 * Counts, distinct values, range and the most frequent values are exact, from full scans (DuckDB's SUMMARIZE estimates
 * them). Flags follow the alerts of ydata-profiling. One query reads many columns (column-scans.ts). Six rows of each
 * column are fetched.
 */

import type { Cell, Column, Doubt } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import { doubt, verdict } from '../verdicts/verdict.ts'
import { brief, quoted, shareOf } from '../verdicts/words.ts'
import { type Range, rangesOf, type Top, topsOf } from './shared/column-scans.ts'
import { cell, integer, list, number, rowsWith, text } from './shared/fields.ts'
import type { Method } from './shared/method.ts'
import { count, enumeration } from './shared/sentence.ts'

interface ColumnProfile {
  name: string
  type: string
  nulls: number
  distinct: number
  min: Cell
  max: Cell
  mean: number | null
  top: { value: Cell; n: number }[]
  flags: Flag[]
}

/** The most columns that are profiled. A wider table has its first ones profiled. */
const MOST_COLUMNS = 5_000

type Flag = 'empty' | 'constant' | 'unique' | 'missing' | 'zeros' | 'infinite' | 'imbalance' | 'many_values'

export const profile: Method = {
  name: 'profile',
  options: Type.Object({}, { additionalProperties: false }),
  columns: () => [],
  prints: () => true,
  fields: {
    columns: rowsWith({
      name: text,
      type: text,
      nulls: integer,
      distinct: integer,
      min: cell,
      max: cell,
      mean: number,
      top: rowsWith({ value: cell, n: integer }),
      flags: list(text),
    }),
  },
  async run(table) {
    const [counted] = await table.query(`select count(*) as n from ${table.relation}`)
    const n = counted!.n as number
    const read = table.columns.slice(0, MOST_COLUMNS)
    const ranges = await rangesOf(table, read, n)
    const tops = await topsOf(table, read, n)
    const columns = read.map((column, index) => profileOf(column, n, ranges[index]!, tops[index]!))
    const told = verdict({
      headline: headline(n, columns, table.columns.length),
      grade: 'firm',
      evidence: evidence(n, columns),
      doubts: doubtsOf(n, columns),
      mild: ['constant'],
    })
    return { ...told, n, method: 'exact counts over all rows', columns }
  },
}

function profileOf(column: Column, n: number, range: Range, { distinct, top }: Top): ColumnProfile {
  const { nulls, min, max, mean } = range
  const flags = flagsOf(column, n, { ...range, distinct, top })
  return { name: column.name, type: column.type, nulls, distinct, min, max, mean, top, flags }
}

function flagsOf(
  column: Column,
  n: number,
  found: { nulls: number; distinct: number; zeros: number; not_finite: number; top: { n: number }[] },
): Flag[] {
  const present = n - found.nulls
  if (present === 0) return ['empty']
  const flags: Flag[] = []
  if (found.distinct === 1 && present > 1) flags.push('constant')
  if (found.distinct === present && present > 1) flags.push('unique')
  if (found.nulls / n >= 0.05) flags.push('missing')
  if (found.zeros / n >= 0.1) flags.push('zeros')
  if (found.not_finite > 0) flags.push('infinite')
  if (found.distinct > 1 && found.top[0]!.n / present >= 0.9) flags.push('imbalance')
  if (column.type === 'text' && found.distinct > 50 && found.distinct < present) flags.push('many_values')
  return flags
}

/** Says "200 rows in 14 columns; no value is missing." */
function headline(n: number, columns: readonly ColumnProfile[], all: number): string {
  const counted = (amount: number, one: string): string =>
    amount < 1000 ? count(amount, one) : `${brief(amount)} ${one}s`
  const some =
    all > columns.length ? `, of which the first ${counted(columns.length, 'column')} are profiled` : ''
  const size = `${counted(n, 'row')} in ${counted(all, 'column')}${some}`
  if (n === 0) return `${size}: there is nothing to profile.`
  const missing = columns.filter((column) => column.nulls > 0).toSorted((a, b) => b.nulls - a.nulls)
  const most = missing[0]
  if (!most) return `${size}; no value is missing.`
  const share = shareOf(most.nulls / n)
  return `${size}; ${count(missing.length, 'column')} ${missing.length === 1 ? `has missing values: ${quoted(most.name)}` : `have missing values, most of them ${quoted(most.name)}`}, with ${share}.`
}

function evidence(n: number, columns: readonly ColumnProfile[]): string {
  const unique = columns.filter((column) => column.flags.includes('unique'))
  const named = unique.length === 0 ? '' : ` A different value in every row: ${names(unique)}.`
  return `Counted over ${n === 1 ? 'the only row' : `all ${count(n, 'row')}`}.${named}`
}

function doubtsOf(n: number, columns: readonly ColumnProfile[]): Doubt[] {
  if (n === 0) return [doubt('too_few', 'The table has no rows.')]
  const flagged = (flag: Flag) => columns.filter((column) => column.flags.includes(flag))
  const doubts: Doubt[] = []
  const constant = flagged('constant')
  if (constant.length > 0) doubts.push(doubt('constant', `Always the same value: ${names(constant)}.`))
  const infinite = flagged('infinite')
  if (infinite.length > 0)
    doubts.push(
      doubt(
        'rows_left_out',
        `Range and mean leave out values that are no finite number: ${names(infinite)}.`,
      ),
    )
  return doubts
}

/** Returns at most three column names, in quotes. */
function names(found: readonly ColumnProfile[]): string {
  const more = found.length > 3 ? [`${found.length - 3} more`] : []
  return enumeration([...found.slice(0, 3).map(({ name }) => quoted(name)), ...more])
}
