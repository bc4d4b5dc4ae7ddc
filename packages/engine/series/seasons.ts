/**
 * Finds the seasons of a series. A season is a set of harmonics of its period. It is tested beside a line and the
 * seasons found before it. If the rows hold fewer than four whole cycles, it is also tested beside the strongest change
 * of level, because a step and a slow wave then look alike. The errors may be as persistent as a random walk
 * (persistent-regression.ts). Two whole cycles are needed.
 */
import { strongestShift } from './level-shift.ts'
import { persistentTest } from './persistence/persistent-regression.ts'
import { dot, residualsOf } from './persistence/residuals.ts'

export interface Season {
  /** The period in steps. The calendar's year is not whole (365.25 days, 52.18 weeks). */
  period: number
  p: number
  /** The share of the variance beside line and level that the season explains, 0 to 1. */
  strength: number
}

/** Returns the harmonics of a season: all of a short one, three of a long one. */
function harmonicsOf(period: number): number {
  return period <= 12 ? Math.floor(period / 2) : 3
}

const CYCLES_BESIDE_SHIFT = 4
/** The stated level of the test. By measurement, 3.5 % stated gives 5 % in short series (docs/calibration.md). */
const ALPHA = 0.035

/** A cache by rows and period, because tests, levels and diagnosis of one series need the same columns. */
const made = new WeakMap<readonly number[], Map<number, number[][]>>()

/** Returns columns of cosines and sines. `rows` are the steps at which there are values. */
export function seasonColumns(rows: readonly number[], period: number): readonly number[][] {
  const known = made.get(rows) ?? new Map<number, number[][]>()
  made.set(rows, known)
  const columns = known.get(period) ?? waves(rows, period)
  known.set(period, columns)
  return columns
}

function waves(rows: readonly number[], period: number): number[][] {
  const columns: number[][] = []
  for (let harmonic = 1; harmonic <= harmonicsOf(period); harmonic++) {
    const angle = (2 * Math.PI * harmonic) / period
    columns.push(rows.map((row) => Math.cos(angle * row)))
    if (2 * harmonic < period) columns.push(rows.map((row) => Math.sin(angle * row)))
  }
  return columns
}

/** Returns a column that rises from -0.5 to 0.5. */
export function lineColumn(rows: readonly number[]): number[] {
  const first = rows[0]!
  const length = rows.at(-1)! - first || 1
  return rows.map((row) => (row - first) / length - 0.5)
}

/**
 * Returns the candidates that the values show, with a chance of about 5 % of any false one. `rows` are the steps of the
 * values, ascending.
 */
export function findSeasons(
  values: readonly number[],
  rows: readonly number[],
  candidates: readonly number[],
): Season[] {
  const length = rows.at(-1)! - rows[0]! + 1
  const possible = candidates.filter(
    (period) =>
      period >= 2 && length >= 2 * Math.floor(period) && values.length >= 2 * harmonicsOf(period) + 8,
  )
  const found: Season[] = []
  for (const period of possible) {
    const others = possible.filter((other) => other !== period && length >= 2 * other)
    const season = testSeason(values, rows, period, others)
    if (season && season.p * possible.length <= ALPHA) found.push(season)
  }
  return found
}

/** The fewest cycles of a season whose wave a forecast may follow. */
const BEGUN = 1.5

/**
 * Returns the candidates with at least one and a half cycles, but fewer than the two that a season needs, whose wave
 * the values show and which cannot be a random walk. A forecast follows such a wave. `found` are the seasons that were
 * found.
 */
export function begunSeasons(
  values: readonly number[],
  rows: readonly number[],
  candidates: readonly number[],
  found: readonly { period: number }[],
): number[] {
  const length = rows.at(-1)! - rows[0]! + 1
  const possible = candidates.filter(
    (period) => length >= BEGUN * Math.floor(period) && length < 2 * Math.floor(period),
  )
  const base = [
    values.map(() => 1),
    lineColumn(rows),
    ...found.flatMap(({ period }) => seasonColumns(rows, period)),
  ]
  if (possible.length === 0 || values.length < base.length + 2 + 8) return []
  const shift = strongestShift(values, base.slice(1))
  const bases = shift ? [base, [...base, stepColumn(values.length, shift.index)]] : [base]
  return possible.filter((period) => {
    const wave = seasonColumns(rows, period).slice(0, 2)
    return bases.every((one) => {
      const fit = persistentTest(values, one, wave)
      return fit !== null && !fit.walk && fit.p * possible.length <= ALPHA
    })
  })
}

/** Tests the season of one period beside those of `others`. */
export function testSeason(
  values: readonly number[],
  rows: readonly number[],
  period: number,
  others: readonly number[] = [],
): Season | null {
  const constant = values.map(() => 1)
  const line = lineColumn(rows)
  const season = seasonColumns(rows, period)
  const rest = others.flatMap((other) => seasonColumns(rows, other))
  const base = [constant, line, ...(values.length > 2 * (rest.length + season.length) + 8 ? rest : [])]
  const fit = persistentTest(values, base, season)
  if (!fit) return null
  const cycles = (rows.at(-1)! - rows[0]! + 1) / period
  const shift = cycles < CYCLES_BESIDE_SHIFT ? strongestShift(values, [line]) : null
  const beside = shift && persistentTest(values, [...base, stepColumn(values.length, shift.index)], season)
  return { period, p: Math.max(fit.p, beside?.p ?? 0), strength: strengthOf(values, base, season) }
}

function stepColumn(length: number, index: number): number[] {
  return Array.from({ length }, (_, row) => (row < index ? 0 : 1))
}

/** Returns the season's share of the variance that the base leaves, by ordinary least squares. */
function strengthOf(
  values: readonly number[],
  base: readonly (readonly number[])[],
  season: readonly (readonly number[])[],
): number {
  const { beside, left } = residualsOf(values, base, season)
  const before = dot(beside, beside)
  return before > 0 ? Math.min(1, Math.max(0, 1 - dot(left, left) / before)) : 0
}
