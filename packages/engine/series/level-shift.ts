/**
 * The strongest change of level in a series, and whether it is more than its noise. Each place is tried; the persistence of
 * the errors is averaged over as in persistent-regression.ts, at each value with the place that fits best there. The p value
 * is corrected for the search: near white noise the places are close to each other's copies (4 ln n + 4 of them count), in a
 * random walk each is a test of its own (both by simulation, docs/calibration.md). The test is made on the values and on
 * their normal scores, and the larger p holds: tails alone make no level.
 */
import { fUpper, normalQuantile } from '../numeric/distributions.ts'
import { ranks } from '../numeric/mann-kendall.ts'
import { factorAt, type Moments, momentsOf, persistences, WALK_WITHIN } from './persistent-regression.ts'

export interface LevelShift {
  /** Rows before the change. */
  index: number
  /** How far the level moves, in the values' own unit. */
  size: number
  p: number
}

/** The least share of the rows on either side. */
const EDGE = 0.05
const LEAST = 4
/** Places that are looked at first in a long series. */
const PLACES = 400
const JUMPS = 50

/** Null where there are too few rows. `base` holds the columns that explain the series otherwise, without a constant. */
export function strongestShift(
  values: readonly number[],
  base: readonly (readonly number[])[],
): LevelShift | null {
  const n = values.length
  const edge = Math.max(LEAST, Math.round(EDGE * n))
  if (n < 3 * edge || n < 2 * base.length + 8) return null
  const plain = search(values, base, edge)
  const scored = search(normalScores(values), base, edge)
  if (!plain || !scored) return null
  const best = scored.p > plain.p ? scored : plain
  return { index: best.index, size: meanStep(values, best.index), p: Math.max(plain.p, scored.p) }
}

interface Best {
  f: number
  index: number
  likelihood: number
}

function search(
  y: readonly number[],
  base: readonly (readonly number[])[],
  edge: number,
): { index: number; p: number } | null {
  const n = y.length
  const ones = y.map(() => 1)
  const columns = [ones, ...base, y]
  const moments = momentsOf(columns)
  const grid = persistences(n, false)
  const best = grid.map((): Best => ({ f: 0, index: 0, likelihood: Number.NEGATIVE_INFINITY }))
  const sums = columns.map((column) => tails(column))
  const look = (index: number): void => {
    const widened = withStep(moments, columns, sums, index)
    for (const [at, { a }] of grid.entries()) {
      const factor = factorAt(widened, a)
      if (factor) consider(best[at]!, factor, widened.size, n, a, index)
    }
  }
  const stride = Math.max(1, Math.floor(n / PLACES))
  for (const index of candidates(y, edge, stride)) look(index)
  if (stride > 1) {
    const near = new Set(best.map(({ index }) => index))
    for (const middle of near)
      for (let index = middle - stride + 1; index < middle + stride; index++)
        if (index >= edge && index <= n - edge) look(index)
  }
  return combined(grid, best, n, n - 2 * edge + 1)
}

/** Every place, or in a long series every `stride`th and those of the largest jumps: a step between two looks is seen from both. */
function candidates(y: readonly number[], edge: number, stride: number): Iterable<number> {
  const n = y.length
  const places = new Set<number>()
  for (let index = edge; index <= n - edge; index += stride) places.add(index)
  if (stride === 1) return places
  const jumps = Array.from({ length: n - 2 * edge + 1 }, (_, at) => edge + at).toSorted(
    (a, b) => Math.abs(y[b]! - y[b - 1]!) - Math.abs(y[a]! - y[a - 1]!),
  )
  for (const index of jumps.slice(0, JUMPS)) places.add(index)
  return places
}

/** Sums of a column from each row to the end. */
function tails(column: readonly number[]): Float64Array {
  const sums = new Float64Array(column.length + 1)
  for (let row = column.length - 1; row >= 0; row--) sums[row] = sums[row + 1]! + column[row]!
  return sums
}

/** The moments with a step (0 before `index`, 1 from it on) as the last column before y. */
function withStep(
  moments: Moments,
  columns: readonly (readonly number[])[],
  sums: readonly Float64Array[],
  index: number,
): Moments {
  const old = moments.size
  const size = old + 1
  const n = columns[0]!.length
  const make = (): Float64Array => new Float64Array(size * size)
  const wide: Moments = { size, same: make(), neighbours: make(), before: make(), first: make() }
  const kinds = ['same', 'neighbours', 'before', 'first'] as const
  const row = (column: number): number => (column < old - 1 ? column : column + 1)
  for (const kind of kinds)
    for (let i = 0; i < old; i++)
      for (let j = 0; j <= i; j++) wide[kind][row(i) * size + row(j)] = moments[kind][i * old + j]!
  const step = old - 1
  const put = (column: number, same: number, neighbours: number, before: number): void => {
    const [i, j] = column > step ? [column, step] : [step, column]
    wide.same[i * size + j] = same
    wide.neighbours[i * size + j] = neighbours
    wide.before[i * size + j] = before
  }
  for (const [place, column] of columns.entries()) {
    const sum = sums[place]!
    const last = column[n - 1]!
    // Sums over rows: of this column at the step's rows, of its neighbours on either side.
    put(row(place), sum[index]!, sum[index + 1]! + sum[index - 1]! - last, sum[index]! - last)
  }
  put(step, n - index, 2 * (n - index - 1), n - index - 1)
  return wide
}

function consider(
  best: Best,
  factor: Float64Array,
  width: number,
  n: number,
  a: number,
  index: number,
): void {
  const size = width - 1
  const df = n - size
  const rest = factor[width * width - 1]! ** 2 / df
  const f = factor[size * width + size - 1]! ** 2 / rest
  if (f <= best.f) return
  let logs = 0
  // The step itself is left out: its size depends on where it stands.
  for (let column = 0; column < size - 1; column++) logs += 2 * Math.log(factor[column * width + column]!)
  best.f = f
  best.index = index
  best.likelihood = -0.5 * (df * Math.log(rest) + logs - Math.log(1 - a * a))
}

function combined(
  grid: readonly { a: number; weight: number }[],
  best: readonly Best[],
  n: number,
  places: number,
): { index: number; p: number } | null {
  const top = Math.max(...best.map(({ likelihood }) => likelihood))
  if (!Number.isFinite(top)) return null
  const few = Math.min(places, 4 * Math.log(n) + 4)
  let whole = 0
  let sum = 0
  let last = 1
  for (const [place, { a, weight }] of grid.entries()) {
    const { f, likelihood } = best[place]!
    const tests = few + (places - few) * Math.max(0, a) ** 4
    last = -Math.expm1(tests * Math.log1p(-fUpper(f, 1, n - 2)))
    const share = weight * Math.exp(likelihood - top)
    whole += share
    sum += share * last
  }
  const walk = top - best.at(-1)!.likelihood <= WALK_WITHIN
  const index = best.find(({ likelihood }) => likelihood === top)!.index
  return { index, p: walk ? Math.max(sum / whole, last) : sum / whole }
}

/** Normal scores of Blom (1958): what the ranks would be if the values were normal. */
export function normalScores(values: readonly number[]): number[] {
  const n = values.length
  const known = new Map<number, number>()
  return ranks(values).map((rank) => {
    const score = known.get(rank) ?? normalQuantile((rank - 0.375) / (n + 0.25))
    known.set(rank, score)
    return score
  })
}

function meanStep(values: readonly number[], index: number): number {
  const mean = (from: number, to: number): number => {
    let sum = 0
    for (let row = from; row < to; row++) sum += values[row]!
    return sum / (to - from)
  }
  return mean(index, values.length) - mean(0, index)
}
