/** Computes the values of leaves and their noise from the sums of their rows. */
import { beyondChance, type RateSides } from '../../causes/beyond-chance.ts'
import type { Leaves } from '../../causes/leaves.ts'
import { type Counts, countsOf, unitOf } from './counts.ts'
import type { Sums } from './leaf-rows.ts'
import type { Table } from './leaves.ts'
import type { Options } from './options.ts'

export interface Compared {
  before: Sums
  after: Sums
  noise?: Float64Array
}

/** Returns the values of both sides, per day if the periods differ in days, with the variances that the rows show. */
export function leavesOfSum(
  { codes, names }: Pick<Table, 'codes' | 'names'>,
  sums: Compared,
  options: Options,
  { days, counts, spread }: { days: [number, number]; counts: Counts | null; spread: number },
): Leaves {
  const sizes = names.map((list) => list.length)
  const { before, after, noise: known } = sums
  if (known)
    return { codes, sizes, before: before.top, after: after.top, variances: forecastVariances(known) }
  if (options.expected !== undefined)
    return { codes, sizes, before: before.bottom, after: before.top, variances: null }
  const noise = varianceOfSums(before, after, counts, spread)
  const over = (values: Float64Array, by: number): Float64Array => values.map((value) => value / by)
  return {
    codes,
    sizes,
    before: over(before.top, days[0]),
    after: over(after.top, days[1]),
    variances: noise && { before: over(noise.before, days[0] ** 2), after: over(noise.after, days[1] ** 2) },
  }
}

/** Returns variances around a forecast, whose errors include the noise of the values that come. */
const forecastVariances = (noise: Float64Array): NonNullable<Leaves['variances']> => ({
  before: new Float64Array(noise.length),
  after: noise,
})

/**
 * Returns the variance of a sum by its rows. If rows come as events, their number is random as well, and the variance
 * is the sum of squares (a compound Poisson sum). If both sides have the same rows, for example one for each day, it is
 * the variance of the values around their mean. If some of these rows are missing, their number adds its own variance
 * (`spread`, counts.ts). A single row shows nothing.
 */
function varianceOfSums(
  before: Sums,
  after: Sums,
  counts: Counts | null,
  spread: number,
): { before: Float64Array; after: Float64Array } | null {
  const n = before.rows.length
  let [single, alike, ratio] = [0, 0, 0]
  const most = { before: Math.max(...sample(before.rows)), after: Math.max(...sample(after.rows)) }
  ratio = most.before > 0 ? most.after / most.before : 1
  for (let leaf = 0; leaf < n; leaf++) {
    if (before.rows[leaf]! <= 1 && after.rows[leaf]! <= 1) single += 1
    if (Math.abs(after.rows[leaf]! - ratio * before.rows[leaf]!) < 0.5) alike += 1
  }
  const ones = most.before <= 1 && most.after <= 1
  if (ones && counts === null) return null
  if (single > 0.9 * n && counts === null) return null
  const grid = !ones && (alike > 0.9 * n || spread < 1)
  const missing = alike > 0.9 * n ? 0 : spread
  const of = ({ rows, top, top2 }: Sums): Float64Array =>
    top2.map((squares, leaf) => {
      const count = rows[leaf]!
      if (ones && counts) return counts.unit * top[leaf]! + (counts.beyond * top[leaf]!) ** 2
      if (!grid || count < 2) return squares
      const squaresOfMean = (top[leaf]! * top[leaf]!) / count
      return Math.max(0, ((squares - squaresOfMean) * count) / (count - 1)) + missing * squaresOfMean
    })
  return { before: of(before), after: of(after) }
}

function sample(values: Float64Array): Float64Array {
  const stride = Math.max(1, Math.floor(values.length / 5000))
  return values.filter((_, index) => index % stride === 0)
}

/** Tells whether sums are counts, from both sides and earlier changes. */
export function countsIn(pairs: readonly Compared[]): Counts | null {
  return countsOf(pairs.map(({ before, after }) => ({ before: before.top, after: after.top })))
}

/** The number of rows on one side that is enough to show their spread. */
const ROWS_TELL = 10

/** The leaves of a ratio in one change, with the noise of single events. */
interface RateLeaves extends RateSides {
  /** The leaves whose rows do not show what moves their rate beyond single events. */
  grouped: number[]
  /** The number of sides that show no noise at all. */
  untold: number
}

/**
 * Returns the numerators that the earlier rates give with the later denominators, and the numerators that came. The
 * variance of a ratio's numerator is that of top - rate * bottom over its rows.
 */
function rateLeavesOf({ before, after }: Compared): RateLeaves {
  const n = before.rows.length
  const [expected, came] = [new Float64Array(n), new Float64Array(n)]
  const [v0, v1] = [new Float64Array(n), new Float64Array(n)]
  const unit = unitOf([before.top, before.bottom, after.top, after.bottom])
  const grouped: number[] = []
  let untold = 0
  for (let leaf = 0; leaf < n; leaf++) {
    const [b0, b1] = [before.bottom[leaf]!, after.bottom[leaf]!]
    if (!(b0 > 0 && b1 > 0)) continue
    const rate = (before.top[leaf]! + after.top[leaf]!) / (b0 + b1)
    const variance = (side: Sums): number => {
      const rows = side.rows[leaf]!
      const spread = side.top2[leaf]! - 2 * rate * side.product[leaf]! + rate * rate * side.bottom2[leaf]!
      if (areEvents(side, leaf)) return spread
      // If each row stands for many units, a share has the noise of its units.
      const share =
        rate >= 0 && rate <= 1 ? rate * (1 - rate) * side.bottom[leaf]! : Math.abs(side.top[leaf]!)
      if (unit === null && rows < ROWS_TELL) untold += 0.5
      return Math.max((unit ?? 0) * share, rows >= ROWS_TELL ? spread : 0)
    }
    if ([before, after].some((side) => side.rows[leaf]! < ROWS_TELL && !areEvents(side, leaf)))
      grouped.push(leaf)
    expected[leaf] = (before.top[leaf]! / b0) * b1
    came[leaf] = after.top[leaf]!
    v0[leaf] = variance(before) * (b1 / b0) ** 2
    v1[leaf] = variance(after)
  }
  return { expected, came, v0, v1, grouped, untold }
}

/**
 * Returns the leaves of a ratio now and in earlier changes. If rows are no single events, the variance that all leaves
 * of all changes show beyond that of single events is added to the noise of each.
 */
export function leavesOfRates(
  { codes, names }: Pick<Table, 'codes' | 'names'>,
  changes: readonly Compared[],
): Leaves[] {
  const sizes = names.map((list) => list.length)
  const all = changes.map(rateLeavesOf)
  const beyond = beyondChance(all)
  return all.map(({ expected, came, v0, v1, grouped, untold }, index) => {
    for (const leaf of grouped) {
      v0[leaf]! += (beyond * expected[leaf]!) ** 2
      v1[leaf]! += (beyond * came[leaf]!) ** 2
    }
    const told = untold > 0.1 * expected.length ? null : { before: v0, after: v1 }
    const { noise } = changes[index]!
    const variances = noise ? forecastVariances(noise) : told
    return { codes, sizes, before: expected, after: came, variances, partly: grouped.length > 0 }
  })
}

/** Tells whether each row is one unit, such as a visit. */
const areEvents = ({ rows, bottom }: Sums, leaf: number): boolean =>
  rows[leaf]! >= 5 && bottom[leaf]! <= rows[leaf]! * 1.0000001
