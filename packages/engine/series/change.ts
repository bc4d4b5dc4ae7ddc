/**
 * Tests whether the last change of a series is unusual beside the earlier ones. It is predicted from them with the
 * spread of a prediction; the tails are those of Student's t with 2 to infinitely many degrees, averaged by their
 * likelihood. The largest of these p-values holds: all earlier changes; their later half, since spread may grow; and,
 * for each season that the calendar suggests, the changes since the same place one season before.
 *
 * Simulated false claims at 5 %: docs/calibration.md, `compare`.
 */
import { studentTwoSided } from '../numeric/distributions.ts'
import { LIKELY } from '../verdicts/verdict.ts'
import { fitTails } from './spikes/student-fit.ts'

/** Degrees of freedom and prior weights: few changes do not show heavy tails, so these weigh more. */
const TAILS: readonly [df: number, weight: number][] = [
  [Number.POSITIVE_INFINITY, 2],
  [8, 1],
  [5, 2],
  [3, 3],
  [2, 1],
]
/** The fewest earlier changes that can judge one. */
export const LEAST_CHANGES = 8
/** The fewest earlier changes that can judge one if they are all alike. */
export const LEAST_ALIKE = Math.ceil(1 / LIKELY) - 1
const LEAST_SEASONAL = 3
/** Changes below this share of the largest value are rounding. */
const ROUNDING = 1e-9

/**
 * Returns the p of the last change, or null if there are too few values. `periods` are lengths of seasons, in steps.
 */
export function chanceOfLastChange(values: readonly number[], periods: readonly number[]): number | null {
  const changes = values.slice(1).map((value, index) => value - values[index]!)
  const history = changes.slice(0, -1)
  const last = changes.at(-1)
  if (last === undefined || history.length < LEAST_CHANGES) return null
  const near = ROUNDING * Math.max(...values.map(Math.abs))
  if (areAlike(history, near)) {
    // If all earlier changes are equal, a different one is the most extreme of n + 1.
    const p = Math.abs(last - history[0]!) <= near ? 1 : 1 / (history.length + 1)
    return p === 1 || p <= LIKELY ? p : null
  }
  const found = [chance(history, last, near)]
  const later = history.slice(-Math.max(LEAST_CHANGES, Math.ceil(history.length / 3)))
  if (later.length < history.length) found.push(chance(later, last, near))
  for (const period of periods) {
    const seasonal = changes.slice(period).map((change, index) => change - changes[index]!)
    if (seasonal.length > LEAST_SEASONAL)
      found.push(chance(seasonal.slice(0, -1), seasonal.at(-1)!, 2 * near))
  }
  return Math.max(...found)
}

const areAlike = (changes: readonly number[], near: number): boolean =>
  changes.every((one) => Math.abs(one - changes[0]!) <= near)

/**
 * Returns the two-sided chance of a change at least this far from the usual one. Differences up to `near` count as
 * none.
 */
function chance(history: readonly number[], change: number, near: number): number {
  const n = history.length
  if (areAlike(history, near)) return Math.abs(change - history[0]!) <= near ? 1 : 0
  const scale = Math.max(...history.map(Math.abs))
  const scaled = history.map((one) => one / scale)
  const rows = TAILS.map(([df, weight]) => {
    const fit = fitTails(scaled, df)
    const distance = Math.abs(change / scale - fit.center) / (fit.scale * Math.sqrt(1 + 1 / n))
    return {
      p: studentTwoSided(distance, Math.min(df, n - 1)),
      likelihood: fit.likelihood + Math.log(weight),
    }
  })
  const best = Math.max(...rows.map(({ likelihood }) => likelihood))
  let whole = 0
  let sum = 0
  for (const { p, likelihood } of rows) {
    whole += Math.exp(likelihood - best)
    sum += p * Math.exp(likelihood - best)
  }
  return sum / whole
}
