/**
 * Computes the moments of a column in two scans: its range with its mean, and exact sums of the powers of (v - centre)
 * over the greatest distance from the centre. The centre lies near the mean, so nothing cancels and nothing overflows.
 * The second scan also counts the values in steps, from which places.ts goes on. A value 2^-100 times smaller than the
 * largest counts as zero, because some databases treat an underflow as an error.
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
import { type Answer, type Asked, columnsOf, numberOf } from './ask.ts'
import { isDivided, partsIn, type Stretch, stepOf } from './places.ts'
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

/** Returns the range of the values, which the columns of `more` are asked beside. */
export async function rangeOf(
  asked: Asked,
  values: From,
  more: Readonly<Record<string, Expression>> = {},
): Promise<NumberRange & { more: Answer }> {
  const kept = where(finite(column('v')), column('v'))
  const [row = {}] = await asked.ask({
    from: values,
    list: {
      rows: counted,
      given: count(column('v')),
      n: count(kept),
      low: least(kept),
      high: most(kept),
      ...more,
    },
  })
  const rows = numberOf(row.rows)
  return {
    rows,
    nulls: rows - numberOf(row.given),
    n: numberOf(row.n),
    low: numberOf(row.low),
    high: numberOf(row.high),
    more: row,
  }
}

/**
 * What values are divided by before a mean is taken whose unit is not known yet, so that neither their sum nor the sum
 * of their squares, which PostgreSQL takes beside it, is too large.
 */
const HUGE = 2 ** 520
/** A value below this counts as zero in that mean. */
const LEAST_OF_MEAN = 2 ** -500

export interface Located extends NumberRange {
  /** A number near the mean, over 2^520. */
  middle: number
}

/** Returns the range and the mean of the values, in one scan. */
export async function located(asked: Asked, values: From): Promise<Located> {
  const v = column('v')
  const share = where(below(size(v), number(LEAST_OF_MEAN)), number(0), times(v, number(1 / HUGE)))
  const { more, ...range } = await rangeOf(asked, values, { middle: mean(where(finite(v), share)) })
  return { ...range, middle: numberOf(more.middle) }
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

/** Computes the moments of at least one finite value, and counts the values in steps. */
export async function momentsOf(
  asked: Asked,
  values: From,
  { n, low, high, middle }: Located,
): Promise<{ moments: Moments; parts: Stretch[] }> {
  const unit = powerAbove(Math.max(Math.abs(low), Math.abs(high)))
  const whole: Stretch = { low, high, n, before: 0 }
  const isStepped = isDivided(whole)
  const stepped: Record<string, Expression> = isStepped
    ? { v: column('v'), step: stepOf(column('v'), whole) }
    : {}
  const u = columnsOf(kept(values), { u: scaled(column('v'), unit), ...stepped })
  const centre = centreOf(await meanOver(asked, u, unit, middle))
  const reach = powerAbove(Math.max(high / unit - centre, centre - low / unit))
  const steps = Object.keys(stepped)
  const d = columnsOf(u, { d: over(minus(column('u'), number(centre)), number(reach)), ...named(steps) })
  const power = (times_: number): Expression =>
    Array.from({ length: times_ - 1 }).reduce<Expression>(
      (product) => times(product, column('d')),
      column('d'),
    )
  const sums = sumsOf(d, { s1: power(1), s2: power(2), s3: power(3), s4: power(4) }, n, steps)
  const rows = await asked.ask(
    isStepped
      ? {
          from: sums.from,
          keys: { part: column('step') },
          list: { n: counted, low: least(column('v')), high: most(column('v')), ...sums.list },
          order: [{ name: 'part' }],
        }
      : { from: sums.from, list: sums.list },
  )
  const [s1, s2, s3, s4] = ['s1', 's2', 's3', 's4'].map((name) => sums.read(rows, name)) as [
    number,
    number,
    number,
    number,
  ]
  const rest = s1 / n
  const squares = Math.max(0, s2 - n * rest ** 2)
  const moments = {
    unit,
    mean: centre + rest * reach,
    squares: squares * reach ** 2,
    cubes: (s3 - 3 * rest * squares - n * rest ** 3) * reach ** 3,
    fourths: (s4 - 4 * rest * s3 + 6 * rest ** 2 * s2 - 3 * n * rest ** 4) * reach ** 4,
  }
  return { moments, parts: isStepped ? partsIn(whole, rows) : [whole] }
}

/** The unit below which values count as zero in the mean of `located`, which is then taken again. */
const FINE = 2 ** -440

async function meanOver(asked: Asked, u: From, unit: number, middle: number): Promise<number> {
  if (unit > FINE) return (middle / unit) * HUGE
  const [row] = await asked.ask({ from: u, list: { centre: mean(column('u')) } })
  return numberOf(row?.centre)
}

/** Returns columns under their own names. */
export const named = (names: readonly string[]): Record<string, Expression> =>
  Object.fromEntries(names.map((name) => [name, column(name)]))

/** Returns the rows with a finite `v`. */
export const kept = (values: From): From => ({
  select: { from: values, where: and(finite(column('v'))), list: { v: column('v') } },
})
