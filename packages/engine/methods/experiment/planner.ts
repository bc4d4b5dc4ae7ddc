/**
 * Computes how many units a test needs. Means: n = (z_a + z_b)^2 (v / share + v / share') / d^2 (Chow, Shao and Wang,
 * Sample Size Calculations in Clinical Research, chapter 3.2). Rates: Fleiss, Tytun and Ury (Biometrics 36, 1980,
 * 343-346) without the continuity correction, in groups of any sizes. For equal groups it is R's power.prop.test. A
 * test that must exclude a loss uses the formula of means with the loss as d. Under sequential looks z_a is the reach
 * of the always-valid interval.
 */
import { normalQuantile, normalUpper, normalUpperQuantile } from '../../numeric/distributions.ts'
import type { Looks } from './effects.ts'
import { anytimeReach, TUNED } from './sequential.ts'

export const POWER = 0.8

export interface Plan {
  /** The smallest difference that must be found. */
  effect: number
  /** The variance of one unit. */
  variance: number
  /** The number of arms beside the control. Each is compared with it, and p is corrected for their number. */
  arms: number
  alpha: number
  power: number
  looks: Looks
  /** Under sequential looks: the number of units of an arm and the control at which the interval is narrowest. */
  tuned?: number | undefined
  /** The share of each group, the control first. Without it the shares are equal. */
  shares?: readonly number[] | undefined
}

/** Returns the shares of the control and of the smallest arm, which needs the most units. */
function pairOf({ arms, shares }: Pick<Plan, 'arms' | 'shares'>): [control: number, arm: number] {
  const even = 1 / (arms + 1)
  return shares ? [shares[0]!, Math.min(...shares.slice(1))] : [even, even]
}

/** Returns the number of units over all arms, not rounded. */
export function unitsNeeded(plan: Plan): number {
  const { effect, variance, arms, alpha, power, looks, tuned } = plan
  const [control, arm] = pairOf(plan)
  const once = normalUpperQuantile(alpha / arms / 2)
  const needed = (reach: number): number =>
    (variance * (1 / control + 1 / arm) * (reach + normalQuantile(power)) ** 2) / effect ** 2
  return settle(needed, { looks, once, alpha: alpha / arms, pair: control + arm, tuned })
}

interface PlanOfRates extends Omit<Plan, 'variance'> {
  /** The rate in the control. */
  base: number
}

/** Returns the number of units for rates: `base` in the control, `base + effect` in the arm. */
export function unitsNeededOfRates(plan: PlanOfRates): number {
  const { arms, alpha, looks, tuned } = plan
  const [control, arm] = pairOf(plan)
  const once = normalUpperQuantile(alpha / arms / 2)
  const rules = { looks, once, alpha: alpha / arms, pair: control + arm, tuned }
  return settle((reach) => ofRates(plan, reach), rules)
}

function ofRates(plan: Omit<PlanOfRates, 'alpha' | 'looks'>, reach: number): number {
  const { base, effect, power } = plan
  const [control, arm] = pairOf(plan)
  const other = base + effect
  const middle = (control * base + arm * other) / (control + arm)
  const under = Math.sqrt(middle * (1 - middle) * (1 / control + 1 / arm))
  const beside = Math.sqrt((base * (1 - base)) / control + (other * (1 - other)) / arm)
  return (reach * under + normalQuantile(power) * beside) ** 2 / effect ** 2
}

/**
 * The level that a test plans with. `base` is the rate if units are 0 or 1 and a difference must be found, else null.
 */
export interface Level {
  base: number | null
  variance: number
}

/** Returns the number of units over all arms, not rounded. It uses the formula for rates if `base` is known. */
export function unitsPlanned({ base, ...plan }: Plan & Level): number {
  return base === null ? unitsNeeded(plan) : unitsNeededOfRates({ ...plan, base })
}

/**
 * Returns the smallest difference above 0 that `units` over all arms find, or null if no difference is large enough.
 * For rates it is found by bisection, because the number of units falls as the difference grows.
 */
export function effectFound(units: number, plan: Omit<Plan, 'effect'> & Level): number | null {
  const { base, variance, arms, alpha, power, looks, tuned, shares } = plan
  const [control, arm] = pairOf(plan)
  if (!(units * Math.min(control, arm) >= 2)) return null
  const each = alpha / arms
  const reach =
    looks === 'fixed' ? normalUpperQuantile(each / 2) : anytimeReach(units * (control + arm), each, tuned)
  if (base === null)
    return (reach + normalQuantile(power)) * Math.sqrt((variance * (1 / control + 1 / arm)) / units)
  let [low, high] = [0, 1 - base]
  const known = { base, arms, power, shares }
  if (ofRates({ ...known, effect: high }, reach) > units) return null
  for (let step = 0; step < 60; step++) {
    const effect = (low + high) / 2
    if (ofRates({ ...known, effect }, reach) > units) low = effect
    else high = effect
  }
  return high
}

interface Settling {
  looks: Looks
  /** The reach of a single look. */
  once: number
  alpha: number
  /** The share of the units in the control and an arm. */
  pair: number
  tuned: number | undefined
}

/** Solves for the number of units under sequential looks, where the reach depends on that number. */
function settle(
  needed: (reach: number) => number,
  { looks, once, alpha, pair, tuned = TUNED }: Settling,
): number {
  let units = needed(once)
  if (looks === 'fixed') return units
  for (let step = 0; step < 100; step++) units = needed(anytimeReach(pair * units, alpha, tuned))
  return units
}

/** Returns the sizes of the groups as whole numbers, the control first. `units` is the number over all groups. */
export function sizesOf(units: number, { arms, shares }: Pick<Plan, 'arms' | 'shares'>): number[] {
  const all = shares ?? Array.from({ length: arms + 1 }, () => 1 / (arms + 1))
  return all.map((share) => Math.ceil(units * share * (1 - 1e-12)))
}

/**
 * Returns the chance to find a difference of `effect` with the standard error `error` and an interval of `reach`
 * errors.
 */
export function powerOf(effect: number, error: number, reach: number): number {
  const away = Math.abs(effect) / error
  return normalUpper(reach - away) + normalUpper(reach + away)
}
