/** Tells whether groups spread alike: Brown and Forsythe, Levene, Bartlett, the F test of variances, Mood. */
import { bartlett, classicAnova, type Sample, varianceRatio } from '../../numeric/tests/means.ts'
import { mood } from '../../numeric/tests/ranks.ts'
import type { Relation } from '../shared/method.ts'
import { groupMoments } from '../shared/moments.ts'
import { finite } from '../shared/sentence.ts'
import type { Tested } from './level.ts'
import type { Group, GroupRows } from './rows.ts'

const NAMES: Record<string, string> = {
  brown_forsythe: 'Brown-Forsythe test',
  levene: "Levene's test",
  bartlett: "Bartlett's test",
  f_variance: 'F test of two variances',
  mood: "Mood's test of scale",
}
const NOTHING = { df: null, df_within: null, effect: null, effect_size: null, pairs: [] }

export async function compareSpread(rows: GroupRows, test: string): Promise<Tested> {
  const common = { ...NOTHING, test, name: NAMES[test]! }
  const samples = rows.groups.map((group: Group): Sample => ({ ...group, mean: group.offset }))
  if (test === 'mood') {
    const found = await moodOf(rows)
    return { ...common, statistic: finite(found.z ?? Number.NaN), p: finite(found.p) }
  }
  if (test === 'bartlett') {
    const found = bartlett(samples)
    return { ...common, statistic: finite(found.statistic), df: found.df, p: finite(found.p) }
  }
  const found =
    test === 'f_variance'
      ? varianceRatio(samples[0]!, samples[1]!)
      : await distances(rows, test === 'levene' ? 'favg(v)' : 'median(v)')
  return {
    ...common,
    statistic: finite(found.f),
    df: found.df_between,
    df_within: found.df_within,
    p: finite(found.p),
  }
}

/** Returns an analysis of variance of the distances from each group's centre. */
export async function distances({ table, from }: GroupRows, center: string) {
  const relation = `(with d as (select * from ${from}), c as (select g, ${center} as middle from d group by g)
    select g, abs(v - middle) as away from d join c using (g))`
  const away: Relation = { ...table, relation }
  const { groups } = await groupMoments(away, 'g', 'away')
  return classicAnova(groups.map((group) => ({ ...group, mean: group.offset })))
}

async function moodOf({ table, from, groups }: GroupRows) {
  const [first, second] = groups as [Group, Group]
  const middle = (first.n + second.n + 1) / 2
  const rows = await table.query(
    `with r as (select g, v, (row_number() over (order by v) - ${middle}::double) as place from ${from}),
       s as (select g, avg(place * place) over (partition by v) as score from r)
     select g, fsum(score) as sum, fsum(score * score) as squares from s group by g`,
  )
  const of = (group: Group) => rows.find((row) => row.g === group.group)!
  const all = rows.reduce((sum, row) => sum + (row.sum as number), 0)
  const squares = rows.reduce((sum, row) => sum + (row.squares as number), 0)
  return mood(first.n, second.n, { first: of(first).sum as number, all, squares })
}
