/**
 * Computes the generalised extreme Studentised deviate test: B. Rosner, Percentage points for a generalized ESD
 * many-outlier procedure, Technometrics 25 (1983), 165-172; as in the NIST handbook, section 1.3.5.17.3.
 */
import { studentUpperQuantile } from './distributions.ts'
import { exactMean, variance } from './exact.ts'

export interface EsdStep {
  /** The index of the value that this step removes. */
  index: number
  statistic: number
  critical: number
}

/**
 * Makes at most `most` steps. The outliers are those up to the last step whose statistic exceeds its critical value.
 */
export function generalisedEsd(
  values: readonly number[],
  most: number,
  alpha: number,
): { outliers: number[]; steps: EsdStep[] } {
  const rest = [...values.keys()]
  const steps: EsdStep[] = []
  let found = 0
  for (let step = 1; step <= most && rest.length > 2; step++) {
    const left = rest.map((index) => values[index]!)
    const mean = exactMean(left)
    const sd = Math.sqrt(variance(left))
    if (!(sd > 0)) break
    let farthest = 0
    for (const [place, value] of left.entries()) {
      if (Math.abs(value - mean) > Math.abs(left[farthest]! - mean)) farthest = place
    }
    const m = left.length
    const t = studentUpperQuantile(alpha / (2 * m), m - 2)
    const critical = ((m - 1) * t) / Math.sqrt((m - 2 + t * t) * m)
    const statistic = Math.abs(left[farthest]! - mean) / sd
    steps.push({ index: rest[farthest]!, statistic, critical })
    if (statistic > critical) found = step
    rest.splice(farthest, 1)
  }
  return { outliers: steps.slice(0, found).map((step) => step.index), steps }
}
