/**
 * Tells which groups lie higher: means after Welch, Student or Fisher, ranks after Mann and Whitney or Kruskal and
 * Wallis.
 */

import { studentTwoSided, studentUpperQuantile } from '../../numeric/distributions.ts'
import {
  classicAnova,
  gamesHowell,
  type PairedDifference,
  type Sample,
  tukey,
  welchAnova,
} from '../../numeric/tests/means.ts'
import { dunn, kruskalWallis, mannWhitney } from '../../numeric/tests/ranks.ts'
import { compareMeans } from '../shared/arms.ts'
import type { GroupMoments } from '../shared/moments.ts'
import { holm } from '../shared/multiplicity.ts'
import { finite } from '../shared/sentence.ts'
import { type GroupRows, rankSums } from './rows.ts'

/** The most groups of which every pair is compared. */
export const MOST_PAIRED = 12

export interface Pair {
  a: string
  b: string
  /**
   * The difference of the means, a less b. For ranks it is the chance that a value of a is above one of b, less one
   * half.
   */
  estimate: number | null
  low: number | null
  high: number | null
  p_adjusted: number | null
}

export interface Tested {
  test: string
  /** The name of the test for readers. */
  name: string
  statistic: number | null
  df: number | null
  df_within: number | null
  p: number | null
  effect: string | null
  effect_size: number | null
  pairs: Pair[]
}

/** What a comparison of means needs of groups. */
export interface MeanRows {
  groups: readonly GroupMoments[]
  unit: number
}

export const sampleOf = (group: Pick<GroupMoments, 'n' | 'offset' | 'squares'>): Sample => ({
  n: group.n,
  mean: group.offset,
  squares: group.squares,
})

/**
 * Compares means over `unit`. The zero of `offset` is the first group's mean. Pairs of more than two groups take nearly
 * all of the time and are computed only if `wantsPairs` is set.
 */
export function compareMeansOf(rows: MeanRows, test: string, confidence: number, wantsPairs = true): Tested {
  const { groups, unit } = rows
  const samples = groups.map(sampleOf)
  const total = classicAnova(samples)
  const explained = (total.f * total.df_between) / (total.f * total.df_between + total.df_within)
  const effects = { effect: 'eta squared', effect_size: finite(explained) }
  if (groups.length === 2) return { ...twoMeans(rows, test, confidence), ...effects }
  const classic = test === 'anova'
  const found = classic ? total : welchAnova(samples)
  const paired = wantsPairs && groups.length <= MOST_PAIRED
  const differences = paired ? (classic ? tukey : gamesHowell)(samples, confidence) : []
  return {
    test,
    name: classic
      ? 'one-way analysis of variance, pairs after Tukey'
      : "Welch's analysis of variance, pairs after Games and Howell",
    statistic: finite(found.f),
    df: found.df_between,
    df_within: finite(found.df_within),
    p: finite(found.p),
    ...effects,
    pairs: pairsOf(groups, unit, differences),
  }
}

/** Returns differences of means over `unit`, with the names of their groups. */
export function pairsOf(
  groups: readonly { group: string }[],
  unit: number,
  differences: readonly PairedDifference[],
): Pair[] {
  return differences.map((one) => ({
    a: groups[one.a]!.group,
    b: groups[one.b]!.group,
    estimate: finite(one.difference * unit),
    low: finite(one.low * unit),
    high: finite(one.high * unit),
    p_adjusted: finite(one.p),
  }))
}

function twoMeans(rows: MeanRows, test: string, confidence: number): Tested {
  const [a, b] = rows.groups as [GroupMoments, GroupMoments]
  const found = test === 'student' ? student(a, b, confidence) : welch(a, b, confidence)
  const scaled = (value: number | null) => (value === null ? null : finite(value * rows.unit))
  const pair = {
    a: a.group,
    b: b.group,
    estimate: finite((a.offset - b.offset) * rows.unit),
    low: scaled(found.low),
    high: scaled(found.high),
    p_adjusted: found.p,
  }
  const name = test === 'student' ? "Student's t test" : "Welch's t test"
  const nothing = { effect: null, effect_size: null }
  return {
    test,
    name,
    statistic: found.t,
    df: found.df,
    df_within: null,
    p: found.p,
    ...nothing,
    pairs: [pair],
  }
}

function welch(a: GroupMoments, b: GroupMoments, confidence: number) {
  const arm = (group: GroupMoments) => ({
    name: group.group,
    n: group.n,
    mean: group.offset,
    sd: Math.sqrt(group.squares / (group.n - 1)),
    successes: null,
    rate: null,
  })
  const { statistic: t, df, p, low, high } = compareMeans(arm(b), arm(a), confidence)
  return { t, df, p, low, high }
}

function student(a: GroupMoments, b: GroupMoments, confidence: number) {
  const df = a.n + b.n - 2
  const error = Math.sqrt(((a.squares + b.squares) / df) * (1 / a.n + 1 / b.n))
  const t = (a.offset - b.offset) / error
  const reach = studentUpperQuantile((1 - confidence) / 2, df) * error
  const difference = a.offset - b.offset
  return {
    t: finite(t),
    df,
    p: finite(studentTwoSided(t, df)),
    low: finite(difference - reach),
    high: finite(difference + reach),
  }
}

export async function compareRanks(rows: GroupRows): Promise<Tested> {
  const { groups } = rows
  const { samples, ties } = await rankSums(rows)
  const [first, second] = samples
  if (groups.length === 2) {
    const found = mannWhitney(first!.n, second!.n, first!.rank_sum, ties)
    const above = found.statistic / first!.n / second!.n
    const pair = { a: groups[0]!.group, b: groups[1]!.group, estimate: finite(above - 0.5) }
    return {
      test: 'mann_whitney',
      name: `Mann-Whitney test (${found.exact ? 'exact' : 'normal limit'})`,
      statistic: found.statistic,
      df: null,
      df_within: null,
      p: finite(found.p),
      effect: 'chance of the first above the second',
      effect_size: finite(above),
      pairs: [{ ...pair, low: null, high: null, p_adjusted: finite(found.p) }],
    }
  }
  const found = kruskalWallis(samples, ties)
  const pairs = groups.length > MOST_PAIRED ? [] : dunn(samples, ties)
  const adjusted = holm(pairs.map(({ p }) => p))
  return {
    test: 'kruskal_wallis',
    name: 'Kruskal-Wallis test, pairs after Dunn with p after Holm',
    statistic: finite(found.statistic),
    df: found.df,
    df_within: null,
    p: finite(found.p),
    effect: 'epsilon squared',
    effect_size: finite(found.statistic / (rows.n - 1)),
    pairs: pairs.map(({ a, b }, index) => ({
      a: groups[a]!.group,
      b: groups[b]!.group,
      estimate: finite((groups[a]!.median - groups[b]!.median) * rows.unit),
      low: null,
      high: null,
      p_adjusted: finite(adjusted[index]!),
    })),
  }
}
