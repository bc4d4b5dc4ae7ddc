/**
 * Counts two columns of categories as a table, also in strata. One row for each cell is fetched; their number is
 * bounded.
 */
import type { Counts } from '../../numeric/tests/contingency.ts'
import { groupSql, nameSql } from '../shared/columns.ts'
import { MethodError, type Relation } from '../shared/method.ts'

const MOST_LEVELS = 50
const MOST_STRATA = 500

export interface Tabled {
  rows: string[]
  columns: string[]
  /** The counts over all strata. */
  counts: number[][]
  strata: Counts[]
  n: number
  /** Rows without a value in a column. */
  left: number
}

export async function tabled(
  table: Relation,
  x: string,
  y: string,
  strata: string | undefined,
): Promise<Tabled> {
  const named = (option: string, name: string) => nameSql(groupSql(table, option, name))
  const by = strata === undefined ? "''" : named('strata', strata)
  const raw = `(select ${named('x', x)} as a, ${named('y', y)} as b, ${by} as s from ${table.relation})`
  const whole = 'a is not null and b is not null and s is not null'
  const [counted] = await table.query(
    `select count(*) as total, count(*) filter (${whole}) as n, count(distinct a) filter (${whole}) as a,
       count(distinct b) filter (${whole}) as b, count(distinct s) filter (${whole}) as s from ${raw}`,
  )
  bound('x', counted!.a as number, MOST_LEVELS)
  bound('y', counted!.b as number, MOST_LEVELS)
  bound('strata', counted!.s as number, MOST_STRATA)
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
  return { rows, columns, counts, strata: tables, n, left: (counted!.total as number) - n }
}

function bound(option: string, levels: number, most: number): void {
  if (levels > most)
    throw new MethodError(
      `${option}: ${levels.toLocaleString('en-US')} different values, and at most ${most} can be compared as categories. Group them in the SQL block.`,
    )
}
