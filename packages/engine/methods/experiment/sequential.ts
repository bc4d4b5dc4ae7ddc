/**
 * Computes intervals and p-values that hold at every look, by the asymptotic confidence sequence of Waudby-Smith,
 * Arbour, Sinha, Kennedy and Ramdas (Annals of Statistics 52, 2024, theorem 2.2). It is Robbins' normal mixture over n
 * observations: |estimate| / error may reach sqrt(2 (n r + 1) / (n r) ln(sqrt(n r + 1) / alpha)). r is chosen so that
 * the interval is narrowest at `tuned` units (their equation 20).
 */
import { normalUpperQuantile, studentTwoSided } from '../../numeric/distributions.ts'

/** The number of units of both arms at which the intervals are narrowest, unless the test names another number. */
export const TUNED = 5000
const TUNED_ALPHA = 0.05

const rate = (tuned: number): number => {
  const size = -2 * Math.log(TUNED_ALPHA)
  return (size + Math.log(size + 1)) / tuned
}

/** Returns how many standard errors the interval reaches after n units. `tuned` must not depend on the data. */
export function anytimeReach(n: number, alpha: number, tuned = TUNED): number {
  const spread = n * rate(tuned) + 1
  return Math.sqrt(((2 * spread) / (spread - 1)) * Math.log(Math.sqrt(spread) / alpha))
}

/** Returns the always-valid p of an estimate that is z standard errors from 0 after n units. */
export function anytimeP(n: number, z: number, tuned = TUNED): number {
  const spread = n * rate(tuned) + 1
  return Math.min(1, Math.sqrt(spread) * Math.exp((-(z * z) * (spread - 1)) / (2 * spread)))
}

/** Returns the normal deviate with the same tail as Student's t. Few units give a smaller deviate. */
export function normalOf(t: number, df: number): number {
  const p = studentTwoSided(Math.abs(t), df)
  return p < 1e-300 ? Math.abs(t) : p >= 1 ? 0 : normalUpperQuantile(p / 2)
}
