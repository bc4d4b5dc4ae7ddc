/**
 * Compares each value of a series with its expectation from the neighbours on both sides: a level that follows x(t+1) =
 * a x(t) + u, seen with noise (a from 0, no level at all, to 1, a random walk). The residual of a value from all others
 * is the auxiliary residual of Harvey and Koopman (J. Business and Economic Statistics 10, 1992), by the recursions of
 * de Jong (JASA 83, 1988). Missing values are left out exactly. One pass forward and one back.
 */

export interface LevelNoise {
  /** The persistence of the level, 0 to 1. */
  a: number
  /** The variance of the noise, and of the level's steps, in units that cancel out. */
  noise: number
  step: number
}

export interface Residuals {
  /** The expectation that the other values give. */
  expected: Float64Array
  /** The value less its expectation, over its standard deviation, up to a common scale. */
  standardised: Float64Array
  /** The standard deviations, up to that scale. */
  spread: Float64Array
}

const PERSISTENCES = [0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 1]
const NOISES = [0, 0.2, 1, 4, 16]
const DIFFUSE = 1e6

interface Pass {
  errors: Float64Array
  spreads: Float64Array
  gains: Float64Array
  states: Float64Array
  variances: Float64Array
  likelihood: number
}

/**
 * Returns the model of greatest likelihood over a grid. `values` are centred, and `seen` says which of them take part.
 */
export function fitLevelNoise(values: ArrayLike<number>, seen: ArrayLike<number>): LevelNoise {
  let best: LevelNoise = { a: 0, noise: 1, step: 0 }
  let most = forward(values, seen, best).likelihood
  for (const a of PERSISTENCES)
    for (const noise of NOISES) {
      const model = { a, noise, step: 1 }
      const { likelihood } = forward(values, seen, model)
      // White noise stays unless the level gains more than the cost of its two parameters.
      if (likelihood > most + (best.step === 0 ? 2 : 0)) {
        most = likelihood
        best = model
      }
    }
  return best
}

function forward(values: ArrayLike<number>, seen: ArrayLike<number>, { a, noise, step }: LevelNoise): Pass {
  const n = values.length
  const make = (): Float64Array => new Float64Array(n)
  const pass: Pass = {
    errors: make(),
    spreads: make(),
    gains: make(),
    states: make(),
    variances: make(),
    likelihood: 0,
  }
  let state = 0
  let variance = step === 0 ? 0 : a < 1 ? step / (1 - a * a) : DIFFUSE
  let count = 0
  let squares = 0
  let logs = 0
  for (let t = 0; t < n; t++) {
    pass.states[t] = state
    pass.variances[t] = variance
    let gain = 0
    if (seen[t]) {
      const spread = variance + noise
      const error = values[t]! - state
      gain = (a * variance) / spread
      pass.errors[t] = error
      pass.spreads[t] = spread
      state = a * state + gain * error
      if (count > 0) {
        squares += (error * error) / spread
        logs += Math.log(spread)
      }
      count += 1
    } else state *= a
    pass.gains[t] = gain
    variance = a * (a - gain) * variance + step
  }
  pass.likelihood = -0.5 * ((count - 1) * Math.log(Math.max(squares, 1e-300)) + logs)
  return pass
}

/**
 * Returns the residual of each value from all the others that are seen. A value that is not seen also gets a residual.
 */
export function residualsOf(
  values: ArrayLike<number>,
  seen: ArrayLike<number>,
  model: LevelNoise,
): Residuals {
  const n = values.length
  const { errors, spreads, gains, states, variances } = forward(values, seen, model)
  const expected = new Float64Array(n)
  const standardised = new Float64Array(n)
  const spread = new Float64Array(n)
  let r = 0
  let precision = 0
  for (let t = n - 1; t >= 0; t--) {
    if (seen[t]) {
      const u = errors[t]! / spreads[t]! - gains[t]! * r
      const d = 1 / spreads[t]! + gains[t]! ** 2 * precision
      expected[t] = values[t]! - u / d
      spread[t] = Math.sqrt(1 / d)
      const rest = model.a - gains[t]!
      r = errors[t]! / spreads[t]! + rest * r
      precision = 1 / spreads[t]! + rest * rest * precision
    } else {
      r *= model.a
      precision *= model.a * model.a
      const state = states[t]! + variances[t]! * r
      expected[t] = state
      spread[t] = Math.sqrt(Math.max(0, variances[t]! - variances[t]! ** 2 * precision) + model.noise)
    }
    standardised[t] = (values[t]! - expected[t]!) / spread[t]!
  }
  return { expected, standardised, spread }
}
