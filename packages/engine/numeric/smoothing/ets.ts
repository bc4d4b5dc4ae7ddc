/**
 * Fits exponential smoothing (ets-model.ts) by maximum likelihood. Given the smoothing parameters, the one-step errors
 * are linear in the initial states. So these are solved for exactly, and only two to four parameters are searched. AICc
 * compares the fits.
 */
import { EtsAnswers } from './ets-answers.ts'
import { type EtsForm, type EtsParameters, type EtsState, etsFilter, noState } from './ets-model.ts'
import { nelderMead } from './nelder-mead.ts'

export interface EtsFit {
  form: EtsForm
  parameters: EtsParameters
  initial: EtsState
  final: EtsState
  errors: Float64Array
  /** The variance of the one-step errors, for the degrees of freedom that remain. */
  variance: number
  aicc: number
}

/** Fits every form for which there are enough values. */
export function fitForms(values: readonly number[], period: number): EtsFit[] {
  const seasons = period > 1 && values.length >= 2 * period ? [1, period] : [1]
  const forms = seasons.flatMap((period) => [
    { trend: false, damped: false, period },
    { trend: true, damped: false, steady: true, period },
    { trend: true, damped: false, period },
    { trend: true, damped: true, period },
  ])
  const fits: EtsFit[] = []
  let undamped: EtsFit | null = null
  for (const form of forms) {
    const fit = fitForm(values, form, form.damped ? undamped : null)
    if (form.trend && !form.damped && !form.steady) undamped = fit
    if (fit) fits.push(fit)
  }
  return fits
}

/** Returns the fit with the lowest AICc. */
export function likeliest(fits: readonly EtsFit[]): EtsFit | null {
  return fits.reduce<EtsFit | null>((best, fit) => (best && best.aicc <= fit.aicc ? best : fit), null)
}

export function formName({ trend, damped, steady, period }: EtsForm): string {
  const name = `ETS(A,${trend ? (damped ? 'Ad' : 'A') : 'N'},${period > 1 ? 'A' : 'N'})`
  return steady ? `${name} with a steady slope` : name
}

/**
 * Fits one form by maximum likelihood. The search for the damped trend also starts at the undamped fit, if given. From
 * a distant start it stops at a worse optimum (on R's co2 by 70 in n ln SSE).
 */
export function fitForm(
  values: readonly number[],
  form: EtsForm,
  undamped: EtsFit | null = null,
): EtsFit | null {
  const smoothing = 1 + (moves(form) ? 1 : 0) + (form.damped ? 1 : 0) + (form.period > 1 ? 1 : 0)
  const states = 1 + (form.trend ? 1 : 0) + (form.period > 1 ? form.period - 1 : 0)
  const count = smoothing + states + 1
  const n = values.length
  if (n <= count + 1) return null
  const size = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  // Errors this small are rounding, so the search stops there.
  const least = n * (1e-8 * size) ** 2 + Number.MIN_VALUE
  const answers = new EtsAnswers(values, form)
  const cost = (point: readonly number[]) =>
    Math.log(squaresOf(values, form, parametersAt(point, form), answers) + least)
  const starts = (form.steady ? [-1] : [0, -2]).map((first) => [
    first,
    ...(moves(form) ? [-2] : []),
    ...(form.period > 1 ? [-2] : []),
    ...(form.damped ? [1] : []),
  ])
  if (undamped) starts.push(pointAt(undamped.parameters, form))
  const found = starts
    .map((start) => nelderMead(cost, start, 1))
    .reduce((best, one) => (one.value < best.value ? one : best))
  const parameters = parametersAt(found.point, form)
  const { initial, squares } = solveInitial(values, form, parameters)
  const { errors, final } = etsFilter(values, form, parameters, initial)
  return {
    form,
    parameters,
    initial,
    final,
    errors,
    variance: squares / (n - count + 1),
    aicc: n * Math.log(squares + least) + 2 * count + (2 * count * (count + 1)) / (n - count - 1),
  }
}

/** Tells whether the slope is smoothed. */
const moves = ({ trend, steady }: EtsForm): boolean => trend && !steady

/** Returns the point at which `parametersAt` gives these parameters, with a trend that is hardly damped. */
function pointAt({ alpha, beta, gamma }: EtsParameters, form: EtsForm): number[] {
  const back = (share: number) => Math.log(clamp(share) / (1 - clamp(share)))
  const clamp = (share: number) => Math.min(1 - 1e-4, Math.max(1e-4, share))
  return [
    back(alpha),
    ...(moves(form) ? [back(beta / alpha)] : []),
    ...(form.period > 1 ? [back(gamma / (1 - alpha))] : []),
    ...(form.damped ? [4] : []),
  ]
}

