/**
 * Fits ordinary least squares to any number of rows, of which none is fetched. One scan adds up the products of all
 * columns about centres near their means. Another adds up the products of the residuals: they refine the estimates, and
 * they check form and spread. Neighbours are not checked, since such rows have no order.
 */
import { chiSquareUpper, fUpper } from '../../numeric/distributions.ts'
import { type Normal, normalOf, product } from '../../numeric/models/normal-equations.ts'
import { finite } from '../shared/sentence.ts'
import { double, powerAbove } from '../shared/sums.ts'
import type { Checks } from './checks.ts'
import { NO_CHECKS } from './checks.ts'
import type { ColumnRange, ManyRows, NamedTerm } from './design.ts'
import { type Asked, inUnits, rowsOf } from './gaussian.ts'
import { leadOf, type Modelled } from './modelled.ts'

/** A column as a distance d from its centre, between -1 and 1: the value is (centre + reach d) unit^power. */
interface Axis {
  sql: string
  centre: number
  reach: number
  unit: number
  power: number
}

/** The sums of the distances about their means. */
interface Products {
  n: number
  intercept: boolean
  /** The mean distance of each column, and its length about it; y is the first. */
  means: number[]
  lengths: number[]
  /** The correlations of the columns of x, and the products of those, at length one, with y. */
  correlations: number[][]
  withY: number[]
  /** The largest factor by which the other columns inflate the variance of one. */
  inflation: number | null
}

export async function fitMany(
  rows: ManyRows,
  terms: readonly NamedTerm[],
  asked: Asked,
): Promise<Modelled | 'dependent'> {
  const { intercept, errors, confidence } = asked
  const axes = rows.ranges.map((range, index) =>
    axisOf(index, range, terms[index - 1]?.power ?? 1, intercept),
  )
  const products = await productsOf(rows, axes, intercept)
  const normal = products.lengths.every((length) => length > 0) ? normalOf(products.correlations) : null
  if (!normal) return 'dependent'
  const first = normal.solve(products.withY)
  const found = await residualsOf(rows, { axes, products, normal, slopes: first, isRobust: errors === 'hc3' })
  const change = normal.solve(found.withX)
  const slopes = first.map((value, index) => value + change[index]!)
  const ss_residual = Math.max(0, found.squares - product(change, found.withX))
  const sums = sumsOf(products, slopes, ss_residual)
  const spread = sums.ss_residual / sums.df_residual
  const covariances =
    found.covariances ?? covariancesOf(products, normal).map((row) => row.map((one) => one * spread))
  const names = [...(intercept ? ['(intercept)'] : []), ...terms.map(({ name }) => name)]
  const coefficients = rowsOf(names, inColumns(axes, products, slopes, covariances), { ...sums, confidence })
  const own = coefficients.slice(intercept ? 1 : 0).map((row) => (sums.perfect ? 0 : row.p))
  const { perfect, ...fields } = sums
  const none = { deviance: null, null_deviance: null, dispersion: null }
  const model: Modelled = {
    fields: { coefficients, ...fields, ss_residual: finite(ss_residual), ...none },
    checks: {
      ...(intercept && !perfect ? checksOf(found, products, normal) : NO_CHECKS),
      largest_vif: products.inflation,
    },
    lead: leadOf(coefficients, terms, own),
    doubts: [],
    alike: null,
    spreads: terms.map((_, index) => {
      const { reach, unit, power } = axes[index + 1]!
      return (products.lengths[index + 1]! / Math.sqrt(rows.n)) * reach * unit ** power
    }),
  }
  return inUnits(model, axes[0]!.reach * axes[0]!.unit)
}

/**
 * Returns the axis of a column. Its centre is near the mean if there is an intercept, or the middle of the range of a
 * power.
 */
function axisOf(index: number, { low, high, mean }: ColumnRange, power: number, intercept: boolean): Axis {
  const unit = powerAbove(Math.max(Math.abs(low), Math.abs(high)))
  const scaled = `(c${index} / ${double(unit)})`
  const value = power === 1 ? scaled : `(${scaled} ** ${power})`
  if (!intercept) return { sql: value, centre: 0, reach: 1, unit, power }
  const ends = [low / unit, high / unit].map((end) => end ** power)
  const least = power % 2 === 0 && low < 0 && high > 0 ? 0 : Math.min(...ends)
  const most = Math.max(...ends)
  const centre = power === 1 ? mean / unit : (least + most) / 2
  const reach = powerAbove(Math.max(most - centre, centre - least))
  return { sql: `((${value} - ${double(centre)}) / ${double(reach)})`, centre, reach, unit, power }
}

