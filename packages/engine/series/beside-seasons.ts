/** Removes the seasons from the values of a series, so that levels can be described without them. */
import { persistentFits } from './persistence/persistent-fits.ts'
import { lineColumn, seasonColumns } from './seasons.ts'

/**
 * Returns the values without their seasons, or as they are if there is no season. `changes` are the numbers of rows
 * before each change of level.
 */
export function besideSeasons(
  values: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
  changes: readonly number[],
): readonly number[] {
  const waves = seasons.flatMap(({ period }) => seasonColumns(rows, period))
  if (waves.length === 0) return values
  const steps = changes.map((index) => values.map((_, row) => (row < index ? 0 : 1)))
  const base = [values.map(() => 1), lineColumn(rows), ...steps]
  const fits = persistentFits(values, [...base, ...waves])
  if (fits.length === 0) return values
  const { coefficients } = fits.reduce((best, fit) => (fit.weight > best.weight ? fit : best))
  return values.map((value, row) =>
    waves.reduce((rest, wave, place) => rest - wave[row]! * coefficients[base.length + place]!, value),
  )
}
