/**
 * Computes correlation in a database: the products of a pair, the rows without which r is lowest and highest, the
 * products of its ranks, whether a column of times makes the rows a series, and the products within the groups of
 * further columns. At most 2,000 rows of a series are fetched.
 */
import type { Column } from '@assay/model/insight'
import {
  and,
  below,
  bytes,
  column,
  count,
  counted,
  distinct,
  double,
  type Expression,
  type From,
  given,
  least,
  minus,
  most,
  number,
  over,
  previous,
  ranked,
  size,
  times,
  where,
} from '../../dialects/language.ts'
import { type Asked, columnsOf, numberOf } from '../../sufficient/ask.ts'
import { named } from '../../sufficient/numbers.ts'
import {
  about,
  type PairThere,
  PRODUCTS,
  type Products,
  pairThere,
  productsOf,
} from '../../sufficient/products.ts'
import { sumsOf } from '../../sufficient/sums.ts'
import { type Lags, LEAST, lagsOf, type Order, PERSISTENT_ROWS, seriesOf } from '../relations/series-order.ts'
import { isTemporal } from '../shared/columns.ts'
import { powerAbove } from '../shared/sums.ts'

/**
 * Returns the column of times that makes the rows a series. Returns null without one, because rows in a database have
 * no order.
 */
export async function orderThere({ from, ask }: Asked, columns: readonly Column[]): Promise<Order | null> {
  for (const { name } of columns.filter(isTemporal)) {
    const [row] = await ask({
      from,
      list: { n: count(column(name)), times: distinct(column(name)) },
    })
    const n = numberOf(row?.n)
    if (n >= LEAST && n === numberOf(row?.times)) return { sql: name, dated: true }
  }
  for (const { name } of columns.filter(({ type }) => type === 'integer')) {
    const [row] = await ask({
      from,
      list: { n: counted, first: least(column(name)), last: most(column(name)) },
    })
    const [n, first, last] = [numberOf(row?.n), numberOf(row?.first), numberOf(row?.last)]
    if (n < LEAST || last - first !== n - 1 || first < 1000 || last >= 3000) continue
    const [years] = await ask({ from, list: { years: distinct(column(name)) } })
    if (numberOf(years?.years) === n) return { sql: name, dated: true }
  }
  return null
}

const TIME = 'time of row'

/** Returns the rows of a pair, with their times if they are a series. */
export const pairRowsThere = (
  asked: Asked,
  names: readonly [string, string],
  order: Order | null,
): Promise<PairThere> => pairThere(asked, names, order ? { [TIME]: column(order.sql) } : {})

/**
 * Returns r, the rows without which it is lowest and highest (as in relations/pair.ts), the rank correlation, and the
 * series.
 */
export async function correlated(asked: Asked, pair: PairThere, order: Order | null) {
  const products = await productsOf(asked, pair, order ? [TIME] : [])
  const { uu, vv, uv } = products
  return {
    r: clamped(uv / Math.sqrt(uu) / Math.sqrt(vv)),
    ends: await endsThere(asked, products, pair.n),
    spearman: await ranksThere(asked, pair),
    series: order ? seriesOf(pair.n, true, ...(await seriesThere(asked, pair, products))) : null,
  }
}

const clamped = (r: number): number => Math.min(1, Math.max(-1, r))

/** The square of a number this small may underflow, which some databases treat as an error. */
const TINY = 2 ** -400

async function endsThere({ ask }: Asked, products: Products, n: number) {
  const { from, uu, vv, uv, x, y } = products
  const share = n / (n - 1)
  const away = columnsOf(from, {
    u: column('u'),
    v: column('v'),
    p: minus(column('u'), number(products.u)),
    q: minus(column('v'), number(products.v)),
  })
  const less = (whole: number, one: string, other: string): Expression =>
    minus(number(whole), times(number(share), times(column(one), column(other))))
  const left = columnsOf(away, {
    u: column('u'),
    v: column('v'),
    pp: less(uu, 'p', 'p'),
    qq: less(vv, 'q', 'q'),
    pq: less(uv, 'p', 'q'),
  })
  // r |r| orders rows as r does, without a square root.
  const squared = over(times(column('pq'), size(column('pq'))), times(column('pp'), column('qq')))
  const varies = and(
    below(number(1e-9 * uu), column('pp')),
    below(number(1e-9 * vv), column('qq')),
    below(number(TINY), size(column('pq'))),
  )
  const without = columnsOf(left, {
    u: column('u'),
    v: column('v'),
    pp: column('pp'),
    qq: column('qq'),
    pq: column('pq'),
    r: where(varies, squared, number(0)),
  })
  const ends = []
  for (const descending of [false, true]) {
    const [row] = await ask({
      from: without,
      list: named(['u', 'v', 'pp', 'qq', 'pq', 'r']),
      order: [{ name: 'r', descending }, { name: 'u' }, { name: 'v' }],
      limit: 1,
    })
    const of = (name: string): number => numberOf(row?.[name])
    const estimate = of('r') === 0 ? 0 : clamped(of('pq') / Math.sqrt(of('pp')) / Math.sqrt(of('qq')))
    ends.push({ x: x.valueAt(of('u')), y: y.valueAt(of('v')), estimate })
  }
  return ends
}