/** Returns SQL of the complete rows as distances d0 (y), d1, ... */
const distancesSql = ({ from }: ManyRows, axes: readonly Axis[]): string =>
  `(select ${axes.map(({ sql }, index) => `${sql} as d${index}`).join(', ')} from ${from})`

/** Resolves with the sums of expressions whose size is at most 1, as exact as the engine's own. */
async function sumsBy(
  { table }: ManyRows,
  from: string,
  terms: ReadonlyMap<string, string>,
  more = '',
): Promise<{ sum(name: string): number; row: Record<string, unknown> }> {
  const list = [...terms.values()].map((sql, index) => `fsum(${sql}) as s${index}`)
  const [row] = await table.query(`select ${list.join(', ')}${more} from ${from}`)
  const places = new Map([...terms.keys()].map((name, index) => [name, index]))
  return { sum: (name) => row![`s${places.get(name)!}`] as number, row: row! }
}

async function productsOf(rows: ManyRows, axes: readonly Axis[], intercept: boolean): Promise<Products> {
  const { n } = rows
  const columns = axes.map((_, index) => index)
  const terms = new Map<string, string>()
  for (const a of columns) {
    terms.set(`${a}`, `d${a}`)
    for (const b of columns.slice(a)) terms.set(`${a} ${b}`, `d${a} * d${b}`)
  }
  const { sum } = await sumsBy(rows, distancesSql(rows, axes), terms)
  const xs = columns.slice(1)
  const inAll = columns.map((a) => sum(`${a}`) / n)
  const means = intercept ? inAll : columns.map(() => 0)
  const about = (centres: readonly number[], a: number, b: number): number =>
    sum(`${Math.min(a, b)} ${Math.max(a, b)}`) - n * centres[a]! * centres[b]!
  const lengthsAbout = (centres: readonly number[]): number[] =>
    columns.map((a) => Math.sqrt(Math.max(0, about(centres, a, a))))
  const correlated = (centres: readonly number[], long: readonly number[]): number[][] =>
    xs.map((a) => xs.map((b) => (a === b ? 1 : about(centres, a, b) / long[a]! / long[b]!)))
  const lengths = lengthsAbout(means)
  return {
    n,
    intercept,
    means,
    lengths,
    correlations: correlated(means, lengths),
    withY: xs.map((a) => about(means, 0, a) / lengths[a]!),
    inflation: xs.length > 1 ? inflationOf(correlated(inAll, lengthsAbout(inAll))) : null,
  }
}

/** Returns the largest factor by which the other columns inflate a column's variance; null if they determine it. */
function inflationOf(correlations: readonly (readonly number[])[]): number | null {
  const inverse = normalOf(correlations)?.inverse
  return inverse ? Math.max(...inverse.map((row, index) => row[index]!)) : null
}

interface Fitted {
  axes: readonly Axis[]
  products: Products
  normal: Normal
  /** The slopes of the columns at length one. */
  slopes: readonly number[]
  isRobust: boolean
}

interface Residuals {
  squares: number
  /** The products of the residuals with the columns at length one. */
  withX: number[]
  /** The sum of the fourth powers, and the products of the squares with the columns. */
  fourths: number
  squaresWithX: number[]
  /** The products of the square and the cube of the fit with the columns, with each other and with the residuals. */
  shape: { withX: number[][]; squares: number[][]; withResiduals: number[] }
  /** The sum of squares in the unit of the checks, in which the residuals lie between -1 and 1. */
  whole: number
  /** The covariances of the mean of y and of the slopes by HC3; null if they are not asked, or if one row decides. */
  covariances: number[][] | null
}

