/**
 * Computes the effect of an arm on a metric, from the means and covariances of its units. A ratio of two means has the
 * variance of its linear part (delta method: Deng, Knoblich and Lu, KDD 2018). A covariate from before the start
 * removes its part of the variance (CUPED: Deng, Xu, Kohavi and Walker, WSDM 2013), with one coefficient over all arms.
 * The interval of the relative lift is Fieller's (Journal of the Royal Statistical Society B 16, 1954).
 */
import {
  normalUpper,
  normalUpperQuantile,
  studentTwoSided,
  studentUpperQuantile,
} from '../../numeric/distributions.ts'
import { fisherTwoByTwo } from '../../numeric/tests/fisher.ts'
import { anytimeP, anytimeReach, normalOf } from './sequential.ts'

/**
 * The moments of the units of one arm. The columns are the value, or numerator and denominator, and then the covariate,
 * if any.
 */
export interface UnitMoments {
  n: number
  means: readonly number[]
  /** The sample covariances of the columns. */
  covariances: readonly (readonly number[])[]
}

export interface Form {
  ratio: boolean
  covariate: boolean
}

/**
 * The metric in one arm: its value, and the value and variance of a unit after adjustment by the covariate. `plain` is
 * the variance before the adjustment, `shared` the covariance of both.
 */
export interface Level {
  n: number
  value: number
  adjusted: number
  variance: number
  plain: number
  shared: number
}

/** Returns the linear weights of the columns: what one unit adds to the metric. */
function weightsOf({ means }: UnitMoments, { ratio, covariate }: Form, theta: number): number[] {
  const first = ratio ? [1 / means[1]!, -means[0]! / means[1]! ** 2] : [1]
  return covariate ? [...first, -theta] : first
}

const covary = (covariances: UnitMoments['covariances'], left: readonly number[], right: readonly number[]) =>
  left.reduce((sum, a, i) => sum + right.reduce((inner, b, j) => inner + a * b * covariances[i]![j]!, 0), 0)

/** Returns the coefficient of the covariate: its covariance with the metric inside arms over its variance there. */
export function thetaOf(arms: readonly UnitMoments[], form: Form): number {
  if (!form.covariate) return 0
  const place = form.ratio ? 2 : 1
  let shared = 0
  let own = 0
  for (const arm of arms) {
    const weights = weightsOf(arm, form, 0)
    const one = weights.map((_, index) => (index === place ? 1 : 0))
    shared += (arm.n - 1) * covary(arm.covariances, weights, one)
    own += (arm.n - 1) * arm.covariances[place]![place]!
  }
  return own > 0 ? shared / own : 0
}

export function levelOf(arm: UnitMoments, form: Form, theta: number): Level {
  const value = form.ratio ? arm.means[0]! / arm.means[1]! : arm.means[0]!
  const weights = weightsOf(arm, form, theta)
  const adjusted = form.covariate ? value - theta * arm.means.at(-1)! : value
  const before = weightsOf(arm, { ...form, covariate: false }, 0)
  const vary = (left: number[], right: number[]): number => covary(arm.covariances, left, right)
  return {
    n: arm.n,
    value,
    adjusted,
    variance: Math.max(0, vary(weights, weights)),
    plain: Math.max(0, vary(before, before)),
    shared: vary(weights, before),
  }
}

export interface Effect {
  estimate: number
  error: number
  df: number
  /** The difference that the test compares with: 0, or the loss that a margin allows. */
  boundary: number
  /** The p of a single look. `p` below holds for `looks`. */
  once: number
  p: number
}

export type Looks = 'fixed' | 'sequential'

interface Tested {
  /** The number of units at which the intervals of sequential looks are narrowest. */
  tuned?: number | undefined
  boundary?: number
}

/** Returns the difference of an arm from the control, or null if there are fewer than two units or nothing varies. */
export function effectOf(
  control: Level,
  arm: Level,
  looks: Looks,
  { tuned, boundary = 0 }: Tested = {},
): Effect | null {
  if (control.n < 2 || arm.n < 2) return null
  const [a, c] = [arm.variance / arm.n, control.variance / control.n]
  const error = Math.sqrt(a + c)
  const estimate = arm.adjusted - control.adjusted
  if (!Number.isFinite(error) || !Number.isFinite(estimate)) return null
  const n = control.n + arm.n
  if (error === 0)
    return estimate === 0 || boundary !== 0 ? null : constants(control, arm, estimate, looks, tuned)
  const share = a / (a + c)
  const df = 1 / (share ** 2 / (arm.n - 1) + (1 - share) ** 2 / (control.n - 1))
  const away = (estimate - boundary) / error
  const once = studentTwoSided(away, df)
  return {
    estimate,
    error,
    df,
    boundary,
    once,
    p: looks === 'fixed' ? once : anytimeP(n, normalOf(away, df), tuned),
  }
}

/** Compares two groups of constants that differ. p is that of all ways to give the units to two groups (Fisher). */
function constants(control: Level, arm: Level, estimate: number, looks: Looks, tuned?: number): Effect {
  const once = fisherTwoByTwo({ n: arm.n, successes: arm.n }, { n: control.n, successes: 0 })
  const n = control.n + arm.n
  const p = looks === 'fixed' ? once : anytimeP(n, normalUpperQuantile(Math.max(once, 1e-300) / 2), tuned)
  return { estimate, error: 0, df: n - 2, boundary: 0, once, p }
}

/** Returns how many standard errors an interval of this level reaches. */
export function reachOf(
  effect: { df: number },
  n: number,
  alpha: number,
  looks: Looks,
  tuned?: number,
): number {
  if (looks === 'fixed') return studentUpperQuantile(alpha / 2, effect.df)
  return studentUpperQuantile(Math.max(1e-300, normalUpper(anytimeReach(n, alpha, tuned))), effect.df)
}

/**
 * Returns the interval of the lift, which is the difference over the control's value. It holds all lifts that the test
 * does not reject. It excludes 0 exactly if the interval of the difference does. Returns null if the control's value
 * may be 0, because the lift then has no bounds.
 */
export function liftOf(control: Level, { estimate, error }: Effect, reach: number): [number, number] | null {
  const base = control.value
  const scale = (reach / base) ** 2
  const difference = estimate / base
  const room = 1 - (scale * control.plain) / control.n
  if (!(room > 0)) return null
  // The control's value is also in the difference, with the opposite sign.
  const middle = difference + (scale * control.shared) / control.n
  const ends = difference ** 2 - scale * error ** 2
  const half = Math.sqrt(Math.max(0, middle ** 2 - room * ends))
  const [low, high] = [(middle - half) / room, (middle + half) / room]
  return Number.isFinite(low) && Number.isFinite(high) ? [low, high] : null
}
