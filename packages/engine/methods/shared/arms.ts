/**
 * Compares two arms of a test: means by Welch, rates by Newcombe, pooled z and Fisher. Test and interval agree: an
 * interval excludes 0 exactly where p is at most 1 - confidence.
 */

import {
  normalQuantile,
  normalTwoSided,
  normalUpperQuantile,
  studentQuantile,
  studentTwoSided,
  studentUpperQuantile,
} from '../../numeric/distributions.ts'
import { logChoose } from '../../numeric/gamma.ts'
import { type Count, fisherTwoByTwo } from '../../numeric/tests/fisher.ts'
import { finite } from './sentence.ts'

const POWER = 0.8

export interface Arm {
  name: string
  n: number
  mean: number | null
  sd: number | null
  /** For a rate: the number of rows that succeeded. */
  successes: number | null
  rate: number | null
}

export interface Comparison {
  arm: string
  /** The difference: arm less control. */
  estimate: number | null
  low: number | null
  high: number | null
  statistic: number | null
  df: number | null
  p: number | null
  p_adjusted: number | null
  /** The smallest difference that is found with 80 % power at this confidence. */
  detectable: number | null
  test: string
}

/** Compares the means of two arms by Welch's t test (Biometrika 34, 1947). */
export function compareMeans(control: Arm, arm: Arm, confidence: number): Comparison {
  const nothing = {
    arm: arm.name,
    estimate: null,
    low: null,
    high: null,
    statistic: null,
    df: null,
    p: null,
    p_adjusted: null,
    detectable: null,
    test: "Welch's t test",
  }
  if (arm.mean === null || control.mean === null) return nothing
  const estimate = finite(arm.mean - control.mean)
  if (arm.sd === null || control.sd === null) return { ...nothing, estimate }
  // Spreads are divided by the larger one, so that fourth powers do not overflow.
  const scale = Math.max(arm.sd, control.sd)
  if (scale === 0) return constants(nothing, control, arm, estimate)
  const a = (arm.sd / scale) ** 2 / arm.n
  const c = (control.sd / scale) ** 2 / control.n
  const error = Math.sqrt(a + c) * scale
  const df = (a + c) ** 2 / (a ** 2 / (arm.n - 1) + c ** 2 / (control.n - 1))
  const statistic = (arm.mean - control.mean) / error
  const reach = studentUpperQuantile((1 - confidence) / 2, df)
  return {
    ...nothing,
    estimate,
    low: finite(arm.mean - control.mean - reach * error),
    high: finite(arm.mean - control.mean + reach * error),
    statistic: finite(statistic),
    df: finite(df),
    p: finite(studentTwoSided(statistic, df)),
    detectable: finite((reach + studentQuantile(POWER, df)) * error),
  }
}

/**
 * Compares two groups that each have a single value. If the values differ, p counts all ways to deal the rows to two
 * groups of these sizes (Fisher's exact test of the two values). If they are equal, p is 1.
 */
function constants(nothing: Comparison, control: Arm, arm: Arm, estimate: number | null): Comparison {
  const same = arm.mean === control.mean
  const p = same ? 1 : fisherTwoByTwo({ n: arm.n, successes: arm.n }, { n: control.n, successes: 0 })
  return { ...nothing, estimate, low: estimate, high: estimate, p, test: 'exact permutation test' }
}

/** Compares the rates of arms whose `successes` are known. */
export function compareRates(control: Arm, arm: Arm, confidence: number, test: string): Comparison {
  const a = { n: arm.n, successes: arm.successes ?? 0 }
  const c = { n: control.n, successes: control.successes ?? 0 }
  const estimate = a.successes / a.n - c.successes / c.n
  const z = normalUpperQuantile((1 - confidence) / 2)
  const { p, exact, error } = testRates(a, c, test)
  const byNormal = error > 0 ? (z + normalQuantile(POWER)) * error : null
  return {
    arm: arm.name,
    estimate,
    ...agreeing(a, c, z, p, confidence),
    statistic: exact ? null : finite(estimate / error),
    df: null,
    p,
    p_adjusted: null,
    detectable: exact && error > 0 ? fisherDetectable(a, c, confidence) : byNormal,
    test: exact ? "Newcombe interval, Fisher's exact test" : 'Newcombe interval, pooled z test',
  }
}

/** Compares two rates by Fisher's test or the pooled z test. `auto` takes Fisher's if an expected count is under 5. */
export function testRates(a: Count, c: Count, test: string): { p: number; exact: boolean; error: number } {
  const pooled = (a.successes + c.successes) / (a.n + c.n)
  const least = Math.min(pooled, 1 - pooled) * Math.min(a.n, c.n)
  const exact = test === 'fisher' || (test === 'auto' && least < 5)
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / a.n + 1 / c.n))
  if (exact) return { p: fisherTwoByTwo(a, c), exact, error }
  const z = (a.successes / a.n - c.successes / c.n) / error
  return { p: error > 0 ? normalTwoSided(z) : 1, exact, error }
}

interface Interval {
  low: number
  high: number
}

/** Computes Newcombe's interval, method 10: the square-and-add of Wilson's two. */
function newcombe(a: Count, c: Count, z: number): Interval {
  const rateA = a.successes / a.n
  const rateC = c.successes / c.n
  const wilsonA = wilson(a.successes, a.n, z)
  const wilsonC = wilson(c.successes, c.n, z)
  return {
    low: rateA - rateC - Math.hypot(rateA - wilsonA.low, wilsonC.high - rateC),
    high: rateA - rateC + Math.hypot(wilsonA.high - rateA, rateC - wilsonC.low),
  }
}

