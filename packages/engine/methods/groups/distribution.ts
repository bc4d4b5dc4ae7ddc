/**
 * Tells whether two groups have one distribution by the test of Kolmogorov and Smirnov, for every pair of groups, with
 * p after Holm. DuckDB computes the distance. The values of a pair are fetched only if the exact p needs them (sizes
 * whose product is at most a million).
 */
import { EXACT_PATHS, kolmogorovLimit, kolmogorovTwoSamples } from '../../numeric/tests/kolmogorov.ts'
import { pairsOf } from '../../numeric/tests/means.ts'
import { holm } from '../shared/multiplicity.ts'
import { finite } from '../shared/sentence.ts'
import { MOST_PAIRED, type Tested } from './level.ts'
import type { Group, GroupRows } from './rows.ts'

const FETCHED = 20_000

export async function compareDistributions(rows: GroupRows): Promise<Tested> {
  const { groups } = rows
  const found = []
  for (const [a, b] of groups.length > MOST_PAIRED ? [] : pairsOf(groups)) {
    found.push({ a: groups[a]!.group, b: groups[b]!.group, ...(await pairOf(rows, groups[a]!, groups[b]!)) })
  }
  const adjusted = holm(found.map(({ p }) => p))
  const two = found.length === 1 ? found[0]! : null
  return {
    test: 'kolmogorov_smirnov',
    name: two ? 'Kolmogorov-Smirnov test' : 'Kolmogorov-Smirnov test of every pair, p after Holm',
    statistic: two ? finite(two.statistic) : null,
    df: null,
    df_within: null,
    p: adjusted.length === 0 ? null : Math.min(...adjusted),
    effect: two ? 'largest distance of the shares below a value' : null,
    effect_size: two ? finite(two.statistic) : null,
    pairs: found.map((one, index) => ({
      a: one.a,
      b: one.b,
      estimate: finite(one.statistic),
      low: null,
      high: null,
      p_adjusted: adjusted[index]!,
    })),
  }
}

async function pairOf({ table, from }: GroupRows, a: Group, b: Group) {
  const names = { a: a.group, b: b.group }
  if (a.n * b.n <= EXACT_PATHS && a.n + b.n <= FETCHED) {
    const rows = await table.query(`select g, v from ${from} where g in ($a, $b) order by v`, names)
    const of = (name: string) => rows.filter((row) => row.g === name).map((row) => row.v as number)
    return kolmogorovTwoSamples(of(a.group), of(b.group))
  }
  const [row] = await table.query(
    `with c as (select v, count(*) filter (g = $a) as i, count(*) filter (g = $b) as j from ${from} group by v)
     select max(abs(i - j)) as d from (select sum(i) over (order by v) / ${a.n}::double as i, sum(j) over (order by v) / ${b.n}::double as j from c)`,
    names,
  )
  const statistic = row!.d as number
  return { statistic, p: kolmogorovLimit(Math.sqrt((a.n / (a.n + b.n)) * b.n) * statistic) }
}
