/** Exponential smoothing (numeric/ets.ts) and the theta forecast as models whose parameters stay while the values go on. */
import { studentUpperQuantile } from '../numeric/distributions.ts'
import { type EtsFit, etsFilter, etsForecast, fitEts, fitForm, formName } from '../numeric/ets.ts'
import { type Ahead, around } from './prediction.ts'

/** The latest values that are smoothed. */
const MOST = 500
const LEAST = 16

export interface Smoothing {
  name: string
  fit: EtsFit | null
  ahead(values: readonly number[], horizon: number): Ahead[]
}

/** `period` 1: no season. Null where there are too few values. `values` given to `ahead` begin as these do. */
export function smoothing(values: readonly number[], period: number): Smoothing | null {
  const from = Math.max(0, values.length - Math.max(MOST, 4 * period))
  const known = values.slice(from)
  if (known.length < Math.max(LEAST, 2 * period + 4)) return null
  const fit = fitEts(known, period)
  if (!fit) return null
  const { form, parameters, initial } = fit
  const free = 2 + (form.trend ? 2 : 0) + (form.damped ? 1 : 0) + (form.period > 1 ? form.period : 0)
  const df = Math.max(1, known.length - free)
  const z80 = studentUpperQuantile(0.1, df)
  const z95 = studentUpperQuantile(0.025, df)
  return {
    name: formName(form),
    fit,
    ahead(longer, horizon) {
      const { final } = etsFilter(longer.slice(from), form, parameters, initial)
      return etsForecast(fit, final, horizon).map(({ mean, variance }) =>
        around(mean, Math.sqrt(variance), z80, z95),
      )
    },
  }
}

/**
 * The theta forecast (Assimakopoulos and Nikolopoulos, Int. J. Forecasting 16, 2000) in the form of Hyndman and Billah (19,
 * 2003): simple exponential smoothing with a drift of half the slope of the least-squares line. For values without seasons.
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