/**
 * Maps any point to parameters inside the usual bounds: 0 < beta < alpha < 1, 0 < gamma < 1 - alpha, 0.8 <= phi <=
 * 0.98.
 */
function parametersAt(point: readonly number[], form: EtsForm): EtsParameters {
  const share = (value: number) => 1 / (1 + Math.exp(-value))
  const within = (low: number, high: number, value: number) => low + (high - low) * share(value)
  let next = 0
  const alpha = within(1e-4, 0.9999, point[next++]!)
  const beta = moves(form) ? within(1e-4 * alpha, alpha, point[next++]!) : 0
  const gamma = form.period > 1 ? within(1e-4 * (1 - alpha), 1 - alpha, point[next++]!) : 0
  const phi = form.damped ? within(0.8, 0.98, point[next++]!) : 1
  return { alpha, beta, gamma, phi }
}

/**
 * Returns the sum of squared errors from the least-squares initial state. It uses normal equations, which are many
 * times faster than QR, and QR only if few digits would remain.
 */
function squaresOf(
  values: readonly number[],
  form: EtsForm,
  parameters: EtsParameters,
  answers: EtsAnswers,
): number {
  answers.sum(parameters)
  if (!answers.factor()) return solveInitial(values, form, parameters).squares
  let explained = 0
  for (const part of answers.forward(answers.moments)) explained += part * part
  const squares = answers.whole - explained
  return squares > 1e-6 * answers.whole ? squares : solveInitial(values, form, parameters).squares
}

/**
 * Returns the least-squares initial state. The errors are those of a zero state less a column for each part of the
 * state.
 */
function solveInitial(
  values: readonly number[],
  form: EtsForm,
  parameters: EtsParameters,
): { initial: EtsState; squares: number } {
  const { period } = form
  const zeros = values.map(() => 0)
  // The errors from a unit state are minus its column if the values are zero.
  const columns = unitStates(form).map((state) =>
    etsFilter(zeros, form, parameters, state).errors.map((error) => -error),
  )
  const target = etsFilter(values, form, parameters, noState(form)).errors
  const { solution, squares } = project(columns, target)
  const [level = 0, ...rest] = solution
  const slope = form.trend ? rest.shift()! : 0
  const seasons = period > 1 ? [...rest, -rest.reduce((sum, value) => sum + value, 0)] : []
  return { initial: { level, slope, seasons }, squares }
}

/**
 * Returns a unit state for each free part: level, slope, and all seasonal terms but the last, which makes them add up
 * to zero.
 */
function unitStates(form: EtsForm): EtsState[] {
  const units = [{ ...noState(form), level: 1 }]
  if (form.trend) units.push({ ...noState(form), slope: 1 })
  for (let place = 0; place < form.period - 1; place++) {
    const unit = noState(form)
    unit.seasons[place] = 1
    unit.seasons[form.period - 1] = -1
    units.push(unit)
  }
  return units
}

/** Solves least squares by Householder reflections in place. A column that depends on those before it gets 0. */
function project(columns: Float64Array[], target: Float64Array): { solution: number[]; squares: number } {
  const pivots: (number | null)[] = []
  let row = 0
  for (const [k, column] of columns.entries()) {
    let whole = 0
    let norm = 0
    for (let index = 0; index < column.length; index++) {
      whole += column[index]! ** 2
      if (index >= row) norm += column[index]! ** 2
    }
    if (!(norm > 1e-20 * whole) || row >= target.length) {
      pivots.push(null)
      continue
    }
    const alpha = column[row]! > 0 ? -Math.sqrt(norm) : Math.sqrt(norm)
    const vector = column.slice(row)
    vector[0]! -= alpha
    // The formula is |vector|^2 = 2 norm - 2 alpha column[row].
    const beta = 1 / (norm - alpha * column[row]!)
    for (const other of [...columns.slice(k), target]) {
      let dot = 0
      for (let index = 0; index < vector.length; index++) dot += vector[index]! * other[row + index]!
      for (let index = 0; index < vector.length; index++) other[row + index]! -= beta * dot * vector[index]!
    }
    pivots.push(row++)
  }
  const solution = columns.map(() => 0)
  for (let k = columns.length - 1; k >= 0; k--) {
    const pivot = pivots[k]
    if (pivot === null || pivot === undefined) continue
    let sum = target[pivot]!
    for (let other = k + 1; other < columns.length; other++) sum -= columns[other]![pivot]! * solution[other]!
    solution[k] = sum / columns[k]![pivot]!
  }
  let squares = 0
  for (let index = row; index < target.length; index++) squares += target[index]! ** 2
  return { solution, squares }
}
