/**
 * Whether the season itself wanders: each weekday goes its own way, alike from one week to the next and not from one day to the next
 * (a seasonal random walk). Errors of one persistence miss that, so what a line or a step seems to tell of such a series must show in
 * the means of its whole cycles, too.
 */
import { residualsOf } from './residuals.ts'

/** Standard errors of an autocorrelation. */
const CLEARLY = 3
const LEAST_CYCLES = 3

/** The steps of the season that wanders beside `columns` (the constant among them); null where none does. */
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
    // Residuals beside so many columns are less alike than what they come from.
    if (alike / whole + columns.length / values.length > CLEARLY / Math.sqrt(values.length)) return steps
  }
  return null
}

/** The means of whole cycles, counted from the first row, and how many rows came before each ends. */
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