/**
 * Computes Spearman's coefficient from the products of whole numbers, twice the ranks less their mean, over a power of
 * two.
 */
async function ranksThere({ ask }: Asked, { rows, n }: PairThere): Promise<number> {
  const unit = powerAbove(n)
  const even = (name: string): Expression => over(minus(double(column(name)), number(n + 1)), number(unit))
  const placed = columnsOf(rows, { 'rank x': ranked(column('x')), 'rank y': ranked(column('y')) })
  const from = columnsOf(placed, { u: even('rank x'), v: even('rank y') })
  const sums = sumsOf(from, PRODUCTS, n)
  const [row] = await ask({ from: sums.from, list: sums.list })
  const [uu, vv, uv] = (['sum uu', 'sum vv', 'sum uv'] as const).map((name) =>
    sums.read(row ?? {}, name),
  ) as [number, number, number]
  return uv / Math.sqrt(uu) / Math.sqrt(vv)
}

/** Returns the values in order, up to 2,000; for more rows the lag-1 products of neighbours. */
async function seriesThere(
  asked: Asked,
  { rows, n }: PairThere,
  products: Products,
): Promise<[Lags, { x: number[]; y: number[] } | null]> {
  if (n > PERSISTENT_ROWS) return [await lagsThere(asked, products, n), null]
  const found = await asked.ask({
    from: rows,
    list: {
      x: column('x'),
      y: column('y'),
      // Rows without a time come last, as in DuckDB.
      late: where(given(column(TIME)), number(0), number(1)),
      time: column(TIME),
    },
    order: [{ name: 'late' }, { name: 'time' }],
  })
  const values = { x: found.map((row) => numberOf(row.x)), y: found.map((row) => numberOf(row.y)) }
  return [lagsOf(values), values]
}

async function lagsThere({ ask }: Asked, { from, u, v }: Products, n: number): Promise<Lags> {
  const even = columnsOf(from, {
    a: over(minus(column('u'), number(u)), number(2)),
    b: over(minus(column('v'), number(v)), number(2)),
    time: column(TIME),
  })
  const pairs = columnsOf(even, {
    a: column('a'),
    b: column('b'),
    'a before': previous(column('a'), column('time')),
    'b before': previous(column('b'), column('time')),
  })
  const product = (one: string, other: string): Expression => {
    const small = (name: string): Expression => below(size(column(name)), number(TINY))
    return where(small(one), number(0), where(small(other), number(0), times(column(one), column(other))))
  }
  const sums = sumsOf(
    pairs,
    {
      aa: product('a', 'a'),
      bb: product('b', 'b'),
      al: product('a', 'a before'),
      bl: product('b', 'b before'),
    },
    n,
  )
  const [row] = await ask({ from: sums.from, list: sums.list })
  const [aa, bb, al, bl] = ['aa', 'bb', 'al', 'bl'].map((name) => sums.read(row ?? {}, name)) as [
    number,
    number,
    number,
    number,
  ]
  return { a: aa > 0 ? al / aa : 0, b: bb > 0 ? bl / bb : 0, sorted: false }
}

/** Returns the number of rows, and the number of values of each column by its name. */
export async function valuesThere(
  { from, ask }: Asked,
  columns: readonly Column[],
): Promise<{ n: number; values: number[] }> {
  const list = columns.map((one, index) => [`c${index}`, distinct(keyOf(one))] as const)
  const [row] = await ask({ from, list: { n: counted, ...Object.fromEntries(list) } })
  return { n: numberOf(row?.n), values: list.map(([name]) => numberOf(row?.[name])) }
}

const keyOf = ({ name, type }: Column): Expression => (type === 'text' ? bytes(column(name)) : column(name))

const GROUP = 'group of row'

/** Returns the products of a pair within each group of a column. */
export async function withinThere(asked: Asked, names: readonly [string, string], by: Column) {
  const pair = await pairThere(asked, names, { [GROUP]: keyOf(by) })
  const products = await productsOf(asked, pair, [GROUP])
  const known: From = {
    select: {
      from: products.from,
      where: given(column(GROUP)),
      list: named(['u', 'v', GROUP]),
    },
  }
  const sums = sumsOf(known, PRODUCTS, pair.n, [GROUP])
  const groups = await asked.ask({
    // The groups themselves are not fetched.
    from: { select: { from: sums.from, keys: { one: column(GROUP) }, list: { n: counted, ...sums.list } } },
    list: named(['n', ...Object.keys(sums.list)]),
  })
  const all = { n: 0, 'sum u': 0, 'sum v': 0, 'sum uu': 0, 'sum vv': 0, 'sum uv': 0 }
  const inside = { uu: 0, vv: 0, uv: 0 }
  for (const group of groups) {
    const n = numberOf(group.n)
    const { uu, vv, uv } = about(n, (name) => {
      const sum = sums.read(group, name)
      all[name] += sum
      return sum
    })
    all.n += n
    inside.uu += uu
    inside.vv += vv
    inside.uv += uv
  }
  const whole = about(all.n, (name) => all[name])
  return {
    n: all.n,
    groups: groups.length,
    xy: inside.uv,
    xx: inside.uu,
    yy: inside.vv,
    whole_x: whole.uu,
    whole_y: whole.vv,
  }
}
