/**
 * Tells whether one observation decides. The largest and the smallest of both arms are left out, one at a time: no
 * other observation moves a difference of means farther. The data are not read again.
 */
import type { Grade } from '@assay/model/insight'
import { movedFrom } from '../../verdicts/one-row.ts'
import { gradeOf } from '../../verdicts/verdict.ts'
import { type Comparison, compareMeans, testRates } from '../shared/arms.ts'
import type { ObservedArm } from './observations.ts'

/** Returns the grade of a difference. If the confidence is above 95 %, a claim needs that confidence. */
export function gradeAt(p: number | null, confidence: number): Exclude<Grade, 'withheld'> {
  return p !== null && p > 1 - confidence && confidence > 0.95 ? 'unclear' : gradeOf(p)
}

export interface Decisive {
  /** The arm of the observation. */
  arm: string
  value: number
  /** The difference with and without it. */
  before: number
  after: number
  grades: [before: Grade, after: Grade]
  /** What changes: the direction, the size by more than half, or only the grade. */
  what: 'direction' | 'size' | 'grade'
}

/**
 * Returns the observation that changes the answer when it is left out, or null if none does. `factor` is what
 * corrections multiplied p by.
 */
export function decisive(
  control: ObservedArm,
  arm: ObservedArm,
  found: Comparison,
  test: string,
  confidence: number,
  factor: number,
): Decisive | null {
  const { estimate, p, p_adjusted } = found
  if (estimate === null || p === null || p_adjusted === null) return null
  const before = gradeAt(p_adjusted, confidence)
  let most: Decisive | null = null
  for (const [side, other] of [
    [arm, control],
    [control, arm],
  ] as const) {
    if (side.n < 3) continue
    for (const value of new Set([side.min, side.max])) {
      const less = without(side, value)
      const again = side === arm ? differ(control, less, test) : differ(less, other, test)
      if (again.estimate === null) continue
      const after = gradeAt(again.p === null ? null : Math.min(1, again.p * factor), confidence)
      const moved = Math.abs(again.estimate - estimate)
      const what = movedFrom(estimate, again.estimate, again.error) ?? 'grade'
      if (before === after && what === 'grade') continue
      if (most && Math.abs(most.after - estimate) >= moved) continue
      most = { arm: side.name, value, before: estimate, after: again.estimate, grades: [before, after], what }
    }
  }
  return most
}

function differ(control: ObservedArm, arm: ObservedArm, test: string) {
  if (arm.successes === null || control.successes === null) {
    const { estimate, p } = compareMeans(control, arm, 0.95)
    const error = Math.hypot((arm.sd ?? 0) / Math.sqrt(arm.n), (control.sd ?? 0) / Math.sqrt(control.n))
    return { estimate, p, error }
  }
  const a = { n: arm.n, successes: arm.successes }
  const c = { n: control.n, successes: control.successes }
  return { estimate: a.successes / a.n - c.successes / c.n, ...testRates(a, c, test) }
}

/** Returns the arm without one observation of this value. */
function without(arm: ObservedArm, value: number): ObservedArm {
  const n = arm.n - 1
  if (arm.successes !== null) {
    const successes = arm.successes - value
    return { ...arm, n, successes, rate: successes / n }
  }
  const away = value - arm.mean!
  if (away === 0) return { ...arm, n, sd: arm.sd! * Math.sqrt(n / (n - 1)) }
  // The spread is computed in units of the distance. A rest that is only rounding counts as 0, because this one value
  // made the whole spread.
  const rest = (arm.sd! / away) ** 2 * n - arm.n / n
  const sd = rest < 1e-9 ? 0 : Math.abs(away) * Math.sqrt(rest / (n - 1))
  return { ...arm, n, mean: arm.mean! - away / n, sd }
}
