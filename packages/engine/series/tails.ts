/**
 * Whether the farthest of some values lies farther out than their own tails explain. The tails are not assumed: normal,
 * Student's t with 2 to 30 degrees and, for whole numbers from 0 on, the negative binomial are each fitted without the
 * farthest value and averaged by their likelihood; a value that is farthest in light tails is usual in heavy ones.
 *
 * Why: at a stated 5 %, tests that assume normal values raise a false alarm in 91 to 99 % of log-normal series.
 */
import { studentTwoSided } from '../numeric/distributions.ts'
import { logGamma } from '../numeric/gamma.ts'

/** Degrees of freedom and prior weight: heavy tails count more, since what would show them best is left out of the fit. */
const TAILS: readonly [df: number, weight: number][] = [
  [Number.POSITIVE_INFINITY, 1],
  [30, 1],
  [12, 1],
  [8, 1.5],
  [6, 2],
  [4, 3],
  [3, 4],
  [2, 3],
]
const ROUNDS = 12

export interface Fit {
  center: number
  scale: number
  likelihood: number
}

/** The chance that the farthest of so many values from such tails lies as far out as `candidate` does, on either side. */
export function tailChance(values: readonly number[], candidate: number): { p: number; likelihood: number } {
  const rest = values.filter((_, index) => index !== candidate)
  const n = values.length
  const rows = TAILS.map(([df, weight]) => {
    const fit = fitTails(rest, df)
    const distance = Math.abs(values[candidate]! - fit.center) / fit.scale
    const beyond = Number.isFinite(df)
      ? studentTwoSided(distance, df)
      : studentTwoSided(distance * Math.sqrt((n - 1) / n), n - 2)
    return {
      p: -Math.expm1(n * Math.log1p(-Math.min(beyond, 1 - 1e-16))),
      likelihood: fit.likelihood + Math.log(weight),
    }
  })
  return average(rows)
}

function average(rows: readonly { p: number; likelihood: number }[]): { p: number; likelihood: number } {
  const best = Math.max(...rows.map(({ likelihood }) => likelihood))
  let whole = 0
  let sum = 0
  for (const { p, likelihood } of rows) {
    const weight = Math.exp(likelihood - best)
    whole += weight
    sum += weight * p
  }
  return { p: sum / whole, likelihood: best + Math.log(whole) }
}

/** Maximum likelihood of location and scale, by expectation and maximisation (Lange, Little and Taylor, JASA 84, 1989). */
export function fitTails(values: readonly number[], df: number): Fit {
  const n = values.length
  let center = medianOf(values)
  let scale = Math.max(1.4826 * medianOf(values.map((value) => Math.abs(value - center))), 1e-12)
  for (let round = 0; round < (Number.isFinite(df) ? ROUNDS : 1); round++) {
    let weights = 0
    let sum = 0
    let squares = 0
    const weigh = (value: number): number =>
      Number.isFinite(df) ? (df + 1) / (df + ((value - center) / scale) ** 2) : 1
    for (const value of values) {
      const weight = weigh(value)
      weights += weight
      sum += weight * value
    }
    const next = sum / weights
    for (const value of values) squares += weigh(value) * (value - next) ** 2
    center = next
    scale = Math.max(Math.sqrt(squares / (Number.isFinite(df) ? n : n - 1)), 1e-12)
  }
  let likelihood = -n * Math.log(scale)
  if (Number.isFinite(df)) {
    likelihood += n * (logGamma((df + 1) / 2) - logGamma(df / 2) - 0.5 * Math.log(df * Math.PI))
    for (const value of values)
      likelihood -= ((df + 1) / 2) * Math.log1p(((value - center) / scale) ** 2 / df)
  } else
    for (const value of values)
      likelihood -= 0.5 * ((value - center) / scale) ** 2 + 0.5 * Math.log(2 * Math.PI)
  return { center, scale, likelihood }
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
