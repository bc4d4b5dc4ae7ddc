/**
 * How many units a test needs. Means: n = (z_a + z_b)^2 (v / share + v / share') / d^2; rates as R's power.prop.test
 * (Fleiss, Levin and Paik 2003, equation 4.14). To exclude a loss where there is none is the first with the loss as d (Chow, Shao
 * and Wang, Sample Size Calculations in Clinical Research, chapter 3.2). Under sequential looks z_a is the reach of the always-valid interval.
 */
import { normalQuantile, normalUpper, normalUpperQuantile } from '../../numeric/distributions.ts'
import type { Looks } from './effects.ts'
import { anytimeReach, TUNED } from './sequential.ts'

export const POWER = 0.8

export interface Plan {
  /** The smallest difference that must be found. */
  effect: number
  /** Of one unit. */
  variance: number
  /** Arms beside the control; each is compared with it, and p is corrected for their number. */
  arms: number
  alpha: number
  power: number
  looks: Looks
  /** Under sequential looks: units of an arm and the control at which the interval is narrowest. */
  tuned?: number | undefined
}

/** Units over all arms of equal size, not rounded. */
export function unitsNeeded({ effect, variance, arms, alpha, power, looks, tuned }: Plan): number {
  const groups = arms + 1
  const once = normalUpperQuantile(alpha / arms / 2)
  const needed = (reach: number): number =>
    (groups * 2 * variance * (reach + normalQuantile(power)) ** 2) / effect ** 2
  return settle(needed, { looks, once, alpha: alpha / arms, groups, tuned })
}

/** The same for rates: `base` in the control, `base + effect` in the arm. */
export function unitsNeededOfRates(plan: Omit<Plan, 'variance'> & { base: number }): number {
  const { base, effect, arms, alpha, power, looks, tuned } = plan
  const groups = arms + 1
  const other = base + effect
  const middle = (base + other) / 2
  const under = Math.sqrt(2 * middle * (1 - middle))
  const beside = Math.sqrt(base * (1 - base) + other * (1 - other))
  const needed = (reach: number): number =>
    (groups * (reach * under + normalQuantile(power) * beside) ** 2) / effect ** 2
  const once = normalUpperQuantile(alpha / arms / 2)
  return settle(needed, { looks, once, alpha: alpha / arms, groups, tuned })
}

interface Settling {
  looks: Looks
  /** The reach of a single look. */
  once: number
  alpha: number
  groups: number
  tuned: number | undefined
}

/** Under sequential looks the reach depends on the number of units itself. */
function settle(
  needed: (reach: number) => number,
  { looks, once, alpha, groups, tuned = TUNED }: Settling,
): number {
  let units = needed(once)
  if (looks === 'fixed') return units
  for (let step = 0; step < 100; step++) units = needed(anytimeReach((2 * units) / groups, alpha, tuned))
  return units
}

/** The chance that a difference of `effect` is found when the error is `error` and the interval reaches so many errors. */
export function powerOf(effect: number, error: number, reach: number): number {
  const away = Math.abs(effect) / error
  return normalUpper(reach - away) + normalUpper(reach + away)
}
