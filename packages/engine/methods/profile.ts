/**
 * profile: what each column holds. Counts, distinct values, range and the most frequent values are exact, from full
 * scans (DuckDB's SUMMARIZE estimates them); flags follow the alerts of ydata-profiling. Two queries a column; six rows
 * of each are fetched.
 */

import type { Cell, Column, Doubt } from '@assay/model/insight'
import Type from 'typebox'
import { doubt, verdict } from '../verdicts/verdict.ts'
import { brief, quoted, shareOf } from '../verdicts/words.ts'
import { cellSql, isNumeric, isTemporal } from './shared/columns.ts'
import { cell, integer, list, number, rowsWith, text } from './shared/fields.ts'
import { type Method, quote, type Relation } from './shared/method.ts'
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

type Flag = 'empty' | 'constant' | 'unique' | 'missing' | 'zeros' | 'infinite' | 'imbalance' | 'many_values'

export const profile: Method = {
  name: 'profile',
  options: Type.Object({}, { additionalProperties: false }),
  columns: () => [],
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
    const columns: ColumnProfile[] = []
    for (const column of table.columns) columns.push(await profileColumn(table, column, n))
    const told = verdict({
      headline: headline(n, columns),
      grade: 'firm',
      evidence: evidence(n, columns),
      doubts: doubtsOf(n, columns),
      mild: ['constant'],
    })
    return { ...told, n, method: 'exact counts over all rows', columns }
  },
}

async function profileColumn(table: Relation, column: Column, n: number): Promise<ColumnProfile> {
  const name = quote(column.name)
  const numeric = isNumeric(column)
  const ordered = numeric || isTemporal(column) || column.type === 'text' || column.type === 'boolean'
  const doubles = `cast(${name} as double)`
  const cell = cellSql(column)
  // DuckDB sorts NaN above every number, so the range is taken over the finite values.
  const range = numeric ? `filter (isfinite(${doubles}))` : ''
  const [row] = await table.query(
    `select count(*) - count(${name}) as nulls, ${ordered ? `min(${cell}) ${range}` : 'null'} as min, ${ordered ? `max(${cell}) ${range}` : 'null'} as max,
       ${numeric ? `favg(${doubles}) filter (isfinite(${doubles}))` : 'null'} as mean,
       ${numeric ? `count(*) filter (${doubles} = 0)` : '0'} as zeros,
       ${numeric ? `count(*) filter (not isfinite(${doubles}))` : '0'} as not_finite
     from ${table.relation}`,
  )
  const top = await table.query(
    `with counts as materialized (
       select ${name} as v, count(*) as n from ${table.relation} where ${name} is not null group by 1)
     select ${cellSql(column, 'v')} as value, n, (select count(*) from counts) as distinct_values
     from (from counts order by n desc, v limit 5) order by n desc, v`,
  )
  const found = {
    nulls: row!.nulls as number,
    distinct: (top[0]?.distinct_values as number | undefined) ?? 0,
    zeros: row!.zeros as number,
    not_finite: row!.not_finite as number,
    top: top.map((entry) => ({ value: readable(entry.value!), n: entry.n as number })),
  }
  const mean = typeof row!.mean === 'number' && Number.isFinite(row!.mean) ? row!.mean : null
  return {
    name: column.name,
    type: column.type,
    nulls: found.nulls,
    distinct: found.distinct,
    min: row!.min!,
    max: row!.max!,
    mean,
    top: found.top,
    flags: flagsOf(column, n, found),
  }
}

/** An infinite or undefined number as a name that JSON can hold. */
function readable(value: Cell): Cell {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value
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

/** "200 rows in 14 columns; no value is missing." */
function headline(n: number, columns: readonly ColumnProfile[]): string {
  const rows = n < 1000 ? count(n, 'row') : `${brief(n)} rows`
  const size = `${rows} in ${count(columns.length, 'column')}`
  if (n === 0) return `${size}: there is nothing to profile.`
  const missing = columns.filter((column) => column.nulls > 0).toSorted((a, b) => b.nulls - a.nulls)
  const most = missing[0]
  if (!most) return `${size}; no value is missing.`
  const share = shareOf(most.nulls / n)
  return `${size}; ${count(missing.length, 'column')} ${missing.length === 1 ? 'has' : 'have'} missing values, most of them ${quoted(most.name)} with ${share}.`
}

function evidence(n: number, columns: readonly ColumnProfile[]): string {
  const unique = columns.filter((column) => column.flags.includes('unique'))
  const named = unique.length === 0 ? '' : ` A different value in every row: ${names(unique)}.`
  return `Counted over all ${count(n, 'row')}.${named}`
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

/** At most three names of the data, in quotes. */
function names(found: readonly ColumnProfile[]): string {
  const more = found.length > 3 ? [`${found.length - 3} more`] : []
  return enumeration([...found.slice(0, 3).map(({ name }) => quoted(name)), ...more])
}
