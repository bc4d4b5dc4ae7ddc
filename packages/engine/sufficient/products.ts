/**
 * Computes the products of two columns about their means, in three scans: their ranges, their means, and exact sums
 * over the greatest distance from a centre near each mean, as for the moments of one column (numbers.ts).
 */
import {
  and,
  column,
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
  times,
} from '../dialects/language.ts'
import { powerAbove } from '../methods/shared/sums.ts'
import { type Asked, columnsOf, numberOf } from './ask.ts'
import { centreOf, named, scaled } from './numbers.ts'
import { sumsOf } from './sums.ts'

export interface PairThere {
  /** The rows with a finite x and y, and the further columns. */
  rows: From
  n: number
  x: { low: number; high: number }
  y: { low: number; high: number }
}

/** Prepares the pair. `more` holds further columns, under names of their own. */
export async function pairThere(
  { from, ask }: Asked,
  [x, y]: readonly [string, string],
  more: Readonly<Record<string, Expression>> = {},
): Promise<PairThere> {
  const doubles = columnsOf(from, { 'x of pair': double(column(x)), 'y of pair': double(column(y)), ...more })
  const rows: From = {
    select: {
      from: doubles,
      where: and(finite(column('x of pair')), finite(column('y of pair'))),
      list: { x: column('x of pair'), y: column('y of pair'), ...named(Object.keys(more)) },
    },
  }
  const [row] = await ask({
    from: rows,
    list: {
      n: counted,
      low_x: least(column('x')),
      high_x: most(column('x')),
      low_y: least(column('y')),
      high_y: most(column('y')),
    },
  })
  const of = (name: string): number => numberOf(row?.[name])
  return {
    rows,
    n: of('n'),
    x: { low: of('low_x'), high: of('high_x') },
    y: { low: of('low_y'), high: of('high_y') },
  }
}

export interface Axis {
  /** Returns the value of the column at a distance from the centre, where 1 is the greatest distance. */
  valueAt(distance: number): number
}

export interface Products {
  /**
   * The rows with `u` and `v`, the distances of x and y from their centres, between -1 and 1, and the columns that were
   * kept.
   */
  from: From
  x: Axis
  y: Axis
  /** The means of u and v, and the sums of products about them. */
  u: number
  v: number
  uu: number
  vv: number
  uv: number
}

/** Computes the products of at least one row. `keep` names columns of the rows that are read later. */
export async function productsOf(
  { ask }: Asked,
  { rows, n, x, y }: PairThere,
  keep: readonly string[] = [],
): Promise<Products> {
  const units = [x, y].map(({ low, high }) => powerAbove(Math.max(Math.abs(low), Math.abs(high)))) as [
    number,
    number,
  ]
  const further = named(keep)
  const even = columnsOf(rows, {
    a: scaled(column('x'), units[0]),
    b: scaled(column('y'), units[1]),
    ...further,
  })
  const [middle] = await ask({ from: even, list: { x: mean(column('a')), y: mean(column('b')) } })
  const axis = ({ low, high }: { low: number; high: number }, unit: number, found: number) => {
    const centre = centreOf(found)
    const reach = powerAbove(Math.max(high / unit - centre, centre - low / unit))
    const distance = (of: Expression): Expression => over(minus(of, number(centre)), number(reach))
    return { distance, valueAt: (away: number) => (away * reach + centre) * unit }
  }
  const [across, up] = [axis(x, units[0], numberOf(middle?.x)), axis(y, units[1], numberOf(middle?.y))]
  const from = columnsOf(even, {
    u: across.distance(column('a')),
    v: up.distance(column('b')),
    ...further,
  })
  const sums = sumsOf(from, PRODUCTS, n)
  const [row] = await ask({ from: sums.from, list: sums.list })
  return { from, x: across, y: up, ...about(n, (name) => sums.read(row ?? {}, name)) }
}

const [U, V] = [column('u'), column('v')]
/** The sums of `u` and `v` that products about means need. */
export const PRODUCTS = {
  'sum u': U,
  'sum v': V,
  'sum uu': times(U, U),
  'sum vv': times(V, V),
  'sum uv': times(U, V),
}

/** Returns means and products about them, from the sums of `n` rows. */
export function about(n: number, read: (name: keyof typeof PRODUCTS) => number) {
  const [u, v] = [read('sum u'), read('sum v')]
  return {
    u: u / n,
    v: v / n,
    uu: read('sum uu') - u ** 2 / n,
    vv: read('sum vv') - v ** 2 / n,
    uv: read('sum uv') - (u * v) / n,
  }
}
