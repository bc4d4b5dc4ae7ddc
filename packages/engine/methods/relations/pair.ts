/**
 * Relates two number columns: Pearson's r with Fisher's interval and t test, Spearman's coefficient, Kendall's tau-b,
 * partial correlation. DuckDB computes moments and ranks with exact sums (above a million rows: compensated sums), and
 * one row is fetched for each. Kendall's tau fetches the pairs, at most 100,000.
 */

import type { Doubt } from '@assay/model/insight'
import { normalUpperQuantile, studentTwoSided } from '../../numeric/distributions.ts'
import { ranks } from '../../numeric/mann-kendall.ts'
import { type Partial, partialCorrelation } from '../../numeric/models/partial.ts'
import { kendall } from '../../numeric/tests/kendall.ts'
import type { Asked } from '../../sufficient/ask.ts'
import type { Measure } from '../../verdicts/measure.ts'
import { doubt, gradeOf } from '../../verdicts/verdict.ts'
import { columnOf, numberSql } from '../shared/columns.ts'
import type { Relation } from '../shared/method.ts'
import { finite } from '../shared/sentence.ts'
import { double, momentSql, powerAbove, readSum } from '../shared/sums.ts'
import { correlated, pairRowsThere } from '../there/correlation.ts'
import { oneRowDecides, type Without } from './one-row.ts'
import {
  LEAST_WORTH,
  type Order,
  PERSISTENT_ROWS,
  persistentLink,
  type SeriesRows,
  seriesRows,
} from './series-order.ts'

/** The fewest rows for which a pair is judged. */
export const LEAST_PAIRS = 4
export const MOST_KENDALL = 100_000

export interface Pair {
  x: string
  y: string
  n: number
  pearson: number | null
  spearman: number | null
  low: number | null
  high: number | null
  p: number | null
  /** The p of Spearman's coefficient, by its t approximation. */
  spearman_p: number | null
  /** The rows as a series; null if they are no series. */
  series: SeriesRows | null
  /** The number of independent rows that hold as much information. */
  worth: number
  /** Pearson's r and p without the row that lowers r most, and without the one that raises it most. */
  ends: Without[]
}

export interface PairRows {
  /** A subquery with the columns x and y, both finite. */
  source: string
  n: number
  constant: boolean
}

async function pairRows(
  table: Relation,
  [x, y]: readonly [string, string],
  option: string,
  order: Order | null = null,
): Promise<PairRows & { sizes: [number, number] }> {
  const source =
    `(select x, y, t from (select ${numberSql(table, option, x)} as x, ${numberSql(table, option, y)} as y, ${order?.sql ?? 'null'} as t ` +
    `from ${table.relation}) where isfinite(x) and isfinite(y))`
  const [range] = await table.query(
    `select count(*) as n, max(abs(x)) as x_size, max(abs(y)) as y_size, min(x) = max(x) as x_same, min(y) = max(y) as y_same from ${source}`,
  )
  const n = range!.n as number
  const constant = n > 0 && (range!.x_same === true || range!.y_same === true)
  return { source, n, constant, sizes: [(range!.x_size as number) ?? 0, (range!.y_size as number) ?? 0] }
}

/** Computes a pair. With fewer than 4 rows, or a column that does not vary, all fields but the names are null. */
export async function pairOf(
  table: Relation,
  [x, y]: readonly [string, string],
  { option = 'values', order = null }: { option?: string; order?: Order | null } = {},
): Promise<Pair> {
  const rows = table.there
    ? await rowsThere(table, table.there, [x, y], { option, order })
    : await rowsHere(table, [x, y], { option, order })
  const { n, constant } = rows
  const unknown = { pearson: null, spearman: null, low: null, high: null, p: null, spearman_p: null }
  const nothing = { x, y, n, ...unknown, series: null, worth: n, ends: [] }
  if (n < LEAST_PAIRS || constant) return nothing
  const { r: pearson, ends, spearman, series } = await rows.correlated()
  const p = chanceOf(pearson, n, series)
  const worth = series ? worthOf(pearson, n, p, series) : n
  const half = normalUpperQuantile(0.025) / Math.sqrt(worth - 3)
  const certain = Math.abs(pearson) === 1
  return {
    ...nothing,
    pearson: finite(pearson),
    spearman: finite(spearman),
    low: certain ? pearson : finite(Math.tanh(Math.atanh(pearson) - half)),
    high: certain ? pearson : finite(Math.tanh(Math.atanh(pearson) + half)),
    p: finite(p),
    spearman_p: finite(chanceOf(spearman, n, series, ranks)),
    series,
    worth,
    // The worth falls in proportion when one of n rows is left out.
    ends: ends.map((end) => ({ ...end, p: byStudent(end.estimate, (worth * (n - 1)) / n) })),
  }
}