async function residualsOf(rows: ManyRows, fitted: Fitted): Promise<Residuals> {
  const { axes, products, slopes } = fitted
  const { n, means, lengths } = products
  const xs = slopes.map((_, index) => index + 1)
  const weights = slopes.map((slope, index) => slope / lengths[index + 1]!)
  // The sizes keep all terms between -1 and 1.
  const size = powerAbove(
    weights.reduce((sum, one, index) => sum + Math.abs(one) * (1 + Math.abs(means[index + 1]!)), 0),
  )
  const far = 4 * powerAbove(size + 1)
  const fit = weights
    .map((one, index) => `${double(one)} * (d${index + 1} - ${double(means[index + 1]!)})`)
    .join(' + ')
  const kept = axes.map((_, index) => `d${index}`).join(', ')
  const fits = `(select ${kept}, ${fit} as f from ${distancesSql(rows, axes)})`
  const from = `(select ${kept}, f / ${double(size)} as z, (d0 - ${double(means[0]!)} - f) / ${double(far)} as e from ${fits})`
  const terms = new Map([
    ['e', 'e'],
    ['ee', 'e * e'],
    ['eeee', 'e * e * e * e'],
    ['2', 'z * z'],
    ['3', 'z * z * z'],
    ['2 2', 'z * z * z * z'],
    ['2 3', 'z * z * z * z * z'],
    ['3 3', 'z * z * z * z * z * z'],
    ['2 e', 'z * z * e'],
    ['3 e', 'z * z * z * e'],
  ])
  for (const a of xs)
    for (const [name, sql] of [
      ['e', 'e'],
      ['ee', 'e * e'],
      ['2', 'z * z'],
      ['3', 'z * z * z'],
    ] as const)
      terms.set(`${name} x${a}`, `${sql} * d${a}`)
  const { sum } = await sumsBy(rows, from, terms)
  const withX = (name: string): number[] =>
    xs.map((a) => (sum(`${name} x${a}`) - means[a]! * sum(name)) / lengths[a]!)
  const shaped = (a: string, b: string): number => sum(`${a} ${b}`) - (sum(a) * sum(b)) / n
  const mean = products.intercept ? sum('e') / n : 0
  const whole = sum('ee') - n * mean ** 2
  return {
    whole,
    squares: whole * far ** 2,
    withX: withX('e').map((one) => one * far),
    fourths: sum('eeee'),
    squaresWithX: withX('ee'),
    shape: {
      withX: [withX('2'), withX('3')],
      squares: [
        [shaped('2', '2'), shaped('2', '3')],
        [shaped('2', '3'), shaped('3', '3')],
      ],
      withResiduals: [shaped('2', 'e'), shaped('3', 'e')],
    },
    covariances: fitted.isRobust ? await robustOf(rows, from, fitted, far) : null,
  }
}

/** Returns the covariances of the mean of y and of the slopes at length one, over the variance of y. */
function covariancesOf({ n, intercept }: Products, { inverse }: Normal): number[][] {
  if (!intercept) return inverse
  return [[1 / n, ...inverse.map(() => 0)], ...inverse.map((row) => [0, ...row])]
}

/** Returns the covariances by HC3 (MacKinnon and White 1985), in one more scan; null if a row alone decides a slope. */
async function robustOf(
  rows: ManyRows,
  from: string,
  { products, normal }: Fitted,
  far: number,
): Promise<number[][] | null> {
  const { n, intercept, means, lengths } = products
  const xs = normal.inverse.map((_, index) => index + 1)
  const away = (a: number): string => `(d${a} - ${double(means[a]!)})`
  const pulls = xs.flatMap((a) =>
    xs.slice(a - 1).map((b) => {
      const weight = (normal.inverse[a - 1]![b - 1]! * (a === b ? 1 : 2)) / lengths[a]! / lengths[b]!
      return `${double(weight)} * ${away(a)} * ${away(b)}`
    }),
  )
  const share = `${double(intercept ? 1 / n : 0)} + ${pulls.join(' + ')}`
  const kept = xs.map((a) => `d${a}`).join(', ')
  const pulled = `(select ${kept}, e, ${share} as h from ${from})`
  const [most] = await rows.table.query(`select max(h) as h from ${pulled}`)
  const largest = most!.h as number
  if (!(largest < 1 - 1e-10)) return null
  const weighted = `(select ${kept}, (e / (1 - h)) * (e / (1 - h)) * ${double((1 - largest) ** 2)} as w from ${pulled})`
  const terms = new Map([['w', 'w']])
  for (const a of xs) {
    terms.set(`${a}`, `w * d${a}`)
    for (const b of xs.slice(a - 1)) terms.set(`${a} ${b}`, `w * d${a} * d${b}`)
  }
  const { sum } = await sumsBy(rows, weighted, terms)
  const unit = (far / (1 - largest)) ** 2
  const one = (a: number): number => (sum(`${a}`) - means[a]! * sum('w')) / lengths[a]!
  const two = (a: number, b: number): number =>
    (sum(`${Math.min(a, b)} ${Math.max(a, b)}`) -
      means[a]! * sum(`${b}`) -
      means[b]! * sum(`${a}`) +
      means[a]! * means[b]! * sum('w')) /
    lengths[a]! /
    lengths[b]!
  const inner = xs.map((a) => xs.map((b) => two(a, b)))
  const middle = intercept
    ? [[sum('w'), ...xs.map(one)], ...inner.map((row, at) => [one(at + 1), ...row])]
    : inner
  const outer = covariancesOf(products, normal)
  const half = outer.map((row) => middle.map((column) => product(row, column) * unit))
  return half.map((row) => outer.map((column) => product(row, column)))
}

