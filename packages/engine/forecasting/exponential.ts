/**
 * Makes exponential smoothing (numeric/smoothing/ets.ts) and the theta forecast as models whose parameters stay fixed
 * when values are added.
 */
import { studentUpperQuantile } from '../numeric/distributions.ts'
import { type EtsFit, fitForm, fitForms, formName, likeliest } from '../numeric/smoothing/ets.ts'
import { EtsAnswers } from '../numeric/smoothing/ets-answers.ts'
import { type EtsForm, type EtsParameters, etsFilter } from '../numeric/smoothing/ets-model.ts'
import { etsPrediction } from '../numeric/smoothing/ets-prediction.ts'
import { aheadOfMixture } from './mixture.ts'
import { type Ahead, around } from './prediction.ts'

/** The number of latest values that are smoothed. */
const MOST = 500
const LEAST = 16
/**
 * The number of level constants that are tried on each side of the likeliest, and their least distance from 0 and 1.
 */
const REACH = 3
const LEAST_CONSTANT = 1e-4
/** The log of a weight, relative to the largest, below which it is neglected. */
const NEGLIGIBLE = Math.log(1e-2)

export interface Smoothing {
  name: string
  fit: EtsFit | null
  ahead(values: readonly number[], horizon: number): Ahead[]
}

/** One form with one level constant. */
interface Part {
  form: EtsForm
  parameters: EtsParameters
  /** The logarithm of the weight. */
  weight: number
}

/**
 * Averages over all forms, weighted by AICc (Kolassa, Int. J. Forecasting 27, 2011), and over level constants about the
 * likeliest, weighted by their restricted likelihood, so that neither the form nor the constant is taken as known.
 * `period` 1 means no season. Returns null if there are too few values. The `values` given to `ahead` must begin with
 * these values.
 */
export function smoothing(values: readonly number[], period: number): Smoothing | null {
  const from = Math.max(0, values.length - Math.max(MOST, 4 * period))
  const known = values.slice(from)
  if (known.length < Math.max(LEAST, 2 * period + 4)) return null
  const fits = fitForms(known, period)
  const best = likeliest(fits)
  if (!best) return null
  const parts = weighed(fits.flatMap((fit) => partsOf(known, fit)))
  return {
    name: `exponential smoothing (likeliest ${formName(best.form)})`,
    fit: best,
    ahead(longer, horizon) {
      const shown = longer.slice(from)
      const answers = new Map(fits.map(({ form }) => [form, new EtsAnswers(shown, form)]))
      const found = parts.flatMap(({ form, parameters, weight }) => {
        const one = etsPrediction(shown, form, parameters, horizon, answers.get(form))
        return one ? [{ ...one, weight }] : []
      })
      const steps = Array.from({ length: horizon }, (_, step) => ({
        middles: found.map(({ middles }) => middles[step]!),
        scales: found.map(({ scales }) => scales[step]!),
      }))
      return aheadOfMixture(
        steps,
        found.map(({ weight }) => weight),
        found.map(({ df }) => df),
      )
    },
  }
}

/**
 * Returns level constants around the likeliest in steps of 1 / sqrt(n), which is the largest possible standard error.
 * All are equally likely before the values are seen.
 */
function partsOf(values: readonly number[], { form, parameters, aicc }: EtsFit): Part[] {
  const { alpha, beta, gamma } = parameters
  const step = 1 / Math.sqrt(values.length)
  const found: Part[] = []
  const answers = new EtsAnswers(values, form)
  for (let place = -REACH; place <= REACH; place++) {
    const other = alpha + place * step
    if (other < LEAST_CONSTANT || other > 1 - LEAST_CONSTANT) continue
    const share = { alpha: other, beta: (beta / alpha) * other, gamma: (gamma / (1 - alpha)) * (1 - other) }
    const one = etsPrediction(values, form, { ...parameters, ...share }, 1, answers)
    if (one) found.push({ form, parameters: { ...parameters, ...share }, weight: one.restricted })
  }
  const most = Math.max(...found.map(({ weight }) => weight))
  const whole = Math.log(found.reduce((sum, { weight }) => sum + Math.exp(weight - most), 0)) + most
  return found.map((part) => ({ ...part, weight: part.weight - whole - aicc / 2 }))
}

/** Returns weights from their logarithms, without parts that hardly count. */
function weighed(parts: readonly Part[]): Part[] {
  const most = Math.max(...parts.map(({ weight }) => weight))
  const kept = parts.filter(({ weight }) => weight > most + NEGLIGIBLE)
  const whole = kept.reduce((sum, { weight }) => sum + Math.exp(weight - most), 0)
  return kept.map((part) => ({ ...part, weight: Math.exp(part.weight - most) / whole }))
}

/**
 * Makes the theta forecast (Assimakopoulos and Nikolopoulos, Int. J. Forecasting 16, 2000) in the form of Hyndman and
 * Billah (19, 2003): simple exponential smoothing with a drift of half the slope of the least-squares line. It is for
 * values without seasons.
 */
export function theta(values: readonly number[]): Smoothing | null {
  if (values.length < LEAST) return null
  const known = values.slice(-MOST)
  const fit = fitForm(known, { trend: false, damped: false, period: 1 })
  if (!fit) return null
  const alpha = fit.parameters.alpha
  return {
    name: 'theta',
    fit: null,
    ahead(longer, horizon) {
      const shown = longer.slice(-known.length)
      const n = shown.length
      const { errors, final } = etsFilter(shown, fit.form, fit.parameters, fit.initial)
      const drift = 0.5 * slopeOf(shown)
      const scale = Math.sqrt(errors.reduce((sum, error) => sum + error * error, 0) / (n - 3))
      const behind = (1 - (1 - alpha) ** n) / alpha - 1
      const z80 = studentUpperQuantile(0.1, n - 3)
      const z95 = studentUpperQuantile(0.025, n - 3)
      return Array.from({ length: horizon }, (_, step) =>
        around(
          final.level + drift * (step + 1 + behind),
          scale * Math.sqrt(1 + step * alpha * alpha),
          z80,
          z95,
        ),
      )
    },
  }
}

function slopeOf(values: readonly number[]): number {
  const n = values.length
  const middle = (n - 1) / 2
  let products = 0
  for (const [row, value] of values.entries()) products += (row - middle) * value
  return products / ((n * (n * n - 1)) / 12)
}
