/**
 * Computes means and sums of squares of groups inside DuckDB: two passes with exact sums (above a million rows:
 * compensated sums) about a shift near each group's mean, so that nothing cancels. One row for each group is fetched.
 */
import { nameSql } from './columns.ts'
import { MethodError, type Relation } from './method.ts'
import { double, momentSql, powerAbove, readSum } from './sums.ts'

export interface GroupMoments {
  group: string
  n: number
  /** All moments are of v / unit, with `unit` a power of two above every |v|. */
  mean: number
  /** The mean less that of the first group, without the rounding error of either. */
  offset: number
  squares: number
  /** The least and the largest value. */
  low: number
  high: number
}

export interface Grouped {
  groups: GroupMoments[]
  unit: number
  /** Rows whose group is null or whose value is no finite number. */
  left: number
}

/** Returns moments of `value` by `group` (SQL expressions), ordered by group. */
export async function groupMoments(
  table: Relation,
  group: string,
  value: string,
  most = 10_000,
): Promise<Grouped> {
  const source = `(select ${group} as g, ${value} as v from ${table.relation})`
  const keep = 'g is not null and isfinite(v)'
  const [range] = await table.query(
    `select count(*) as total, count(*) filter (${keep}) as n, max(abs(v)) filter (${keep}) as largest from ${source}`,
  )
  const n = range!.n as number
  const left = (range!.total as number) - n
  if (n === 0) return { groups: [], unit: 1, left }
  const unit = powerAbove(range!.largest as number)
  const scaled = `u as (select g, v / ${double(unit)} as u from ${source} where ${keep}),
    shifts as (select g, favg(u) as shift, max(u) as high, min(u) as low from u group by g)`
  const [widest] = await table.query(
    `with ${scaled} select count(*) as groups, max(greatest(high - shift, shift - low)) as reach from shifts`,
  )
  if ((widest!.groups as number) > most) {
    throw new MethodError(
      `by: ${widest!.groups as number} groups, and at most ${most} can be compared. Group them in the SQL block.`,
    )
  }
  const reach = powerAbove(widest!.reach as number)
  const rows = await table.query(
    `with ${scaled}, d as (select g, shift, low, high, u - shift as d from u join shifts using (g))
     select ${nameSql('g')} as name, count(*) as n, any_value(shift) as shift, any_value(low) as low, any_value(high) as high, ${momentSql('d', reach, n)} as s1,
       ${momentSql('d * d', reach ** 2, n)} as s2 from d group by g order by name`,
  )
  const first = {
    shift: rows[0]!.shift as number,
    rest: readSum(rows[0]!.s1, reach) / (rows[0]!.n as number),
  }
  const groups = rows.map((row): GroupMoments => {
    const n = row.n as number
    const shift = row.shift as number
    const sum = readSum(row.s1, reach)
    const squares = Math.max(0, readSum(row.s2, reach ** 2) - (sum * sum) / n)
    return {
      group: row.name as string,
      n,
      mean: shift + sum / n,
      offset: shift - first.shift + (sum / n - first.rest),
      // Equal values have no spread. A rounded mean could show one.
      squares: row.low === row.high ? 0 : squares,
      low: row.low as number,
      high: row.high as number,
    }
  })
  return { groups, unit, left }
}
