/**
 * Finds every change of level in a series by binary segmentation (Vostrikova 1981) with a test in place of a penalty.
 * The strongest change is accepted if it exceeds its noise (level-shift.ts). Then each side is searched in the same
 * way. Several changes can hide each other, because together they look like a random walk. So if the whole shows none,
 * overlapping parts of a half and a quarter of it are searched (seeded segmentation, Kovacs, Buhlmann, Li and Munk,
 * Biometrika 110, 2023), with p corrected for their number.
 */
import { type BegunShift, beginShift } from './level-shift.ts'
import { type Curve, stepsOrCurve } from './levels/steps-or-curve.ts'
import { judgeLine } from './line.ts'
import { dot, residualsOf } from './persistence/residuals.ts'
import { cycleMeans, wanderingSeason } from './persistence/seasonal-drift.ts'
import { lineColumn, seasonColumns } from './seasons.ts'
import { endsOf, findStretches, longestLevel, longestStretch, type Stretch } from './spikes/stretches.ts'
import { medianOf } from './spikes/tails.ts'

const ALPHA = 0.05
/** The chance of a false change over all parts together. */
const ALPHA_OF_PARTS = 0.01
/** The fewest rows of a part that can show a change among several. */
const LEAST_PART = 20
/** A share of the variance below this is rounding. */
const ROUNDING = 1e-6
/** The most changes that are searched. */
const MOST = 50

/** The distance from an end of a returning level within which a change is that end. */
const NEAR_END = 2

/** The number of values for each change of level that a model may have. */
const VALUES_A_LEVEL = 20

/** Returns the most changes of level that a model of `n` values may have. */
export const mostLevels = (n: number): number => Math.floor(n / VALUES_A_LEVEL)

export interface LevelChange {
  /** The number of rows before the change. */
  index: number
  /** The p, corrected for the search. */
  p: number
  /** The curve beside which the level changes. */
  curve: Curve
}

type Found = Pick<LevelChange, 'index' | 'p'>

/** Begins the search for the strongest change between two rows. `whole` allows for a line. */
type Begin = (from: number, to: number, whole: boolean) => BegunShift | null

export interface Levels {
  /** The changes, ascending. */
  changes: LevelChange[]
  /** The stretches: levels that return too soon to last, ascending. */
  stretches: Stretch[]
}

/** Returns the changes, ascending. */
export const levelChanges = (
  values: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
): LevelChange[] => levelsOf(values, rows, seasons).changes

export function levelsOf(
  values: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
): Levels {
  const found: Found[] = []
  const beside = seasons.flatMap(({ period }) => seasonColumns(rows, period))
  if (beside.length > 0 && isRounding(values, beside)) return { changes: [], stretches: [] }
  // A step explains less of a slow walk than a line does, so the model keeps the line beside the step.
  const rises = (judgeLine(values, rows, seasons, { beneath: false })?.p ?? 1) < ALPHA
  const begin: Begin = (from, to, whole) => {
    const columns = beside.map((column) => column.slice(from, to))
    if (whole && rises) columns.push(lineColumn(rows))
    const part = values.slice(from, to)
    if (part.every((value) => value === part[0])) return null
    return beginShift(part, columns)
  }
  const search = (from: number, to: number, whole: boolean): void => {
    if (found.length >= MOST) return
    const best = changeFrom(from, begin(from, to, whole), ALPHA) ?? inParts(values, from, to, begin)
    if (!best) return
    found.push(best)
    search(from, best.index, false)
    search(best.index, to, false)
  }
  search(0, values.length, true)
  const { changes, stretches } = withLevelsThatReturn(found, values, rows, beside)
  if (changes.length === 0) return { changes: [], stretches }
  const { steps, ...curve } = stepsOrCurve(values, rows, beside, changes)
  if (steps.length === 0) return { changes: [], stretches }
  const told = steps.map((one) => ({ ...one, curve }))
  return { changes: besideDrift(told, values, rows, seasons, beside), stretches }
}

/**
 * Finds the changes of levels that leave and return. Such a level hides both its changes: beside one of them alone the
 * other looks like a wandering series. So pairs are tested together (circular segmentation, Olshen, Venkatraman, Lucito
 * and Wigler, Biostatistics 5, 2004). Returns all changes, ascending, and the levels that return too soon.
 */
