/**
 * Tells whether the season itself wanders (a seasonal random walk): each weekday drifts by itself, alike from one week
 * to the next and not from one day to the next. Errors of one persistence miss that. So a line or a step of such a
 * series must also show in the means of its whole cycles.
 */
import { residualsOf } from './residuals.ts'

/** The number of standard errors of an autocorrelation that is clear. */
const CLEARLY = 3
const LEAST_CYCLES = 3

/** Returns the steps of the season that wanders beside `columns` (which include the constant), or null if none does. */
export function wanderingSeason(
  values: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
  columns: readonly (readonly number[])[],
): number | null {
  if (seasons.length === 0) return null
  const { left } = residualsOf(values, [], columns)
  const at = new Map(rows.map((row, place) => [row, place]))
  let whole = 0
  for (const one of left) whole += one * one
  if (!(whole > 0)) return null
  for (const { period } of seasons) {
    const steps = Math.round(period)
    if (values.length < LEAST_CYCLES * steps) continue
    let alike = 0
    for (const [place, row] of rows.entries()) {
      const before = at.get(row - steps)
      if (before !== undefined) alike += left[place]! * left[before]!
    }
    // The columns take up a part of the residuals, which are then less alike than the errors.
    if (alike / whole + columns.length / values.length > CLEARLY / Math.sqrt(values.length)) return steps
  }
  return null
}

/** Returns the means of whole cycles, counted from the first row, and the number of rows before the end of each. */
export function cycleMeans(
  values: readonly number[],
  rows: readonly number[],
  steps: number,
): { means: number[]; ends: number[] } {
  const means: number[] = []
  const ends: number[] = []
  const first = rows[0]!
  let [sum, n, cycle] = [0, 0, 0]
  const close = (end: number): void => {
    if (n > 0) {
      means.push(sum / n)
      ends.push(end)
    }
    ;[sum, n] = [0, 0]
  }
  for (const [place, row] of rows.entries()) {
    const own = Math.floor((row - first) / steps)
    if (own !== cycle) close(place)
    cycle = own
    sum += values[place]!
    n += 1
  }
  if ((rows.at(-1)! - first + 1) % steps === 0) close(values.length)
  return { means, ends }
}
