/**
 * Computes the moments of a column in three scans: its range, its mean, and exact sums of the powers of (v - centre)
 * over the greatest distance from the centre. The centre lies near the mean, so nothing cancels and nothing overflows.
 * A value 2^-100 times smaller than the largest counts as zero, because some databases treat an underflow as an error.
 */
import {
  and,
  below,
  column,
  count,
  counted,
  double,
  type Expression,
  type From,
  finite,
  least,
  mean,
  minus,
  most,
  number,
  over,
  size,
  times,
  where,
} from '../dialects/language.ts'
import { powerAbove } from '../methods/shared/sums.ts'
import { type Asked, columnsOf, numberOf } from './ask.ts'
import { sumsOf } from './sums.ts'

/** Returns a column as doubles, `v`. */
export const valuesOf = ({ from }: Asked, name: string, as = 'v'): From =>
  columnsOf(from, { [as]: double(column(name)) })

export interface NumberRange {
  rows: number
  nulls: number
  /** The number of finite values. */
  n: number
  low: number
  high: number
}

export async function rangeOf(asked: Asked, values: From, v = 'v'): Promise<NumberRange> {
  const kept = where(finite(column(v)), column(v))
  const [row] = await asked.ask({
    from: values,
    list: { rows: counted, given: count(column(v)), n: count(kept), low: least(kept), high: most(kept) },
  })
  const rows = numberOf(row?.rows)
  return {
    rows,
    nulls: rows - numberOf(row?.given),
    n: numberOf(row?.n),
    low: numberOf(row?.low),
    high: numberOf(row?.high),
  }
}

/** A value below this share of the largest counts as zero. */
const TINY = 2 ** -100
const NEAR_ZERO = 2 ** -80

/** Returns v / unit, with `unit` a power of two above every |v|. */
export const scaled = (v: Expression, unit: number): Expression =>
  where(below(size(v), number(unit * TINY)), number(0), over(v, number(unit)))

/** Returns the centre, or 0 for one near zero, whose products would underflow. */
export const centreOf = (found: number): number => (Math.abs(found) < NEAR_ZERO ? 0 : found)

export interface Moments {
  unit: number
  /** The mean of v / unit. */
  mean: number
  /** The sums of the powers of v / unit about the mean. */
  squares: number
  cubes: number
  fourths: number
}

/** Computes the moments of `n` finite values. */
export async function momentsOf(
  asked: Asked,
  values: From,
  { n, low, high }: Pick<NumberRange, 'n' | 'low' | 'high'>,
): Promise<Moments> {
  const unit = powerAbove(Math.max(Math.abs(low), Math.abs(high)))
  const u = columnsOf(kept(values), { u: scaled(column('v'), unit) })
  const [middle] = await asked.ask({ from: u, list: { centre: mean(column('u')) } })
  const centre = centreOf(numberOf(middle?.centre))
  const reach = powerAbove(Math.max(high / unit - centre, centre - low / unit))
  const d = columnsOf(u, { d: over(minus(column('u'), number(centre)), number(reach)) })
  const power = (times_: number): Expression =>
    Array.from({ length: times_ - 1 }).reduce<Expression>(
      (product) => times(product, column('d')),
      column('d'),
    )
  const sums = sumsOf(d, { s1: power(1), s2: power(2), s3: power(3), s4: power(4) }, n)
  const [row] = await asked.ask({ from: sums.from, list: sums.list })
  const [s1, s2, s3, s4] = ['s1', 's2', 's3', 's4'].map((name) => sums.read(row ?? {}, name)) as [
    number,
    number,
    number,
    number,
  ]
  const rest = s1 / n
  const squares = Math.max(0, s2 - n * rest ** 2)
  return {
    unit,
    mean: centre + rest * reach,
    squares: squares * reach ** 2,
    cubes: (s3 - 3 * rest * squares - n * rest ** 3) * reach ** 3,
    fourths: (s4 - 4 * rest * s3 + 6 * rest ** 2 * s2 - 3 * n * rest ** 4) * reach ** 4,
  }
}

/** Returns the rows with a finite `v`. */
export const kept = (values: From): From => ({
  select: { from: values, where: and(finite(column('v'))), list: { v: column('v') } },
})
