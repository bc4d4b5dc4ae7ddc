/** Computes weights that make the noise of a series even if its spread changes along it. */
import { dot, residualsOf } from './persistence/residuals.ts'
import { medianOf } from './spikes/tails.ts'

/** The number of rows on either side that show the spread at a row: at least this many, and a share of all. */
const LEAST = 8
const SHARE = 0.125
/** The largest size that counts, in medians, so that one outlier is no spread. */
const WINSOR = 4

/**
 * Returns one over the spread at each row, which is the mean size of the innovations around it. The innovations are
 * those of the residuals from `base` and a step at `index`.
 */
export function evenWeights(
  values: readonly number[],
  base: readonly (readonly number[])[],
  index: number,
): Float64Array {
  const n = values.length
  const step = values.map((_, row) => (row < index ? 0 : 1))
  const { left } = residualsOf(values, [values.map(() => 1), ...base, step])
  const neighbours = dot(left.subarray(1), left.subarray(0, n - 1))
  const persistence = Math.max(0, neighbours / (dot(left, left) || 1))
  const sizes = left.map((value, row) => Math.abs(row === 0 ? value : value - persistence * left[row - 1]!))
  const most = WINSOR * medianOf(sizes)
  const sums = new Float64Array(n + 1)
  for (let row = 0; row < n; row++) sums[row + 1] = sums[row]! + Math.min(sizes[row]!, most)
  if (!(sums[n]! > 0)) return new Float64Array(n).fill(1)
  const reach = Math.max(LEAST, Math.round(SHARE * n))
  const mean = sums[n]! / n
  return Float64Array.from({ length: n }, (_, row) => {
    const [from, to] = [Math.max(0, row - reach), Math.min(n, row + reach + 1)]
    return mean / Math.max(0.05 * mean, (sums[to]! - sums[from]!) / (to - from))
  })
}