interface Rows {
  n: number
  constant: boolean
  correlated(): Promise<{ r: number; ends: End[]; spearman: number; series: SeriesRows | null }>
}

interface RowsOptions {
  option: string
  order: Order | null
}

async function rowsHere(
  table: Relation,
  names: readonly [string, string],
  { option, order }: RowsOptions,
): Promise<Rows> {
  const { source, n, constant, sizes } = await pairRows(table, names, option, order)
  const [x_unit, y_unit] = [powerAbove(sizes[0]), powerAbove(sizes[1])]
  return {
    n,
    constant,
    async correlated() {
      const scaled = `(select x / ${double(x_unit)} as x, y / ${double(y_unit)} as y from ${source})`
      const { r, ends } = await productMoment(table, scaled)
      return {
        r,
        ends: ends.map(({ x, y, estimate }) => ({ x: x * x_unit, y: y * y_unit, estimate })),
        spearman: await rankCorrelation(table, source, n),
        series: order === null ? null : await seriesRows(table, source, n, order.dated),
      }
    },
  }
}

async function rowsThere(
  table: Relation,
  asked: Asked,
  [x, y]: readonly [string, string],
  { option, order }: RowsOptions,
): Promise<Rows> {
  const names = [columnOf(table, option, x).name, columnOf(table, option, y).name] as const
  const pair = await pairRowsThere(asked, names, order)
  const constant = pair.n > 0 && (pair.x.low === pair.x.high || pair.y.low === pair.y.high)
  return { n: pair.n, constant, correlated: () => correlated(asked, pair, order) }
}

/** Tells whether one row makes, hides or reverses Pearson's r. `factor` is what a correction multiplied p by. */
export function pairDecides(
  { pearson: r, p, worth, ends }: Pair,
  measures: readonly [Measure, Measure],
  factor = 1,
): Doubt[] {
  if (r === null || p === null) return []
  const error = Math.sqrt((1 - r * r) / Math.max(1, worth - 2))
  const rows = ends.map((one) => ({ ...one, p: Math.min(1, one.p * factor) }))
  return oneRowDecides({ estimate: r, p: Math.min(1, p * factor), error }, rows, measures)
}

/**
 * Returns the p of a coefficient of `n` rows. For a series it is at least the p under errors that are as persistent as
 * its columns, computed by `by`.
 */
function chanceOf(
  r: number,
  n: number,
  series: SeriesRows | null,
  by: (values: readonly number[]) => readonly number[] = (values) => values,
): number {
  if (!series || Math.abs(r) === 1) return byStudent(r, n)
  if (!series.dated || !series.values) return byStudent(r, series.worth)
  const { x, y } = series.values
  return Math.max(byStudent(r, n), persistentLink(by(x), by(y)))
}

/** Returns the number of independent rows with which r would have this p, at most the number of Bartlett's formula. */
function worthOf(r: number, n: number, p: number, { dated, worth, values }: SeriesRows): number {
  if (!dated || !values || byStudent(r, n) >= p) return Math.min(n, worth)
  let [low, high] = [LEAST_WORTH, Math.min(n, worth)]
  for (let step = 0; step < 40 && byStudent(r, high) < p; step++) {
    const middle = (low + high) / 2
    if (byStudent(r, middle) < p) high = middle
    else low = middle
    if (high - low < 1e-6) break
  }
  return high
}

export function byStudent(r: number, n: number): number {
  if (Math.abs(r) >= 1) return 0
  if (!(n > 2)) return 1
  return studentTwoSided(r * Math.sqrt((n - 2) / ((1 - r) * (1 + r))), n - 2)
}

/**
 * Computes Spearman's coefficient: Pearson's of the ranks, in whole numbers (twice the rank less its mean, mean ranks
 * for ties). Each is at most n, so their products fit 64 bits up to three billion rows.
 */
async function rankCorrelation(table: Relation, source: string, n: number): Promise<number> {
  const [row] = await table.query(
    `select cast(sum(u * u) as varchar) as uu, cast(sum(v * v) as varchar) as vv, cast(sum(u * v) as varchar) as uv
     from (select ${rankSql('x', n)} as u, ${rankSql('y', n)} as v from ${source})`,
  )
  const whole = (name: string) => Number(BigInt(row![name] as string))
  return whole('uv') / Math.sqrt(whole('uu')) / Math.sqrt(whole('vv'))
}

