/**
 * Forecasts of exponential smoothing whose initial state is as unsure as the values leave it. Given the smoothing constants
 * the errors and the forecasts are linear in that state, so this is the prediction of generalised least squares (Goldberger, JASA 57,
 * 1962; for exponential smoothing Ord, Koehler and Snyder, JASA 92, 1997): the variance of a step ahead is that of the errors
 * to come and that of the estimated state, carried to the step. Of a level without noise and a steady slope this is the variance of
 * the slope times the square of the distance.
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
  /** One entry for each step ahead. */
  middles: number[]
  /** Standard deviations. */
  scales: number[]
  /** Degrees of freedom that the states leave. */
  df: number
  /** Log of the restricted likelihood of the constants, but for a constant of the form. */
  restricted: number
}

/** Null where the values leave no degree of freedom. `answers`: of these values and this form, for several parameters one after another. */
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
  // Of zeros alone the smallest number above zero, whose logarithm is finite.
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

/** The state less what the errors answer to. */
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
