/**
 * Compares groups in which each unit was measured. Differences within units are judged by the paired t test or signed
 * ranks, three and more groups after Friedman. A unit with several rows in a group counts with their mean. A unit that
 * lacks a group is left out. At most 5,000 differences are fetched, to test their shape. DuckDB computes sums and
 * ranks.
 */

import { pairsOf, type Sample } from '../../numeric/tests/means.ts'
import { pairedT } from '../../numeric/tests/paired.ts'
import { friedman, signedRank } from '../../numeric/tests/ranks.ts'
import { groupSql, nameSql } from '../shared/columns.ts'
import type { Relation } from '../shared/method.ts'
import { groupMoments } from '../shared/moments.ts'
import { holm } from '../shared/multiplicity.ts'
import { finite } from '../shared/sentence.ts'
import { type Choice, shapeCheck } from './choose.ts'
import type { Pair, Tested } from './level.ts'
import type { GroupRows } from './rows.ts'

export interface Blocks {
  table: Relation
  /** A subquery with a column for each group, c0, c1, ..., and a row for each unit that has them all. */
  from: string
  names: string[]
  n: number
  /** The number of units that lack a group. */
  left: number
  unit: number
}

/** Reads the units that were measured in every group. */
export async function readBlocks(
  rows: GroupRows,
  given: { value: string; unit: string; group: string },
): Promise<Blocks> {
  const { table, groups, unit } = rows
  const names = groups.map(({ group }) => group)
  const group = nameSql(groupSql(table, 'group', given.group))
  const text = (name: string) => `'${name.replaceAll("'", "''")}'`
  const cells = names.map((name, i) => `favg(v) filter (g = ${text(name)}) as c${i}`)
  const number = `${given.value} / ${unit.toExponential()}::double`
  const all = `(select u, ${cells.join(', ')} from (select ${groupSql(table, 'paired', given.unit)} as u, ${group} as g, ${number} as v from ${table.relation}) where u is not null and isfinite(v) group by u)`
  const whole = names.map((_, i) => `c${i} is not null`).join(' and ')
  const [counted] = await table.query(`select count(*) as units, count(*) filter (${whole}) as n from ${all}`)
  return {
    table,
    from: `(select * from ${all} where ${whole})`,
    names,
    n: counted!.n as number,
    left: (counted!.units as number) - (counted!.n as number),
    unit,
  }
}

/** Compares two groups. `test` is paired_t, signed_rank or auto. */
export async function comparePairs(
  blocks: Blocks,
  test: string,
  confidence: number,
): Promise<{ tested: Tested; choice: Choice | null; ends: Ends | null }> {
  const differences = await differencesOf(blocks, 0, 1)
  const choice = test === 'auto' ? await chooseByDifferences(differences) : null
  const means = choice ? choice.means : test === 'paired_t'
  const found = means ? pairedT(differences.sample, confidence) : null
  const { unit, names } = blocks
  const pair = { a: names[0]!, b: names[1]!, estimate: finite(differences.sample.mean * unit) }
  if (found) {
    const limits = { low: finite(found.low * unit), high: finite(found.high * unit) }
    const tested = {
      test: 'paired_t',
      name: 'paired t test',
      statistic: finite(found.t),
      df: found.df,
      p: finite(found.p),
      pairs: [{ ...pair, ...limits, p_adjusted: finite(found.p) }],
    }
    return { tested: { ...NOTHING, ...tested }, choice, ends: await endsOf(differences, unit) }
  }
  const ranked = await signedRanks(differences)
  const tested = {
    test: 'signed_rank',
    name: `Wilcoxon signed-rank test (${ranked.exact ? 'exact' : 'normal limit'})`,
    statistic: ranked.statistic,
    p: finite(ranked.p),
    effect: 'rank-biserial correlation',
    effect_size: ranked.biserial,
    pairs: [{ ...pair, low: null, high: null, p_adjusted: finite(ranked.p) }],
  }
  return { tested: { ...NOTHING, ...tested }, choice, ends: null }
}

const NOTHING = { df: null, df_within: null, effect: null, effect_size: null }

/** The moments of the differences in a t test, with the least and the largest difference. */
export interface Ends {
  sample: Sample
  low: number
  high: number
}

