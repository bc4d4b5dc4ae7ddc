/** Whether rows come as events do, their number by chance, or lie on a grid, one for each day, say, of which some are missing. */
import { chiSquareLower } from '../../numeric/distributions.ts'
import { exactSum } from '../../numeric/sum.ts'
import type { Compared } from './leaf-noise.ts'

/** Events are taken for a grid once in so many times. */
const RARELY = 0.001

/**
 * The variance of the number of rows of a leaf over the number: 1 of events, far less of a grid with gaps. From the dispersion of pairs of
 * counts (Fisher's index over both sides), which is chi-square for events: less than 1 only where events make that once in 1,000 times.
 * `pairs`: both sides now, and of earlier changes, latest first; those that share a period with the one before are left out. Rows of 1 each are
 * counts, and no values on a grid.
 */
export function spreadOfRows(pairs: readonly Pick<Compared, 'before' | 'after'>[]): number {
  const ones = pairs.every(({ before, after }) =>
    [before, after].every(({ rows, top }) => top.every((value, leaf) => value === rows[leaf])),
  )
  if (ones) return 1
  let [sum, df] = [0, 0]
  for (const { before, after } of pairs.filter((_, index) => index % 2 === 0)) {
    const factor = exactSum([...after.rows]) / exactSum([...before.rows])
    if (!(factor > 0) || !Number.isFinite(factor)) continue
    const squares = Array.from(before.rows, (was, leaf): number => {
      const noise = after.rows[leaf]! + factor * factor * was
      return noise > 0 ? (after.rows[leaf]! - factor * was) ** 2 / noise : Number.NaN
    }).filter(Number.isFinite)
    sum += exactSum(squares)
    df += Math.max(0, squares.length - 1)
  }
  return df > 0 && chiSquareLower(sum, df) < RARELY ? sum / df : 1
}