function sumsOf({ n, intercept, lengths, correlations }: Products, slopes: readonly number[], rest: number) {
  const df_model = slopes.length
  const df_residual = n - df_model - (intercept ? 1 : 0)
  const ss_model = product(
    slopes,
    correlations.map((row) => product(row, slopes)),
  )
  const whole = lengths[0]! ** 2
  // The residuals of a perfect fit are rounding errors, so no ratio to them is computed.
  const perfect = rest <= 1e-24 * whole
  const f = perfect ? Number.NaN : ss_model / df_model / (rest / df_residual)
  return {
    r_squared: finite(1 - rest / whole),
    residual_sd: finite(Math.sqrt(rest / df_residual)),
    f: finite(f),
    p: Number.isFinite(f) ? finite(fUpper(f, df_model, df_residual)) : null,
    df_model,
    df_residual,
    ss_model: finite(ss_model),
    ss_residual: rest,
    perfect,
  }
}

/** Returns the estimates and their errors for the columns as they are, over the reach of y. */
function inColumns(
  axes: readonly Axis[],
  { intercept, means, lengths }: Products,
  slopes: readonly number[],
  covariances: readonly (readonly number[])[],
): { estimates: number[]; errors: number[] } {
  const xs = slopes.map((_, index) => index + 1)
  const inUnit = (value: number, a: number): number => {
    const { reach, unit, power } = axes[a]!
    return Array.from({ length: power }).reduce<number>((found) => found / unit, value / lengths[a]! / reach)
  }
  const first = intercept ? 1 : 0
  const estimates = xs.map((a) => inUnit(slopes[a - 1]!, a))
  const errors = xs.map((a) => inUnit(Math.sqrt(covariances[a - 1 + first]![a - 1 + first]!), a))
  if (!intercept) return { estimates, errors }
  const y = axes[0]!
  // The distance of zero from the mean of each column, at length one.
  const zero = xs.map((a) => (axes[a]!.centre / axes[a]!.reach + means[a]!) / lengths[a]!)
  const toZero = [1, ...zero.map((one) => -one)]
  const variance = product(
    toZero,
    covariances.map((row) => product(row, toZero)),
  )
  return {
    estimates: [y.centre / y.reach + means[0]! - product(slopes, zero), ...estimates],
    errors: [Math.sqrt(variance), ...errors],
  }
}

/** Makes Ramsey's and Koenker's tests (numeric/models/model-checks.ts) from sums. */
function checksOf(
  { whole, fourths, squaresWithX, shape }: Residuals,
  { n }: Products,
  { solve }: Normal,
): Pick<Checks, 'reset_p' | 'breusch_pagan_p' | 'residual_autocorrelation'> {
  const spread = fourths - whole ** 2 / n
  const changing = spread > 0 ? (n * product(squaresWithX, solve(squaresWithX))) / spread : null
  return {
    reset_p: resetP(whole, shape, solve, n),
    breusch_pagan_p: changing === null ? null : finite(chiSquareUpper(changing, squaresWithX.length)),
    residual_autocorrelation: null,
  }
}

function resetP(
  whole: number,
  { withX, squares, withResiduals }: Residuals['shape'],
  solve: Normal['solve'],
  n: number,
): number | null {
  const own = squares.map((row, a) => row.map((value, b) => value - product(withX[a]!, solve(withX[b]!))))
  const sizes = own.map((row, at) => Math.sqrt(row[at]!))
  if (!sizes.every((size, at) => size > 1e-5 * Math.sqrt(squares[at]![at]!))) return null
  const right = withResiduals.map((value, at) => value / sizes[at]!)
  const normal = normalOf(
    own.map((row, a) => row.map((value, b) => (a === b ? 1 : value / sizes[a]! / sizes[b]!))),
  )
  if (!normal) return null
  const explained = product(right, normal.solve(right))
  const rest = n - withX[0]!.length - 3
  const statistic = explained / 2 / ((whole - explained) / rest)
  return Number.isFinite(statistic) && statistic >= 0 ? fUpper(statistic, 2, rest) : null
}
