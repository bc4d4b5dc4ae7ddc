/**
 * How many units a test needs. Means: n = (z_a + z_b)^2 (v / share + v / share') / d^2 (Chow, Shao and Wang, Sample Size
 * Calculations in Clinical Research, chapter 3.2). Rates: Fleiss, Tytun and Ury (Biometrics 36, 1980, 343-346) without the continuity
 * correction, in groups of any sizes; for equal ones it is R's power.prop.test. To exclude a loss where there is none is the
 * formula of means with the loss as d. Under sequential looks z_a is the reach of the always-valid interval.
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
  /** The share of each group, the control first; equal ones without it. */
  shares?: readonly number[] | undefined
}

/** The shares of the control and of the smallest arm, which needs the most units. */
function pairOf({ arms, shares }: Pick<Plan, 'arms' | 'shares'>): [control: number, arm: number] {
  const even = 1 / (arms + 1)
  return shares ? [shares[0]!, Math.min(...shares.slice(1))] : [even, even]
}

/** Units over all arms, not rounded. */
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

/** The same for rates: `base` in the control, `base + effect` in the arm. */
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

/** What a test plans with: `base` where the units are 0 or 1 and a difference is to be found, else null. */
export interface Level {
  base: number | null
  variance: number
}

/** Units over all arms, by the formula for rates where `base` is known; not rounded. */
export function unitsPlanned({ base, ...plan }: Plan & Level): number {
  return base === null ? unitsNeeded(plan) : unitsNeededOfRates({ ...plan, base })
}

/**
 * The smallest difference that so many units over all arms find, above 0; null where no difference is large enough. For rates it
 * is found by halving, since the units fall as the difference grows.
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

/** Under sequential looks the reach depends on the number of units itself. */
function settle(
  needed: (reach: number) => number,
  { looks, once, alpha, pair, tuned = TUNED }: Settling,
): number {
  let units = needed(once)
  if (looks === 'fixed') return units
  for (let step = 0; step < 100; step++) units = needed(anytimeReach(pair * units, alpha, tuned))
  return units
}

/** The whole units of each group, the control first, of so many over all. */
export function sizesOf(units: number, { arms, shares }: Pick<Plan, 'arms' | 'shares'>): number[] {
  const all = shares ?? Array.from({ length: arms + 1 }, () => 1 / (arms + 1))
  return all.map((share) => Math.ceil(units * share * (1 - 1e-12)))
}

/** The chance that a difference of `effect` is found when the error is `error` and the interval reaches so many errors. */
export function powerOf(effect: number, error: number, reach: number): number {
  const away = Math.abs(effect) / error
  return normalUpper(reach - away) + normalUpper(reach + away)
}
