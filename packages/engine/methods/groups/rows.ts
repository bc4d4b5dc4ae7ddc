/**
 * Reads the rows of groups as SQL: group `g` (text) and value `v` over `unit`, a power of two above every size, so that
 * no square overflows. Sizes, means and squares are exact sums. DuckDB computes medians, skewness and sums of ranks.
 */
import type { Doubt } from '@assay/model/insight'
import type { RankedSample } from '../../numeric/tests/ranks.ts'
import { groupSql, nameSql, numberSql } from '../shared/columns.ts'
import type { Relation } from '../shared/method.ts'
import { type GroupMoments, groupMoments } from '../shared/moments.ts'
import { double } from '../shared/sums.ts'
import { largestGroups } from './largest.ts'

export interface Group extends GroupMoments {
  median: number
  /** g1, the third moment over the second's power 3/2; null if all values are equal. */
  skewness: number | null
}

export interface GroupRows {
  /** The table without the rows of groups that are not compared. */
  table: Relation
  /** A subquery with the columns g and v, without groups of one value. */
  from: string
  unit: number
  groups: Group[]
  n: number
  /** The number of rows without a group or a finite number. */
  left: number
  /** The number of groups with a single value, which are left out. */
  single: number
  /** The doubts about groups that are not compared. */
  beyond: Doubt[]
}

/** Reads the groups of the column `value` by the column `group`. If there are too many groups, it reads the largest. */
export async function readGroups(given: Relation, value: string, group: string): Promise<GroupRows> {
  const name = nameSql(groupSql(given, 'group', group))
  const number = numberSql(given, 'value', value)
  const asked = { name, counts: `isfinite(${number})`, many: 'groups' }
  const { table, beyond } = await largestGroups(given, asked)
  const raw = `(select ${name} as g, ${number} as x from ${table.relation})`
  const { groups, unit, left } = await groupMoments(table, name, number)
  const kept = groups.filter((one) => one.n > 1)
  const from = `(select g, x / ${double(unit)} as v from (select g, x, count(*) over (partition by g) as size from ${raw} where g is not null and isfinite(x)) where size > 1)`
  const shapes = await shapesOf(table, from)
  return {
    table,
    from,
    unit,
    groups: kept.map((one) => ({ ...one, ...shapes.get(one.group)! })),
    n: kept.reduce((sum, one) => sum + one.n, 0),
    left,
    single: groups.length - kept.length,
    beyond,
  }
}

async function shapesOf(
  table: Relation,
  from: string,
): Promise<Map<string, Pick<Group, 'median' | 'skewness'>>> {
  const rows = await table.query(
    `with d as (select * from ${from}), c as (select g, favg(v) as m, max(v) - min(v) as width from d group by g),
     e as (select g, v, case when width > 0 then (v - m) / width end as u from d join c using (g))
     select g, median(v) as median, favg(u * u * u) / nullif(favg(u * u), 0) ** 1.5 as skewness from e group by g`,
  )
  return new Map(
    rows.map((row) => [
      row.g as string,
      {
        median: row.median as number,
        skewness: (row.skewness as number | null) ?? null,
      },
    ]),
  )
}

/**
 * Returns the values of each group in rising order, in the order of `groups`. It fetches every row, so check `n`
 * before.
 */
export async function valuesOf({ table, from, groups }: GroupRows): Promise<number[][]> {
  const rows = await table.query(`select g, v from ${from} order by g, v`)
  const found = Map.groupBy(rows, (row) => row.g as string)
  return groups.map((one) => (found.get(one.group) ?? []).map((row) => row.v as number))
}

export interface Ranked {
  samples: RankedSample[]
  /** The sum of t^3 - t over ties of t values. */
  ties: number
}

/** Returns the sums of mean ranks, in the order of `groups`. It fetches one row for each group. */
export async function rankSums({ table, from, groups }: GroupRows): Promise<Ranked> {
  // Twice a mean rank is a whole number, so the sums are exact.
  const ranks = `with d as (select * from ${from}), c as (select v, count(*) as t from d group by v),
    r as (select v, t, 2 * sum(t) over (order by v) - t + 1 as twice from c)`
  const [tied] = await table.query(`${ranks} select coalesce(sum(t::double * t * t - t), 0) as ties from c`)
  const rows = await table.query(
    `${ranks} select g, cast(sum(twice) as varchar) as twice from d join r using (v) group by g`,
  )
  const sums = new Map(rows.map((row) => [row.g as string, Number(BigInt(row.twice as string)) / 2]))
  const samples = groups.map((one) => ({ n: one.n, rank_sum: sums.get(one.group)! }))
  return { samples, ties: tied!.ties as number }
}
