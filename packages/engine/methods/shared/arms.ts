/** Two arms of a test against each other: means by Welch, rates by Newcombe, pooled z and Fisher. */

import {
  normalQuantile,
  normalTwoSided,
  normalUpperQuantile,
  studentQuantile,
  studentTwoSided,
  studentUpperQuantile,
} from '../../numeric/distributions.ts'
import { logGamma } from '../../numeric/gamma.ts'
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

/** Welch's t test (Biometrika 34, 1947). */
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
  // Scaled by the larger spread, so that fourth powers do not overflow.
  const scale = Math.max(arm.sd, control.sd)
  if (scale === 0) return { ...nothing, estimate }
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

/** Compares the rates of arms whose `successes` are known. */
export function compareRates(control: Arm, arm: Arm, confidence: number, test: string): Comparison {
  const a = { n: arm.n, successes: arm.successes ?? 0 }
  const c = { n: control.n, successes: control.successes ?? 0 }
  const estimate = a.successes / a.n - c.successes / c.n
  const z = normalUpperQuantile((1 - confidence) / 2)
  const wilsonA = wilson(a.successes, a.n, z)
  const wilsonC = wilson(c.successes, c.n, z)
  const rateA = a.successes / a.n
  const rateC = c.successes / c.n
  const pooled = (a.successes + c.successes) / (a.n + c.n)
  const least = Math.min(pooled, 1 - pooled) * Math.min(a.n, c.n)
  const exact = test === 'fisher' || (test === 'auto' && least < 5)
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / a.n + 1 / c.n))
  const statistic = estimate / error
  return {
    arm: arm.name,
    estimate,
    low: estimate - Math.hypot(rateA - wilsonA.low, wilsonC.high - rateC),
    high: estimate + Math.hypot(wilsonA.high - rateA, rateC - wilsonC.low),
    statistic: exact ? null : finite(statistic),
    df: null,
    p: exact ? fisher(a, c) : error > 0 ? normalTwoSided(statistic) : 1,
    p_adjusted: null,
    detectable: error > 0 ? (z + normalQuantile(POWER)) * error : null,
    test: exact ? "Newcombe interval, Fisher's exact test" : 'Newcombe interval, pooled z test',
  }
}

/** Wilson's score interval of a rate (JASA 22, 1927). */
export function wilson(successes: number, n: number, z: number): { low: number; high: number } {
  const rate = successes / n
  const center = (rate + (z * z) / (2 * n)) / (1 + (z * z) / n)
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((rate * (1 - rate)) / n + (z * z) / (4 * n * n))
  return {
    low: successes === 0 ? 0 : Math.max(0, center - half),
    high: successes === n ? 1 : Math.min(1, center + half),
  }
}

interface Count {
  n: number
  successes: number
}

/** Fisher's two-sided p: sums the tables of the same margins that are at most as likely as the observed one (within 1e-7, as R does). */
export function fisher(a: Count, c: Count): number {
  const successes = a.successes + c.successes
  const from = Math.max(0, successes - c.n)
  const to = Math.min(successes, a.n)
  const chances: number[] = []
  for (let k = from; k <= to; k++) {
    chances.push(logChoose(a.n, k) + logChoose(c.n, successes - k))
  }
  const seen = chances[a.successes - from]! + 1e-7
  const peak = chances.reduce((most, chance) => Math.max(most, chance), Number.NEGATIVE_INFINITY)
  let within = 0
  let total = 0
  for (const chance of chances) {
    const weight = Math.exp(chance - peak)
    total += weight
    if (chance <= seen) within += weight
  }
  return Math.min(1, within / total)
}

function logChoose(n: number, k: number): number {
  return logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1)
}
