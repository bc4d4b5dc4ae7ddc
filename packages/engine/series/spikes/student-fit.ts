/** Fits location and scale of Student's t with known degrees of freedom; infinitely many mean normal. */
import { logGamma } from '../../numeric/gamma.ts'
import { medianOf } from './tails.ts'

const ROUNDS = 12

export interface Fit {
  center: number
  scale: number
  likelihood: number
}

/**
 * Returns the maximum likelihood of location and scale, by expectation and maximisation (Lange, Little and Taylor, JASA
 * 84, 1989).
 */
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
