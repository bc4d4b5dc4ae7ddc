/**
 * Tests whether a series rises or falls, by its line beside its seasons, under errors that may be as persistent as a
 * random walk.
 */
import { evenWeights } from './even-weights.ts'
import { centred } from './persistence/centre.ts'
import { lasts } from './persistence/lasting.ts'
import { normalScores } from './persistence/normal-scores.ts'
import { type PersistentFit, persistentRegression } from './persistence/persistent-regression.ts'
import { lineColumn, seasonColumns } from './seasons.ts'

const ALPHA = 0.05

/**
 * Returns the line of the values over their rows, or null if nothing varies. If the errors are no random walk, the
 * larger p of the values and of their normal scores holds. A significant line must also hold with each value weighted
 * by the spread around it, because a spread that jumps near an end looks like a line. Unless `beneath` is false, it
 * must also hold beside a slow walk beneath noise. The interval of a line that is not significant contains 0.
 */
export function judgeLine(
  given: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
  { beneath = true }: { beneath?: boolean } = {},
): PersistentFit | null {
  if (given.every((value) => value === given[0])) return null
  const values = centred(given)
  const line = [lineColumn(rows)]
  const base = [values.map(() => 1), ...seasons.flatMap(({ period }) => seasonColumns(rows, period))]
  const plain = persistentRegression(values, base, line)
  if (!plain || plain.walk) return plain
  const scored = persistentRegression(normalScores(values), base, line)
  let p = Math.max(plain.p, scored?.p ?? 1)
  if (p < ALPHA) p = Math.max(p, evenly(values, base, line)?.p ?? 1)
  if (p < ALPHA && beneath && lasts(values, [...base, ...line])) p = Math.max(p, plain.p_walk)
  if (p < ALPHA) return { ...plain, p }
  return { ...plain, p, low: Math.min(plain.low, 0), high: Math.max(plain.high, 0) }
}

function evenly(values: readonly number[], base: readonly number[][], line: readonly number[][]) {
  const weights = evenWeights(values, [...base.slice(1), ...line], 0)
  const weighed = (column: readonly number[]): number[] => column.map((value, row) => value * weights[row]!)
  return persistentRegression(weighed(values), base.map(weighed), line.map(weighed))
}
