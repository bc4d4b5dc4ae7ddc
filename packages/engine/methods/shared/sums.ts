/**
 * Computes exact sums inside DuckDB. Each term is scaled by a power of two, rounded to 2^-90 of the largest possible
 * term and added up as a 128-bit integer: rounding does not grow with the number of rows, and the result does not
 * depend on the order of rows or the number of threads. One row is fetched.
 */
import type { Cell } from '@assay/model/insight'

/** Returns SQL that sums `expression`, whose size is at most `bound` in every row, as text for `readSum`. */
export function exactSumSql(expression: string, bound: number): string {
  return `cast(sum(cast((${expression}) * ${double(scale(bound))} as hugeint)) as varchar)`
}

/** The most rows for which `momentSql` sums exactly. */
export const EXACT_ROWS = 1_000_000

/**
 * Returns SQL as `exactSumSql` up to a million rows. With more rows it is DuckDB's fsum (Kahan's compensated sum),
 * whose error is at most two units in the last place of the sum of the terms' sizes, and which takes a tenth of the
 * time. That is enough for moments about a centre near the mean. Sums that decide a comparison to the last digit use
 * `exactSumSql`.
 */
export function momentSql(expression: string, bound: number, rows: number): string {
  return rows <= EXACT_ROWS ? exactSumSql(expression, bound) : `fsum(${expression})`
}

/**
 * Reads the sum of `exactSumSql` or `momentSql`, rounded once; 0 for no rows. A database may return it in parts of 30
 * bits.
 */
export function readSum(sum: Cell | undefined, bound: number): number {
  if (typeof sum === 'number') return sum
  return typeof sum === 'string' ? Number(whole(sum)) / scale(bound) : 0
}

const whole = (sum: string): bigint =>
  sum
    .split(' ')
    .map(BigInt)
    .reduce((high, part) => (high << 30n) + part)

/** Returns the smallest power of two above `size`, or 1 for 0. */
export function powerAbove(size: number): number {
  return size === 0 ? 1 : 2 ** Math.min(1023, Math.floor(Math.log2(size)) + 1)
}

/** Writes a double as a SQL literal that reads back as the same double. */
export function double(value: number): string {
  return `(${value.toExponential()}::double)`
}

function scale(bound: number): number {
  return 2 ** Math.min(1000, 90 - Math.ceil(Math.log2(Math.max(bound, Number.MIN_VALUE))))
}
