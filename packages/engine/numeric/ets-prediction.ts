/**
 * Forecasts of exponential smoothing whose initial state is as unsure as the values leave it. Given the smoothing constants
 * the errors and the forecasts are linear in that state, so this is the prediction of generalised least squares (Goldberger, JASA 57,
 * 1962; for exponential smoothing Ord, Koehler and Snyder, JASA 92, 1997): the variance of a step ahead is that of the errors
 * to come and that of the estimated state, carried to the step. Of a level without noise and a steady slope this is the variance of
 * the slope times the square of the distance.
 */
import { type EtsForm, type EtsParameters, etsFilter, etsForecast, nearState, unitStates } from './ets.ts'

export interface EtsPrediction {
  /** One entry for each step ahead. */
  middles: number[]
  /** Standard deviations. */
  scales: number[]
  /** Degrees of freedom that the states leave. */
  df: number
  /** Log of the restricted likelihood of the constants, but for a constant of the form. */
  restricted: number
}

/** A share of a column's squares below this is rounding: it depends on those before it. */
const DEPENDENT = 1e-9

/** Null where the values leave no degree of freedom. */
export function etsPrediction(
  values: readonly number[],
  form: EtsForm,
  parameters: EtsParameters,
  horizon: number,
): EtsPrediction | null {
  const start = nearState(values, form)
  const units = unitStates(form)
  const df = values.length - units.length
  if (df < 1) return null
  const own = etsFilter(values, form, parameters, start)
  const zeros = values.map(() => 0)
  // Without any values the errors of a unit state are what it adds to each forecast, with the sign turned.
  const answers = units.map((unit) => etsFilter(zeros, form, parameters, unit))
  const { factor, turned, logs } = factorOf(
    answers.map(({ errors }) => errors),
    own.errors,
  )
  const shift = backward(factor, turned)
  let squares = 0
  for (let row = 0; row < values.length; row++) {
    let error = own.errors[row]!
    for (const [part, { errors }] of answers.entries()) error += shift[part]! * errors[row]!
    squares += error * error
  }
  const size = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  // Of zeros alone the smallest number above zero, whose logarithm is finite.
  const variance = Math.max(squares, values.length * (1e-8 * size) ** 2) / df + Number.MIN_VALUE
  const ahead = etsForecast({ form, parameters, variance: 1 }, own.final, horizon)
  const carried = answers.map(({ final }) => etsForecast({ form, parameters, variance: 1 }, final, horizon))
  const middles: number[] = []
  const scales: number[] = []
  for (const [step, { mean, variance: spread }] of ahead.entries()) {
    const gaps = carried.map((steps) => steps[step]!.mean)
    middles.push(mean + gaps.reduce((sum, gap, part) => sum + gap * shift[part]!, 0))
    const unsure = forward(factor, gaps).reduce((sum, one) => sum + one * one, 0)
    scales.push(Math.sqrt(variance * (spread + unsure)))
  }
  return { middles, scales, df, restricted: -0.5 * (df * Math.log(variance) + logs) }
}

interface Factor {
  /** Lower Cholesky factor of the columns' products, row by row; a part that depends on others has an infinite pivot and so no weight. */
  factor: Float64Array[]
  turned: number[]
  /** Log of the determinant. */
  logs: number
}

function factorOf(answers: readonly Float64Array[], errors: Float64Array): Factor {
  const factor: Float64Array[] = []
  let logs = 0
  for (const [row, left] of answers.entries()) {
    const line = new Float64Array(row + 1)
    factor.push(line)
    for (let column = 0; column <= row; column++) {
      const whole = dot(left, answers[column]!)
      let sum = whole
      for (let k = 0; k < column; k++) sum -= line[k]! * factor[column]![k]!
      if (column < row) line[column] = sum / factor[column]![column]!
      else {
        const free = sum > DEPENDENT * whole
        line[row] = free ? Math.sqrt(sum) : Number.POSITIVE_INFINITY
        if (free) logs += Math.log(sum)
      }
    }
  }
  const moments = answers.map((answer) => -dot(answer, errors))
  return { factor, turned: forward(factor, moments), logs }
}

function forward(factor: readonly Float64Array[], right: readonly number[]): number[] {
  const solved: number[] = []
  for (const [row, line] of factor.entries()) {
    let sum = right[row]!
    for (let k = 0; k < row; k++) sum -= line[k]! * solved[k]!
    solved.push(sum / line[row]!)
  }
  return solved
}

function backward(factor: readonly Float64Array[], right: readonly number[]): number[] {
  const solved = [...right]
  for (let row = factor.length - 1; row >= 0; row--) {
    let sum = solved[row]!
    for (let k = row + 1; k < factor.length; k++) sum -= factor[k]![row]! * solved[k]!
    solved[row] = sum / factor[row]![row]!
  }
  return solved
}

function dot(left: Float64Array, right: Float64Array): number {
  let sum = 0
  for (let row = 0; row < left.length; row++) sum += left[row]! * right[row]!
  return sum
}
