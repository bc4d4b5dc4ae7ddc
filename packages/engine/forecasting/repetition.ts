/**
 * Finds series that repeat themselves exactly: each value is the one a season before plus a step, or times a factor. A
 * season of one value is a line, or steady growth. Such a series needs no model, which would smooth it.
 */

export interface Repetition {
  /** The length of the season in steps. */
  period: number
  /** The values after the last one. */
  coming: number[]
}

/** The number of whole seasons that show a repetition. Two are enough for a known season. */
const SEASONS = { found: 3, known: 2 }
const LEAST = 6
/** A difference below this share of the distance from the least to the largest value is rounding. */
const ROUNDING = 1e-9

/** Returns the repetition, or null if there is none. `periods` are seasons that the series is known to have. */
export function repetitionOf(
  values: readonly number[],
  horizon: number,
  periods: readonly number[],
): Repetition | null {
  const n = values.length
  const known = new Set(periods)
  const logs = values.every((value) => value > 0) ? values.map(Math.log) : null
  const near = { plain: roundingOf(values), logs: logs && roundingOf(logs) }
  for (let period = 1; period <= Math.min(n / SEASONS.known, n - LEAST); period++) {
    if (n < SEASONS.found * period && !known.has(period)) continue
    const step = stepOf(values, period, near.plain)
    if (step !== null) return { period, coming: continued(values, period, horizon, (value) => value + step) }
    const growth = logs && stepOf(logs, period, near.logs!)
    if (growth !== null)
      return { period, coming: continued(values, period, horizon, (value) => value * Math.exp(growth)) }
  }
  return null
}

function roundingOf(values: readonly number[]): number {
  let [least, most] = [values[0]!, values[0]!]
  for (const value of values) {
    if (value < least) least = value
    if (value > most) most = value
  }
  return ROUNDING * (most - least) + 8 * Number.EPSILON * Math.max(Math.abs(least), Math.abs(most))
}

/** Returns what each value adds to the one a season before, if that is the same for all, else null. */
function stepOf(values: readonly number[], period: number, near: number): number | null {
  const step = values[period]! - values[0]!
  for (let row = period; row < values.length; row++)
    if (!(Math.abs(values[row]! - values[row - period]! - step) <= near)) return null
  // The mean over all seasons is more accurate than the first step.
  return Math.abs(step) <= near
    ? 0
    : (values.at(-1)! - values[(values.length - 1) % period]!) / Math.floor((values.length - 1) / period)
}

function continued(
  values: readonly number[],
  period: number,
  horizon: number,
  next: (value: number) => number,
): number[] {
  const all = values.slice(-period)
  for (let step = 0; step < horizon; step++) all.push(next(all[step]!))
  return all.slice(period)
}
