/**
 * Counts two columns of categories as a table, also in strata. One row for each cell is fetched; their number is
 * bounded.
 */
import type { Doubt } from '@assay/model/insight'
import type { Counts } from '../../numeric/tests/contingency.ts'
import { largestGroups } from '../groups/largest.ts'
import { groupSql, nameSql } from '../shared/columns.ts'
import { MethodError, type Relation } from '../shared/method.ts'

const MOST_STRATA = 500

export interface Tabled {
  rows: string[]
  columns: string[]
  /** The counts over all strata. */
  counts: number[][]
  strata: Counts[]
  n: number
  /** The number of rows without a value in a column. */
  left: number
  /** The relation with the rows of the most frequent values of both columns, and the doubts about the others. */
  table: Relation
  beyond: Doubt[]
}

export async function tabled(
  given: Relation,
  x: string,
  y: string,
  strata: string | undefined,
  called: readonly [string, string],
): Promise<Tabled> {
  const named = (option: string, name: string) => nameSql(groupSql(given, option, name))
  const by = strata === undefined ? "''" : named('strata', strata)
  const of = (name: string, other: string, option: string) => ({
    name: named(option, name),
    counts: `${named(option === 'x' ? 'y' : 'x', other)} is not null`,
    many: `values of ${called[option === 'x' ? 0 : 1]}`,
  })
  const first = await largestGroups(given, of(x, y, 'x'))
  const second = await largestGroups(first.table, of(y, x, 'y'))
  const { table } = second
  const beyond = [...first.beyond, ...second.beyond]
  const raw = `(select ${named('x', x)} as a, ${named('y', y)} as b, ${by} as s from ${table.relation})`
  const whole = 'a is not null and b is not null and s is not null'
  const [counted] = await table.query(
    `select count(*) as total, count(*) filter (${whole}) as n, count(distinct s) filter (${whole}) as s from ${raw}`,
  )
  const within = counted!.s as number
  if (within > MOST_STRATA)
    throw new MethodError(
      `strata: ${within.toLocaleString('en-US')} different values, and at most ${MOST_STRATA} can be compared as categories. Group them in the SQL block.`,
    )
  const cells = await table.query(
    `select a, b, s, count(*) as n from ${raw} where ${whole} group by all order by s, a, b`,
  )
  const rows = [...new Set(cells.map((cell) => cell.a as string))].toSorted()
  const columns = [...new Set(cells.map((cell) => cell.b as string))].toSorted()
  const tables = [...Map.groupBy(cells, (cell) => cell.s as string).values()].map((own) => {
    const counts = rows.map(() => columns.map(() => 0))
    for (const cell of own)
      counts[rows.indexOf(cell.a as string)]![columns.indexOf(cell.b as string)]! += cell.n as number
    return counts
  })
  const counts = rows.map((_, i) => columns.map((__, j) => tables.reduce((sum, one) => sum + one[i]![j]!, 0)))
  const n = counted!.n as number
  return { rows, columns, counts, strata: tables, n, left: (counted!.total as number) - n, table, beyond }
}