async function endsOf({ table, from, sample }: Differences, unit: number): Promise<Ends> {
  const [row] = await table.query(`select min(d) as low, max(d) as high from ${from}`)
  const { n, mean, squares } = sample
  return {
    sample: { n, mean: mean * unit, squares: squares * unit * unit },
    low: (row!.low as number) * unit,
    high: (row!.high as number) * unit,
  }
}

interface Differences {
  table: Relation
  from: string
  sample: { n: number; mean: number; squares: number }
}

async function differencesOf({ table, from }: Blocks, a: number, b: number): Promise<Differences> {
  const relation = `(select c${a} - c${b} as d from ${from})`
  const { groups, unit } = await groupMoments({ ...table, relation }, "'d'", 'd')
  const [one] = groups
  const sample = one
    ? { n: one.n, mean: one.mean * unit, squares: one.squares * unit * unit }
    : { n: 0, mean: Number.NaN, squares: 0 }
  return { table, from: relation, sample }
}

async function chooseByDifferences({ table, from, sample }: Differences): Promise<Choice> {
  const rows = sample.n <= 5000 ? await table.query(`select d from ${from} order by d`) : []
  const [shape] = await table.query(
    `with c as (select favg(d) as m, nullif(max(d) - min(d), 0) as width from ${from}),
       e as (select (d - m) / width as u from ${from}, c)
     select favg(u * u * u) / nullif(favg(u * u), 0) ** 1.5 as skewness from e`,
  )
  const check = shapeCheck(
    'differences',
    { n: sample.n, skewness: (shape!.skewness as number | null) ?? null },
    rows.length > 0 ? rows.map((row) => row.d as number) : undefined,
  )
  const because = check.holds
    ? 'the differences may be normal or are many'
    : 'the differences are far from normal, and too few to average that out'
  return { means: check.holds, checks: [check], because }
}

async function signedRanks({ table, from }: Differences) {
  const [row] = await table.query(
    `with d as (select abs(d) as size, d > 0 as up from ${from} where d <> 0),
       c as (select size, count(*) as t, count(*) filter (up) as ups from d group by size),
       r as (select t, ups, 2 * sum(t) over (order by size) - t + 1 as twice from c)
     select cast(coalesce(sum(ups * twice), 0) as varchar) as twice, coalesce(sum(t), 0)::double as n,
       coalesce(sum(t::double * t * t - t), 0) as ties from r`,
  )
  const [counted] = await table.query(`select count(*) filter (d = 0) as zeros from ${from}`)
  const sum = Number(BigInt(row!.twice as string)) / 2
  const n = row!.n as number
  const biserial = n === 0 ? null : finite((4 * sum) / (n * (n + 1)) - 1)
  return { ...signedRank(n, sum, row!.ties as number, counted!.zeros as number), biserial }
}

/** Compares three groups and more after Friedman, and pairs by signed ranks with p after Holm. */
export async function compareBlocks(blocks: Blocks): Promise<Tested> {
  const { table, from, names, unit } = blocks
  const long = names.map((_, i) => `select b, ${i} as g, c${i} as v from n`).join(' union all ')
  const rows = await table.query(
    `with n as (select row_number() over () as b, * from ${from}), long as (${long}),
       r as (select g, rank() over (partition by b order by v) + (count(*) over (partition by b, v) - 1) / 2.0::double as rank,
         count(*) over (partition by b, v) as t from long)
     select g, fsum(rank) as sum, fsum(t::double * t - 1) as ties from r group by g order by g`,
  )
  const ties = rows.reduce((sum, row) => sum + (row.ties as number), 0)
  const found = friedman(
    rows.map((row) => row.sum as number),
    blocks.n,
    ties,
  )
  const pairs: Pair[] = []
  const chances: number[] = []
  for (const [a, b] of names.length > 8 ? [] : pairsOf(names)) {
    const differences = await differencesOf(blocks, a, b)
    chances.push((await signedRanks(differences)).p)
    const estimate = finite(differences.sample.mean * unit)
    pairs.push({ a: names[a]!, b: names[b]!, estimate, low: null, high: null, p_adjusted: null })
  }
  const adjusted = holm(chances)
  return {
    ...NOTHING,
    test: 'friedman',
    name: 'Friedman test, pairs by signed ranks with p after Holm',
    statistic: finite(found.statistic),
    df: found.df,
    p: finite(found.p),
    pairs: pairs.map((pair, index) => ({ ...pair, p_adjusted: adjusted[index]! })),
  }
}