/** Returns SQL of twice the mean rank, less its mean. */
function rankSql(name: string, n: number): string {
  return `cast(2 * rank() over (order by ${name}) + count(*) over (order by ${name} range between current row and current row) - ${n + 2} as bigint)`
}

type End = Omit<Without, 'p'>

/**
 * Computes Pearson's coefficient of x and y (|x|, |y| <= 1) in two passes. The first gives only the centre. `ends` are
 * the rows without which the coefficient is lowest and highest, with its value without them: 0 if x or y then does not
 * vary.
 */
async function productMoment(table: Relation, source: string): Promise<{ r: number; ends: End[] }> {
  const [first] = await table.query(`select count(*) as n, favg(x) as x, favg(y) as y from ${source}`)
  const n = first!.n as number
  const centered = `(select x - ${double(first!.x as number)} as u, y - ${double(first!.y as number)} as v from ${source})`
  const [widest] = await table.query(`select max(abs(u)) as u, max(abs(v)) as v from ${centered}`)
  const reach = { u: powerAbove(widest!.u as number), v: powerAbove(widest!.v as number) }
  const scaled = `(select u / ${double(reach.u)} as u, v / ${double(reach.v)} as v from ${centered})`
  const terms = Object.entries({ u: 'u', v: 'v', uu: 'u * u', vv: 'v * v', uv: 'u * v' })
  const [sums] = await table.query(
    `select ${terms.map(([name, term]) => `${momentSql(term, 1, n)} as ${name}`).join(', ')} from ${scaled}`,
  )
  const [u, v, uu, vv, uv] = terms.map(([name]) => readSum(sums![name], 1)) as [
    number,
    number,
    number,
    number,
    number,
  ]
  const [across, up, both] = [uu - u ** 2 / n, vv - v ** 2 / n, uv - (u * v) / n]
  const share = double(n / (n - 1))
  const away = `(select u, v, u - ${double(u / n)} as a, v - ${double(v / n)} as b from ${scaled})`
  const left = `(select u, v, a * b as ab, ${double(across)} - ${share} * a * a as aa, ${double(up)} - ${share} * b * b as bb from ${away})`
  const varies = `aa > 1e-9 * ${double(across)} and bb > 1e-9 * ${double(up)}`
  const without = `(select u, v, case when ${varies} then (${double(both)} - ${share} * ab) / sqrt(aa) / sqrt(bb) else 0 end as r from ${left})`
  const [far] = await table.query(
    `select min(r) as r0, arg_min(u, r) as u0, arg_min(v, r) as v0, max(r) as r1, arg_max(u, r) as u1, arg_max(v, r) as v1 from ${without}`,
  )
  const end = (place: number): End => ({
    x: (far![`u${place}`] as number) * reach.u + (first!.x as number),
    y: (far![`v${place}`] as number) * reach.v + (first!.y as number),
    estimate: clamped(far![`r${place}`] as number),
  })
  return { r: clamped(both / Math.sqrt(across) / Math.sqrt(up)), ends: [end(0), end(1)] }
}

const clamped = (r: number): number => Math.min(1, Math.max(-1, r))

export interface Tau {
  tau: number | null
  p: number | null
}

/** Reads the values of both columns in the rows that have both. */
export async function valuesOf(table: Relation, { x, y }: Pair): Promise<{ x: number[]; y: number[] }> {
  const { source } = await pairRows(table, [x, y], 'x')
  const rows = await table.query(`select x, y from ${source}`)
  return { x: rows.map((row) => row.x as number), y: rows.map((row) => row.y as number) }
}

/**
 * Returns Kendall's tau-b of the pair, or null above 100,000 rows. For a series, p is at least the p under persistent
 * errors of the ranks.
 */
export async function tauOf(table: Relation, pair: Pair, option = 'values'): Promise<Tau> {
  const { source, n, constant } = await pairRows(table, [pair.x, pair.y], option)
  if (n < LEAST_PAIRS || n > MOST_KENDALL || constant) return { tau: null, p: null }
  const rows = await table.query(`select x, y from ${source}`)
  const found = kendall(
    rows.map((row) => row.x as number),
    rows.map((row) => row.y as number),
  )
  const values = pair.series?.dated ? pair.series.values : null
  const least = values ? persistentLink(ranks(values.x), ranks(values.y)) : 0
  return { tau: finite(found?.tau ?? Number.NaN), p: finite(Math.max(least, found?.p ?? Number.NaN)) }
}

