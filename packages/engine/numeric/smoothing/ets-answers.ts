/**
 * Computes how the one-step errors respond to each part of the initial state. The response to a later seasonal term is
 * that to the first one, shifted by so many steps. The response to the level is that to all seasonal terms together,
 * because a higher level and equally lower terms make the same forecasts. So one shifted response serves for level and
 * season, and the products of all pairs of parts take n steps for each part, not for each pair.
 */
import {
  type EtsForm,
  type EtsParameters,
  type EtsState,
  nearState,
  pass,
  type Running,
  runningFrom,
} from './ets-model.ts'

/** A share of a column's squares below this is rounding: it depends on those before it. */
const DEPENDENT = 1e-9

/**
 * Computes the normal equations of the initial state, relative to a state near the first values. Its arrays are used
 * again for other parameters.
 */
export class EtsAnswers {
  /** The number of parts of the state: the seasonal terms (the level without a season), then the slope. */
  readonly size: number
  readonly near: EtsState
  readonly values: Float64Array
  /** The errors from `near`. */
  readonly errors: Float64Array
  /** The response of the errors to a unit of the first part. */
  readonly first: Float64Array
  /** The response of the errors to a unit of the slope. */
  readonly slope: Float64Array
  /**
   * The lower triangle of the products of each pair of parts, row by row. `factor` turns it into its Cholesky factor.
   */
  readonly gram: Float64Array
  /** The products of each part with the errors. */
  readonly moments: Float64Array
  /** The sum of the squared errors. */
  whole = 0
  private readonly form: EtsForm
  private readonly zeros: Float64Array
  private readonly state: Running

  constructor(values: readonly number[], form: EtsForm) {
    this.form = form
    this.size = form.period + (form.trend ? 1 : 0)
    this.near = nearState(values, form)
    this.values = new Float64Array(values)
    this.zeros = new Float64Array(values.length)
    this.state = runningFrom(this.near, form)
    this.errors = new Float64Array(values.length)
    this.first = new Float64Array(values.length)
    this.slope = new Float64Array(form.trend ? values.length : 0)
    this.gram = new Float64Array(this.size * this.size)
    this.moments = new Float64Array(this.size)
  }

  /** Writes all sums for these parameters. */
  sum(parameters: EtsParameters): void {
    const { form, errors, moments, first, slope, size } = this
    const { trend, period } = form
    const n = errors.length
    pass(this.values, trend, parameters, this.nearly(), errors)
    pass(this.zeros, trend, parameters, this.unit(0), first)
    this.whole = shifted(errors, errors, 0)
    for (let part = 0; part < period; part++) moments[part] = shifted(first, errors, part)
    this.shifts(n)
    if (!trend) return
    pass(this.zeros, trend, parameters, this.unit(period), slope)
    const row = period * size
    for (let part = 0; part < period; part++) this.gram[row + part] = shifted(first, slope, part)
    this.gram[row + period] = shifted(slope, slope, 0)
    moments[period] = shifted(slope, errors, 0)
  }

  /**
   * Computes the products of the first response with itself, both shifted. Each pair of earlier terms has one product
   * more.
   */
  private shifts(n: number): void {
    const { first, gram, size } = this
    const last = this.form.period - 1
    for (let lag = 0; lag <= last; lag++) {
      let sum = 0
      for (let step = 0; step < n - last; step++) sum += first[step]! * first[step + lag]!
      gram[last * size + last - lag] = sum
      for (let part = last - 1; part >= lag; part--) {
        const step = n - 1 - part
        sum += first[step]! * first[step + lag]!
        gram[part * size + part - lag] = sum
      }
    }
  }

  /**
   * Turns the products into their Cholesky factor. A part that depends on others gets an infinite pivot and so no
   * weight. Returns whether all parts are independent.
   */
  factor(): boolean {
    const { gram, size } = this
    let free = true
    for (let row = 0; row < size; row++) {
      for (let column = 0; column <= row; column++) {
        const whole = gram[row * size + column]!
        let sum = whole
        for (let k = 0; k < column; k++) sum -= gram[row * size + k]! * gram[column * size + k]!
        if (column < row) gram[row * size + column] = sum / gram[column * size + column]!
        else if (sum > DEPENDENT * whole) gram[row * size + row] = Math.sqrt(sum)
        else {
          gram[row * size + row] = Number.POSITIVE_INFINITY
          free = false
        }
      }
    }
    return free
  }

  /** Solves the lower factor for `right`, in place. */
  forward(right: Float64Array): Float64Array {
    const { gram, size } = this
    for (let row = 0; row < size; row++) {
      let sum = right[row]!
      for (let k = 0; k < row; k++) sum -= gram[row * size + k]! * right[k]!
      right[row] = sum / gram[row * size + row]!
    }
    return right
  }

  /** Solves the upper factor for `right`, in place. */
  backward(right: Float64Array): Float64Array {
    const { gram, size } = this
    for (let row = size - 1; row >= 0; row--) {
      let sum = right[row]!
      for (let k = row + 1; k < size; k++) sum -= gram[k * size + row]! * right[k]!
      right[row] = sum / gram[row * size + row]!
    }
    return right
  }

  /**
   * Returns what a unit of each part adds to the steps after the last value: one row for each step, one number for each
   * part.
   */
  carried(parameters: EtsParameters, horizon: number): Float64Array[] {
    const { form, size, zeros, first } = this
    const { period, trend } = form
    const n = zeros.length
    const rows = Array.from({ length: horizon }, () => new Float64Array(size))
    const tell = (state: Running, steps: number, part: number): void => {
      let damping = 0
      for (let ahead = 0; ahead < horizon; ahead++) {
        damping += parameters.phi ** (ahead + 1)
        rows[ahead]![part] =
          state.level + (trend ? damping * state.slope : 0) + state.seasons[(steps + ahead) % period]!
      }
    }
    const unit = this.unit(0)
    let done = 0
    for (let part = period - 1; part >= 0; part--) {
      pass(zeros, trend, parameters, unit, first, done, n - part)
      done = n - part
      tell(unit, done, part)
    }
    if (trend) {
      const steep = this.unit(period)
      pass(zeros, trend, parameters, steep, this.slope)
      tell(steep, n, period)
    }
    return rows
  }

  /** Sets the state that all passes share to one with small errors, and returns it. */
  private nearly(): Running {
    const { state, near, form } = this
    state.level = near.level
    state.slope = near.slope
    if (form.period > 1) state.seasons.set(near.seasons)
    return state
  }

  /** Sets the shared state to a unit of the first part (0) or of the slope (`period`), and returns it. */
  private unit(part: number): Running {
    const { state, form } = this
    const first = part === 0
    state.level = first && form.period === 1 ? 1 : 0
    state.slope = first ? 0 : 1
    state.seasons.fill(0)
    if (first && form.period > 1) state.seasons[0] = 1
    return state
  }
}

/** Returns the sum of the products of `left`, this many steps later, with `right`. */
function shifted(left: Float64Array, right: Float64Array, steps: number): number {
  const n = right.length
  let sum = 0
  for (let step = steps; step < n; step++) sum += left[step - steps]! * right[step]!
  return sum
}
