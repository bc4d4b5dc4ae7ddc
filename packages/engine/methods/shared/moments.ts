/**
 * Computes means and sums of squares of groups inside DuckDB: two passes with exact sums (above a million rows:
 * compensated sums) about a shift near each group's mean, so that nothing cancels. One row for each group is fetched.
 */
import type { Cell } from '@assay/model/insight'
import { NotAsked } from '../../dialects/scope.ts'
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
  return (
    (table.unordered === true ? await momentsOnce(table, group, value) : null) ??
    joined(table, group, value, most)
  )
}

/** The most groups whose shifts are written into a statement. */
export const MOST_WRITTEN = 100

/** What is known of the values of groups before their sums are asked for. */
interface Known {
  n: number
  /** A power of two above every size. */
  unit: number
  /** A number near the mean of all values, over the unit. */
  centre: number
  /** The least and the largest value over the unit. */
  low: number
  high: number
  /** The mean of each group over the unit, if it is known. */
  shifts: readonly (readonly [name: string, shift: number])[] | null
}

/** The part of a sum of squares that may be the distance of the mean from the centre. */
const MOST_AWAY = 16

/**
 * Asks a database for the range and the mean of each group, and then for sums about one centre: two scans and no join.
 * If the means lie far apart, compared with the spread, the sums are asked for about each mean. Resolves to null if
 * there are too many groups, or if a sum overflows, which some databases refuse.
 */
async function momentsOnce(table: Relation, group: string, value: string): Promise<Grouped | null> {
  const source = `(select ${group} as g, ${value} as v from ${table.relation})`
  const kept = 'filter (isfinite(v))'
  const found = await table
    .query(
      `select ${nameSql('g')} as name, count(*) as total, count(*) ${kept} as n, favg(v) ${kept} as mean,
         min(v) ${kept} as low, max(v) ${kept} as high from ${source} group by g limit ${MOST_WRITTEN + 2}`,
    )
    .catch((error: unknown) => {
      if (error instanceof NotAsked) return null
      throw error
    })
  if (!found || found.length > MOST_WRITTEN + 1) return null
  const groups = found
    .filter((row) => row.name !== null && (row.n as number) > 0)
    .map((row) => row as { name: string; n: number; mean: number; low: number; high: number })
  if (!groups.every(({ mean }) => Number.isFinite(mean))) return null
  const total = found.reduce((sum, row) => sum + (row.total as number), 0)
  const n = groups.reduce((sum, row) => sum + row.n, 0)
  if (n === 0) return { groups: [], unit: 1, left: total }
  const [low, high] = [Math.min(...groups.map((one) => one.low)), Math.max(...groups.map((one) => one.high))]
  const unit = powerAbove(Math.max(Math.abs(low), Math.abs(high)))
  const centre = groups.reduce((sum, row) => sum + (row.mean / unit) * (row.n / n), 0)
  const shifts = groups.map((row) => [row.name, row.mean / unit] as const)
  const known = { n, unit, centre, low: low / unit, high: high / unit, shifts }
  const all = await momentsBy(table, source, known)
  return all && { groups: all, unit, left: total - n }
}

/** Returns the moments of finite distances of at most `most`, in one scan; null if their sums would lose digits. */
export async function momentsOfDistances(
  table: Relation,
  { group, value, n, most }: { group: string; value: string; n: number; most: number },
): Promise<GroupMoments[] | null> {
  const source = `(select ${group} as g, ${value} as v from ${table.relation})`
  return momentsBy(table, source, { n, unit: 1, centre: 0, low: 0, high: most, shifts: null })
}

async function momentsBy(table: Relation, source: string, known: Known): Promise<GroupMoments[] | null> {
  const { n, unit, centre, low, high, shifts } = known
  const ask = async (shift: string, reach: number) =>
    table.query(
      `with d as (select g, v / ${double(unit)} as u, v / ${double(unit)} - ${shift} as d from ${source} where g is not null and isfinite(v))
       select ${nameSql('g')} as name, count(*) as n, ${momentSql('d', reach, n)} as s1, ${momentSql('d * d', reach ** 2, n)} as s2,
         min(u) as low, max(u) as high from d group by g order by name`,
    )
  const reach = powerAbove(Math.max(high - centre, centre - low))
  const rows = (await ask(double(centre), reach)).map((row) => ({ ...row, shift: centre }))
  const found = momentsOf(rows, reach)
  const isNear = found.every(
    (one) => one.low === one.high || one.n * (one.mean - centre) ** 2 <= MOST_AWAY * one.squares,
  )
  if (isNear) return found
  if (!shifts) return null
  const own = new Map(shifts)
  const wide = powerAbove(high - low)
  const apart = await ask(ofEachGroup('g', shifts), wide)
  return momentsOf(
    apart.map((row) => ({ ...row, shift: own.get(row.name as string) ?? centre })),
    wide,
  )
}

/** Returns SQL of a number for each group by its name. The column `group` holds the groups. */
export function ofEachGroup(
  group: string,
  values: readonly (readonly [name: string, value: number])[],
): string {
  const whens = values.map(([name, value]) => `when '${name.replaceAll("'", "''")}' then ${double(value)}`)
  return `case ${nameSql(group)} ${whens.join(' ')} end`
}

async function joined(table: Relation, group: string, value: string, most: number): Promise<Grouped> {
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
  return { groups: momentsOf(rows, reach), unit, left }
}

/** Returns the moments from the sums of each group about its shift. */
function momentsOf(rows: readonly Record<string, Cell>[], reach: number): GroupMoments[] {
  const first = {
    shift: rows[0]!.shift as number,
    rest: readSum(rows[0]!.s1, reach) / (rows[0]!.n as number),
  }
  return rows.map((row): GroupMoments => {
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
}
