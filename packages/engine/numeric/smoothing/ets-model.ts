/**
 * Computes exponential smoothing with additive errors: ETS(A,N,N), (A,A,N), (A,Ad,N) and the same with additive
 * seasons, in the state-space form of Hyndman, Koehler, Ord and Snyder, Forecasting with Exponential Smoothing (2008).
 * Variances of forecasts have the closed form of that book's class 1.
 */

export interface EtsForm {
  trend: boolean
  damped: boolean
  /**
   * Whether the slope stays constant: simple smoothing with drift (Hyndman and Billah, Int. J. Forecasting 19, 2003).
   */
  steady?: boolean
  /** The number of steps in a season; 1 without one. */
  period: number
}

export interface EtsParameters {
  alpha: number
  /** The smoothing constant of the trend as in the state equations: alpha times beta star. */
  beta: number
  gamma: number
  phi: number
}

export interface EtsState {
  level: number
  slope: number
  /** The seasonal terms, beginning with the next step's. */
  seasons: number[]
}

/** A state that passes over the values. Its seasonal terms keep their positions. */
export interface Running {
  level: number
  slope: number
  /** One term for each step of a season; a single 0 without one. */
  seasons: Float64Array
}

export function runningFrom({ level, slope, seasons }: EtsState, { period }: EtsForm): Running {
  return { level, slope, seasons: period > 1 ? new Float64Array(seasons) : new Float64Array(1) }
}

/**
 * Passes a state over the values from step `from` to before `to`, and writes the one-step errors. Step 0 uses the first
 * seasonal term. beta is 0 without a trend.
 */
export function pass(
  values: Float64Array,
  trend: boolean,
  { alpha, beta, gamma, phi }: EtsParameters,
  state: Running,
  errors: Float64Array,
  from = 0,
  to = values.length,
): void {
  let { level, slope } = state
  const { seasons } = state
  const period = seasons.length
  let place = from % period
  for (let step = from; step < to; step++) {
    const drift = trend ? phi * slope : 0
    const error = values[step]! - level - drift - seasons[place]!
    level += drift + alpha * error
    slope = drift + beta * error
    if (period > 1) seasons[place]! += gamma * error
    errors[step] = error
    if (++place === period) place = 0
  }
  state.level = level
  state.slope = slope
}

/** Returns one-step errors and the last state, from an initial state through the values. */
export function etsFilter(
  values: readonly number[],
  form: EtsForm,
  parameters: EtsParameters,
  initial: EtsState,
): { errors: Float64Array; final: EtsState } {
  const errors = new Float64Array(values.length)
  const state = runningFrom(initial, form)
  pass(new Float64Array(values), form.trend, parameters, state, errors)
  return { errors, final: stateAfter(state, form, values.length) }
}

/** Returns the state after `steps` steps, with the seasonal term of the next step first. */
export function stateAfter({ level, slope, seasons }: Running, { period }: EtsForm, steps: number): EtsState {
  const place = steps % period
  const turned = period > 1 ? [...seasons.subarray(place), ...seasons.subarray(0, place)] : []
  return { level, slope, seasons: turned }
}

/** Returns means and variances 1 to `horizon` steps ahead. `variance` is that of the errors. */
export function etsForecast(
  { form, parameters, variance }: { form: EtsForm; parameters: EtsParameters; variance: number },
  { level, slope, seasons }: EtsState,
  horizon: number,
): { mean: number; variance: number }[] {
  const { alpha, beta, gamma, phi } = parameters
  const points: { mean: number; variance: number }[] = []
  let damping = 0
  let spread = 1
  for (let ahead = 1; ahead <= horizon; ahead++) {
    if (ahead > 1) {
      const weight =
        alpha +
        (form.trend ? beta * damping : 0) +
        (form.period > 1 && (ahead - 1) % form.period === 0 ? gamma : 0)
      spread += weight * weight
    }
    damping += phi ** ahead
    const season = form.period > 1 ? seasons[(ahead - 1) % form.period]! : 0
    points.push({ mean: level + (form.trend ? damping * slope : 0) + season, variance: variance * spread })
  }
  return points
}

/** Returns a state near the first season, so that the errors are small and keep their digits. */
export function nearState(values: readonly number[], { period }: EtsForm): EtsState {
  const first = values.slice(0, period)
  const level = first.reduce((sum, value) => sum + value, 0) / first.length
  return { level, slope: 0, seasons: period > 1 ? first.map((value) => value - level) : [] }
}

export function noState({ period }: EtsForm): EtsState {
  return { level: 0, slope: 0, seasons: Array.from({ length: period > 1 ? period : 0 }, () => 0) }
}