function withLevelsThatReturn(
  known: readonly Found[],
  values: readonly number[],
  rows: readonly number[],
  waves: readonly (readonly number[])[],
): { changes: Found[]; stretches: Stretch[] } {
  const n = values.length
  const shortest = longestStretch(n)
  const all = findStretches(values, rows, waves, ALPHA_OF_PARTS, longestLevel(n))
  const levels = all.filter(({ from, to }) => to - from > shortest)
  const isNear = (one: number, other: number): boolean => Math.abs(one - other) <= NEAR_END
  const others = known.filter(
    ({ index }) => !levels.some(({ from, to }) => index >= from - NEAR_END && index <= to + NEAR_END),
  )
  const ends = levels.flatMap(({ from, to, p }) =>
    endsOf({ from, to }, n).map((index) => known.find((one) => isNear(one.index, index)) ?? { index, p }),
  )
  return {
    changes: [...others, ...ends].toSorted((a, b) => a.index - b.index),
    stretches: all.filter((one) => !levels.includes(one)),
  }
}

/** Returns the changes that the means of whole cycles also show, for a series whose season wanders. */
function besideDrift(
  changes: readonly LevelChange[],
  values: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
  waves: readonly (readonly number[])[],
): LevelChange[] {
  const steps = changes.map(({ index }) => values.map((_, row) => (row < index ? 0 : 1)))
  const columns = [values.map(() => 1), ...waves, ...steps]
  const cycle = wanderingSeason(values, rows, seasons, columns)
  if (cycle === null) return [...changes]
  const { means, ends } = cycleMeans(values, rows, cycle)
  const known = levelChanges(
    means,
    means.map((_, at) => at),
    [],
  ).map(({ index }) => ends[index - 1]!)
  return changes.filter(({ index }) => known.some((end) => Math.abs(end - index) <= cycle))
}

/** Tells whether the seasons leave hardly any variation. The rest is then rounding and a slightly wrong period. */
function isRounding(values: readonly number[], beside: readonly (readonly number[])[]): boolean {
  const before = residualsOf(values, [values.map(() => 1)], beside)
  return dot(before.left, before.left) < ROUNDING * dot(before.beside, before.beside)
}

/** Returns the change of a part that begins at `from` if its p is below `alpha`. */
function changeFrom(from: number, begun: BegunShift | null, alpha: number): Found | null {
  const shift = begun && begun.p < alpha ? begun.finish(alpha) : null
  return shift && shift.p < alpha ? { index: from + shift.index, p: shift.p } : null
}

/** Returns the strongest change of the overlapping parts if it is more than chance over all of them. */
function inParts(values: readonly number[], from: number, to: number, begin: Begin): Found | null {
  const length = to - from
  const parts = [2, 4].flatMap((share) => {
    const part = Math.floor(length / share)
    if (part < LEAST_PART) return []
    const count = 2 * share - 1
    return Array.from(
      { length: count },
      (_, nth) => from + Math.round((nth * (length - part)) / (count - 1)),
    ).map((start) => [start, start + part] as const)
  })
  const begun = parts.flatMap(([start, end]) => {
    const shift = mayStep(values.slice(start, end)) ? begin(start, end, false) : null
    return shift ? [{ start, shift }] : []
  })
  // A p only rises as it is finished, so the part with the smallest one comes first, and few others are finished.
  const best = begun
    .toSorted((one, other) => one.shift.p - other.shift.p)
    .reduce<Found | null>(
      (least, { start, shift }) =>
        changeFrom(start, shift, least?.p ?? ALPHA_OF_PARTS / parts.length) ?? least,
      null,
    )
  return best && { ...best, p: best.p * parts.length }
}

/**
 * Tells quickly whether some step may exist: it exceeds five standard errors of the noise that differences of
 * neighbours show.
 */
function mayStep(values: readonly number[]): boolean {
  const n = values.length
  const steps = values.slice(1).map((value, row) => Math.abs(value - values[row]!))
  const noise = medianOf(steps) / 0.954
  const sum = values.reduce((total, value) => total + value, 0)
  let before = 0
  for (let row = 1; row < n; row++) {
    before += values[row - 1]!
    const difference = Math.abs(before / row - (sum - before) / (n - row))
    if (difference * Math.sqrt((row * (n - row)) / n) > 5 * noise) return true
  }
  return false
}
