/**
 * Computes the result of each metric and arm: effects, corrections for several tests, intervals that agree with them,
 * and grades.
 */
import type { Grade } from '@assay/model/insight'
import { gradeAt } from '../ab-test/influence.ts'
import { benjaminiHochberg, holm } from '../shared/multiplicity.ts'
import { finite } from '../shared/sentence.ts'
import {
  type Effect,
  effectOf,
  type Level,
  type Looks,
  levelOf,
  liftOf,
  reachOf,
  thetaOf,
} from './effects.ts'
import type { Metric } from './options.ts'
import type { MetricUnits } from './units.ts'

export interface Result {
  metric: string
  arm: string
  primary: boolean
  control_value: number | null
  value: number | null
  estimate: number | null
  /** The difference as a share of the control's value. */
  relative: number | null
  relative_low: number | null
  relative_high: number | null
  low: number | null
  high: number | null
  /**
   * The loss that is allowed, and whether it is excluded (true) or exceeded (false). Null if there is no margin or the
   * answer is unclear.
   */
  margin: number | null
  not_worse: boolean | null
  p: number | null
  q: number | null
  grade: Grade
}

export interface Judged {
  units: MetricUnits
  primary: boolean
  theta: number
  control: Level
  arm: Level
  effect: Effect | null
  result: Result
}

export interface Rules {
  looks: Looks
  confidence: number
  tuned_for?: number
}

/** Tells for each metric whether it decides: those marked as primary, or else the first. */
function primaries(metrics: readonly MetricUnits[]): boolean[] {
  const marked = metrics.some(({ metric }) => metric.primary === true)
  return metrics.map(({ metric }, index) => (marked ? metric.primary === true : index === 0))
}

/**
 * Judges all metrics. `factor` is what a correction over the whole report multiplies the p of the primary metrics by.
 */
export function judge(metrics: readonly MetricUnits[], control: string, rules: Rules, factor = 1): Judged[] {
  const first = primaries(metrics)
  const judged = metrics.flatMap((units, index): Judged[] => {
    const base = units.moments.get(control)
    if (!base) return []
    const theta = thetaOf([...units.moments.values()], units)
    const from = levelOf(base, units, theta)
    return [...units.moments]
      .filter(([arm]) => arm !== control)
      .map(([arm, moments]) => {
        const level = levelOf(moments, units, theta)
        const boundary = boundaryOf(units.metric)
        const effect = units.beyond
          ? null
          : effectOf(from, level, rules.looks, { tuned: rules.tuned_for, boundary })
        const result = plain(units.metric, arm, first[index]!, from, level, effect)
        return { units, primary: first[index]!, theta, control: from, arm: level, effect, result }
      })
  })
  correct(
    judged.filter(({ primary }) => primary),
    true,
    rules,
    factor,
  )
  correct(
    judged.filter(({ primary }) => !primary),
    false,
    rules,
  )
  return judged
}

/** Returns the difference that the test compares with: the loss that a margin allows, or 0. */
function boundaryOf({ margin = 0, good }: Metric): number {
  return good === 'down' ? margin : -margin
}

/** Tells whether a difference lies on the better side of the loss that is allowed. */
export function isBetter({ estimate, boundary }: Effect): boolean {
  return (estimate - boundary) * boundary < 0
}

function plain(
  metric: Metric,
  arm: string,
  primary: boolean,
  control: Level,
  level: Level,
  effect: Effect | null,
): Result {
  const estimate = finite(level.adjusted - control.adjusted)
  const base = finite(control.value)
  return {
    metric: metric.name,
    arm,
    primary,
    control_value: base,
    value: finite(level.value),
    estimate,
    relative: base === null || estimate === null || base <= 0 ? null : finite(estimate / base),
    relative_low: null,
    relative_high: null,
    low: null,
    high: null,
    margin: metric.margin ?? null,
    not_worse: null,
    p: effect?.p ?? null,
    q: null,
    grade: 'unclear',
  }
}

/**
 * Corrects by Holm over the primary metrics and arms, and by Benjamini and Hochberg over the others. Each interval has
 * the level of its test. Holm's level is that of the step if the test was rejected, and Bonferroni's if not. The level
 * for the false discovery rate is that of Benjamini and Yekutieli (JASA 100, 2005). So an interval excludes 0, or the
 * loss that a margin allows, exactly if q is at most 1 - confidence.
 */
function correct(family: readonly Judged[], primary: boolean, rules: Rules, factor = 1): void {
  const known = family.filter(({ effect }) => effect !== null)
  const values = known.map(({ effect }) => effect!.p)
  const adjusted = primary ? holm(values).map((q) => Math.min(1, q * factor)) : benjaminiHochberg(values)
  const alpha = 1 - rules.confidence
  const rejected = adjusted.filter((q) => q <= alpha).length
  for (const [index, { effect, result, control, arm, units }] of known.entries()) {
    const { estimate, error, p } = effect!
    const q = adjusted[index]!
    const step = q <= alpha && p > 0 ? q / p : known.length * factor
    const level = primary ? alpha / step : (alpha * Math.max(1, rejected)) / known.length
    const reach = reachOf(effect!, control.n + arm.n, level, rules.looks, rules.tuned_for)
    // Two shares differ by at most 1. A value that is never below zero loses at most all of itself.
    const most = units.reach === 'share' ? 1 : Number.POSITIVE_INFINITY
    result.low = finite(Math.max(-most, estimate - reach * error))
    result.high = finite(Math.min(most, estimate + reach * error))
    const lift = result.relative === null ? null : liftOf(control, effect!, reach)
    result.relative_low = lift && Math.max(lift[0], units.reach === 'any' ? lift[0] : -1)
    result.relative_high = lift && lift[1]
    result.q = q
    result.grade = gradeAt(q, rules.confidence)
    if (result.margin !== null && result.grade !== 'unclear') result.not_worse = isBetter(effect!)
  }
}