interface PartialOptions {
  ranked?: boolean
  option?: string
  order?: Order | null
}

export interface PartialRows {
  n: number
  partial: Partial | null
}

/**
 * Returns the partial correlation of x and y after lines on `controls` are removed, or that of the ranks with `ranked`.
 * Rows that lack any of the columns are left out.
 */
export async function partialOf(
  table: Relation,
  [x, y]: readonly [string, string],
  controls: readonly string[],
  { ranked = false, option = 'values', order = null }: PartialOptions = {},
): Promise<PartialRows> {
  const columns = [
    numberSql(table, option, x),
    numberSql(table, option, y),
    ...controls.map((name) => numberSql(table, 'controls', name)),
  ]
  const names = columns.map((_, i) => `c${i}`)
  const all = `(select ${columns.map((sql, i) => `${sql} as c${i}`).join(', ')}, ${order?.sql ?? 'null'} as t from ${table.relation})`
  const whole = `(select * from ${all} where ${names.map((name) => `isfinite(${name})`).join(' and ')})`
  const [counted] = await table.query(`select count(*) as n from ${whole}`)
  const n = counted!.n as number
  if (n < columns.length + 2) return { n, partial: null }
  const kept = ranked
    ? `(select ${names.map((name) => `cast(${rankSql(name, n)} as double) as ${name}`).join(', ')} from ${whole})`
    : whole
  const matrix = await correlations(table, kept, names)
  const partial = matrix && partialCorrelation(matrix, n, 0.95)
  if (!partial || !order?.dated || n > PERSISTENT_ROWS) return { n, partial }
  const rows = await table.query(`select ${names.join(', ')} from ${whole} order by t`)
  const [left, right, ...held] = names.map((name) => {
    const values = rows.map((row) => row[name] as number)
    return ranked ? ranks(values) : values
  }) as [number[], number[], ...number[][]]
  return { n, partial: { ...partial, p: Math.max(partial.p, persistentLink(left, right, held)) } }
}

/** Returns Pearson's coefficients of columns, or null if one does not vary. */
async function correlations(table: Relation, kept: string, names: string[]): Promise<number[][] | null> {
  const ends = names.map((name) => `max(abs(${name})) as s_${name}`)
  const [sizes] = await table.query(`select ${ends.join(', ')} from ${kept}`)
  const unit = (name: string) => double(powerAbove(sizes![`s_${name}`] as number))
  const scaled = `(select ${names.map((name) => `${name} / ${unit(name)} as ${name}`).join(', ')} from ${kept})`
  const middle = names.map((name) => `favg(${name}) as m_${name}, max(${name}) - min(${name}) as w_${name}`)
  const centered = `(select ${names.map((name) => `(${name} - m_${name}) / nullif(w_${name}, 0) as ${name}`).join(', ')} from ${scaled}, (select ${middle.join(', ')} from ${scaled}))`
  const terms = names.flatMap((a, i) => names.slice(0, i + 1).map((b) => `fsum(${a} * ${b}) as ${a}_${b}`))
  const [sums] = await table.query(
    `select ${terms.join(', ')}, ${names.map((name) => `fsum(${name}) as t_${name}`).join(', ')}, count(*) as n from ${centered}`,
  )
  const n = sums!.n as number
  const product = (a: string, b: string) =>
    ((sums![`${a}_${b}`] ?? sums![`${b}_${a}`] ?? Number.NaN) as number) -
    ((sums![`t_${a}`] as number) * (sums![`t_${b}`] as number)) / n
  if (!names.every((name) => product(name, name) > 0)) return null
  return names.map((a) =>
    names.map((b) => (a === b ? 1 : product(a, b) / Math.sqrt(product(a, a)) / Math.sqrt(product(b, b)))),
  )
}

/** Returns the caveat for pairs whose rows are a series. */
export function alikeNeighbours(pairs: readonly Pair[]): Doubt[] {
  const lower = ({ pearson, n, p }: Pair): boolean => gradeOf(byStudent(pearson ?? 0, n)) !== gradeOf(p)
  const alike = pairs.filter((pair) => pair.series && (pair.series.alike || lower(pair)))
  if (alike.length === 0) return []
  const what = alike.some(({ series }) => series!.dated)
    ? 'The rows are a series whose neighbours are alike; they count as fewer rows, because two columns that wander often go together by chance.'
    : 'Neighbouring rows are alike in the order of the data, as in a series; they count as fewer rows, because two columns that wander often go together by chance. If the rows have dates, add them.'
  return [doubt('series_autocorrelated', what)]
}
