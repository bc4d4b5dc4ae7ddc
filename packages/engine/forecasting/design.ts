/**
 * Makes the columns that explain a series beside its constant and line: seasons of any period, changes of level, known
 * days.
 */
import { persistentFits } from '../series/persistence/persistent-fits.ts'

/** A column: returns its value at a step. */
export type Column = (row: number) => number

export interface Season {
  period: number
  columns: Column[]
}

/** The numbers of harmonics that are tried for a long season. A short one has all of its own. */
const TRIED = [1, 2, 3, 5, 8, 12]
const SHORT = 12
/** The number of values that each harmonic's two columns need. */
const VALUES_A_HARMONIC = 6

export function harmonics(period: number, many: number): Column[] {
  const columns: Column[] = []
  for (let harmonic = 1; harmonic <= Math.min(many, period / 2); harmonic++) {
    const angle = (2 * Math.PI * harmonic) / period
    columns.push((row) => Math.cos(angle * row))
    if (2 * harmonic < period) columns.push((row) => Math.sin(angle * row))
  }
  return columns
}

export function stepAt(first: number): Column {
  return (row) => (row < first ? 0 : 1)
}

export function at(columns: readonly Column[], rows: readonly number[]): number[][] {
  return columns.map((column) => rows.map(column))
}

/**
 * Returns the columns of the seasons. A long season gets as many harmonics as AICc chooses. `beside` are the other
 * columns of the design.
 */
export function seasonDesign(
  values: readonly number[],
  rows: readonly number[],
  periods: readonly number[],
  beside: readonly Column[],
): Season[] {
  const seasons: Season[] = []
  for (const period of periods.toSorted((a, b) => a - b)) {
    const most = Math.floor(values.length / VALUES_A_HARMONIC)
    const choices = period <= SHORT ? [Math.floor(period / 2)] : TRIED.filter((many) => 2 * many <= period)
    const possible = choices.filter((many, place) => place === 0 || many <= most)
    let best: { columns: Column[]; score: number } | null = null
    for (const many of possible) {
      const columns = harmonics(period, many)
      if (possible.length === 1) best = { columns, score: 0 }
      else {
        const known = at([...beside, ...seasons.flatMap((one) => one.columns), ...columns], rows)
        const count = known.length + 3
        const fits = persistentFits(values, [values.map(() => 1), ...known])
        const likelihood = Math.max(...fits.map((fit) => fit.likelihood))
        const score = likelihood - count - (count * (count + 1)) / Math.max(1, values.length - count - 1)
        if (best === null || score > best.score) best = { columns, score }
      }
    }
    if (best) seasons.push({ period, columns: best.columns })
  }
  return seasons
}