/**
 * Returns Newcombe's interval if it and the test agree on 0. Otherwise z is multiplied by the z at which the interval
 * touches 0 over the z of the test. The interval then excludes 0 exactly if the test rejects.
 */
function agreeing(a: Count, c: Count, z: number, p: number, confidence: number): Interval {
  const plain = newcombe(a, c, z)
  const excludes = plain.low > 0 || plain.high < 0
  if (excludes === p <= 1 - confidence) return plain
  const nearer = (at: number): number => {
    const { low, high } = newcombe(a, c, at)
    return low + high > 0 ? low : -high
  }
  let inside = excludes ? z : 0
  let outside = excludes ? 40 : z
  for (let step = 0; step < 60; step++) {
    const middle = (inside + outside) / 2
    if (nearer(middle) > 0) inside = middle
    else outside = middle
  }
  const ofTest = Math.max(1e-3, normalUpperQuantile(Math.max(p, 1e-300) / 2))
  return newcombe(a, c, Math.min(40, (z * outside) / ofTest))
}

/** Computes Wilson's score interval of a rate (JASA 22, 1927). */
export function wilson(successes: number, n: number, z: number): { low: number; high: number } {
  const rate = successes / n
  const center = (rate + (z * z) / (2 * n)) / (1 + (z * z) / n)
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((rate * (1 - rate)) / n + (z * z) / (4 * n * n))
  return {
    low: successes === 0 ? 0 : Math.max(0, center - half),
    high: successes === n ? 1 : Math.min(1, center + half),
  }
}

/** The most tables that are enumerated. With more, the normal approximation is as good. */
const MOST_TABLES = 250_000

/**
 * Returns the smallest difference from the control's rate, towards one half, that Fisher's test finds with 80 % power.
 * The chances of all tables in which it rejects are added up (Casagrande, Pike and Smith, Biometrics 34, 1978). Returns
 * null if no difference is found so often, or if there are too many likely tables.
 */
function fisherDetectable(a: Count, c: Count, confidence: number): number | null {
  const base = Math.min(c.successes, c.n - c.successes) / c.n
  const alpha = 1 - confidence
  const pooled = Math.max(base, 1 / (a.n + c.n))
  const error = Math.sqrt(pooled * (1 / a.n + 1 / c.n))
  const reach = Math.min(1 - base, 5 * (normalUpperQuantile(alpha / 2) + normalQuantile(POWER)) * error)
  const most = mostLikely(a.n, base + reach)
  const mostOfControl = mostLikely(c.n, base)
  if ((most + mostOfControl) ** 2 > MOST_TABLES) return null
  const rejects = rejections(a.n, c.n, alpha, most, mostOfControl)
  const ofControl = binomial(c.n, base, mostOfControl)
  const power = (difference: number): number => {
    let sum = 0
    for (const [x, chance] of binomial(a.n, base + difference, most).entries())
      for (const [y, other] of ofControl.entries()) if (rejects[x]![y]) sum += chance * other
    return sum
  }
  if (power(reach) < POWER) return null
  let low = 0
  let high = reach
  for (let step = 0; step < 25; step++) {
    const middle = (low + high) / 2
    if (power(middle) < POWER) low = middle
    else high = middle
  }
  return high
}

/** Returns the number of successes that n rows at this rate exceed once in 1e12. */
function mostLikely(n: number, rate: number): number {
  return Math.min(n, Math.ceil(n * rate + 8 * Math.sqrt(n * rate) + 20))
}

/**
 * Finds for each number of successes of the arm (up to `most`) and of the control whether Fisher's test rejects. The
 * tables of one total share their chances.
 */
function rejections(n: number, m: number, alpha: number, most: number, mostOfControl: number): boolean[][] {
  const rejects = Array.from({ length: most + 1 }, () =>
    Array.from({ length: mostOfControl + 1 }, () => false),
  )
  for (let total = 0; total <= most + mostOfControl; total++) {
    const tables: { x: number; chance: number }[] = []
    for (let x = Math.max(0, total - m); x <= Math.min(total, n); x++)
      tables.push({ x, chance: logChoose(n, x) + logChoose(m, total - x) - logChoose(n + m, total) })
    const rising = tables.toSorted((left, right) => left.chance - right.chance)
    let p = 0
    for (let index = 0; index < rising.length; ) {
      // Tables that are equally likely are added together.
      let end = index
      while (end < rising.length && rising[end]!.chance <= rising[index]!.chance + 1e-7) end += 1
      for (const { chance } of rising.slice(index, end)) p += Math.exp(chance)
      if (p > alpha) break
      for (const { x } of rising.slice(index, end))
        if (x <= most && total - x <= mostOfControl) rejects[x]![total - x] = true
      index = end
    }
  }
  return rejects
}

/** Returns the chances of 0 to `most` successes in n rows. */
function binomial(n: number, rate: number, most: number): number[] {
  return Array.from({ length: most + 1 }, (_, k) => {
    if (rate <= 0) return k === 0 ? 1 : 0
    if (rate >= 1) return k === n ? 1 : 0
    return Math.exp(logChoose(n, k) + k * Math.log(rate) + (n - k) * Math.log1p(-rate))
  })
}
