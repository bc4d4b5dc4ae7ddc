/**
 * Tests whether a series rises or falls, by its line beside its seasons, under errors that may be as persistent as a
 * random walk.
 */
import { evenWeights } from './even-weights.ts'
import { centred } from './persistence/centre.ts'
import { lasts } from './persistence/lasting.ts'
import { aboveWalk, besideLevel } from './persistence/level-beneath-noise.ts'
import { normalScores } from './persistence/normal-scores.ts'
import {
  type PersistentFit,
  persistentRegression,
  persistentTest,
} from './persistence/persistent-regression.ts'
import { cycleMeans, wanderingSeason } from './persistence/seasonal-drift.ts'
import { slopeChance } from './persistence/wandering-slope.ts'
import { lineColumn, seasonColumns } from './seasons.ts'

const ALPHA = 0.05
/** The fewest cycles that show a line of their own. */
const LEAST_CYCLES = 4

/**
 * Returns the line of the values over their rows, or null if nothing varies. If the errors are no random walk, the
 * larger p of the values and of their normal scores holds. A significant line must also hold with each value weighted
 * by the spread around it, because a spread that jumps near an end looks like a line. Unless `beneath` is false, it
 * must also hold beside a slow walk beneath noise. If the errors are not a walk without noise, it may hold beside the
 * slow walk alone. If the slope or the season itself may wander, the line must exceed what that explains. The interval
 * of a line that is not significant contains 0.
 */
export function judgeLine(
  given: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
  { beneath = true }: { beneath?: boolean } = {},
): PersistentFit | null {
  if (given.every((value) => value === given[0])) return null
  const values = centred(given)
  const line = lineColumn(rows)
  const waves = seasons.flatMap(({ period }) => seasonColumns(rows, period))
  const base = [values.map(() => 1), ...waves]
  const plain = persistentRegression(values, base, [line])
  if (!plain) return plain
  const steady = (): boolean => wanderingSeason(values, rows, seasons, [...base, line]) === null
  if (plain.walk) {
    const fit = beneath && steady() ? (aboveWalk(values, waves, line, plain) ?? plain) : plain
    return fit.p < ALPHA ? unclaimedAbove(fit, slopeChance(given, waves, line)) : fit
  }
  const scored = persistentTest(normalScores(values), base, [line])
  let p = Math.max(plain.p, scored?.p ?? 1)
  if (p < ALPHA) p = Math.max(p, evenly(values, base, [line])?.p ?? 1)
  let fit = plain
  if (p < ALPHA && beneath && lasts(values, [...base, line], slowOf(rows, seasons))) {
    fit = (steady() ? besideLevel(values, waves, line, plain) : null) ?? { ...plain, p: plain.p_walk }
    p = Math.max(p, fit.p)
  }
  if (p < ALPHA) p = Math.max(p, byCycles(values, rows, seasons, [...base, line]))
  return unclaimedAbove(fit, p)
}

/** Returns the fit with the larger p. The interval of a line that is not reported contains 0. */
function unclaimedAbove(fit: PersistentFit, other: number): PersistentFit {
  const p = Math.max(fit.p, other)
  if (p < ALPHA) return { ...fit, p }
  return { ...fit, p, low: Math.min(fit.low, 0), high: Math.max(fit.high, 0) }
}

/** Returns the chance of the line by the means of whole cycles if the season itself wanders, else 0. */
function byCycles(
  values: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
  columns: readonly (readonly number[])[],
): number {
  const steps = wanderingSeason(values, rows, seasons, columns)
  if (steps === null) return 0
  const { means } = cycleMeans(values, rows, steps)
  const cycles = means.map((_, cycle) => cycle)
  if (means.length < LEAST_CYCLES) return 1
  return judgeLine(means, cycles, [], { beneath: false })?.p ?? 1
}

/** Returns how many of constant, line and waves hardly move over so many values. */
const slowOf =
  (rows: readonly number[], seasons: readonly { period: number }[]) =>
  (length: number): number =>
    seasons
      .filter(({ period }) => period > length)
      .reduce((sum, { period }) => sum + seasonColumns(rows, period).length, 2)

function evenly(values: readonly number[], base: readonly number[][], line: readonly number[][]) {
  const weights = evenWeights(values, [...base.slice(1), ...line], 0)
  const weighed = (column: readonly number[]): number[] => column.map((value, row) => value * weights[row]!)
  return persistentTest(weighed(values), base.map(weighed), line.map(weighed))
}
