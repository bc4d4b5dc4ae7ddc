/**
 * Forecasts by exponential smoothing, including the uncertainty of the initial state. Given the smoothing constants,
 * errors and forecasts are linear in that state. So this is the prediction of generalised least squares (Goldberger,
 * JASA 57, 1962; for exponential smoothing Ord, Koehler and Snyder, JASA 92, 1997). The variance of a step ahead adds
 * that of the errors to come and that of the estimated state, carried to the step. For a level without noise and a
 * constant slope it is the variance of the slope times the squared distance.
 */
import { EtsAnswers } from './ets-answers.ts'
import {
  type EtsForm,
  type EtsParameters,
  type EtsState,
  etsForecast,
  pass,
  runningFrom,
  stateAfter,
} from './ets-model.ts'

export interface EtsPrediction {
  /** The means of the forecast, one for each step ahead. */
  middles: number[]
  /** The standard deviations of the forecast. */
  scales: number[]
  /** The degrees of freedom that remain after the states are estimated. */
  df: number
  /** The logarithm of the restricted likelihood of the constants, up to a constant of the form. */
  restricted: number
}

/**
 * Computes the prediction, or returns null if the values leave no degree of freedom. `answers` belongs to these values
 * and this form, and is reused for several parameters.
 */
export function etsPrediction(
  values: readonly number[],
  form: EtsForm,
  parameters: EtsParameters,
  horizon: number,
  answers = new EtsAnswers(values, form),
): EtsPrediction | null {
  const { size, gram, moments } = answers
  const df = values.length - size
  if (df < 1) return null
  answers.sum(parameters)
  answers.factor()
  let logs = 0
  for (let part = 0; part < size; part++) {
    const pivot = gram[part * size + part]!
    if (pivot < Number.POSITIVE_INFINITY) logs += 2 * Math.log(pivot)
  }
  const shift = answers.backward(answers.forward(moments))
  const state = runningFrom(moved(answers.near, shift, form), form)
  const { errors } = answers
  pass(answers.values, form.trend, parameters, state, errors)
  let squares = 0
  let most = 0
  for (let row = 0; row < errors.length; row++) {
    squares += errors[row]! ** 2
    most = Math.max(most, Math.abs(values[row]!))
  }
  // For values that are all zero this is a tiny number, whose logarithm is finite.
  const variance = Math.max(squares, values.length * (1e-8 * most) ** 2) / df + Number.MIN_VALUE
  const final = stateAfter(state, form, values.length)
  const ahead = etsForecast({ form, parameters, variance: 1 }, final, horizon)
  const carried = answers.carried(parameters, horizon)
  const scales = ahead.map(({ variance: spread }, step) => {
    let unsure = 0
    for (const part of answers.forward(carried[step]!)) unsure += part * part
    return Math.sqrt(variance * (spread + unsure))
  })
  return {
    middles: ahead.map(({ mean }) => mean),
    scales,
    df,
    restricted: -0.5 * (df * Math.log(variance) + logs),
  }
}

/** Returns the state moved by the estimated correction. */
function moved(
  { level, slope, seasons }: EtsState,
  shift: Float64Array,
  { period, trend }: EtsForm,
): EtsState {
  return {
    level: period > 1 ? level : level - shift[0]!,
    slope: trend ? slope - shift[period]! : slope,
    seasons: seasons.map((term, place) => term - shift[place]!),
  }
}
