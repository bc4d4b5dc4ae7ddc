/**
 * Computes Student's t test of differences within pairs (Biometrika 6, 1908), from their number, mean and sum of
 * squares.
 */
import { studentTwoSided, studentUpperQuantile } from '../distributions.ts'
import type { Sample } from './means.ts'

export interface PairedT {
  t: number
  df: number
  p: number
  low: number
  high: number
}

/** Returns the test, or null for fewer than two differences or if they do not vary. */
export function pairedT({ n, mean, squares }: Sample, confidence: number): PairedT | null {
  if (n < 2 || !(squares > 0)) return null
  const error = Math.sqrt(squares / (n - 1) / n)
  const reach = studentUpperQuantile((1 - confidence) / 2, n - 1) * error
  const t = mean / error
  return { t, df: n - 1, p: studentTwoSided(t, n - 1), low: mean - reach, high: mean + reach }
}
