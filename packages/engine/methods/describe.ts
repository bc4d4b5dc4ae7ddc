/**
 * describe: location, spread and shape of number columns.
 *
 * Mean and moments are taken in two passes with exact sums (over a million rows: compensated ones, sums.ts), corrected
 * for the rounding of the mean as Chan, Golub and LeVeque (The American Statistician 37, 1983) do; quartiles are type 7
 * of Hyndman and Fan (The American Statistician 50, 1996), as in R and Excel, exact (order-statistics.ts); skewness is
 * the adjusted Fisher-Pearson coefficient G1 and kurtosis the adjusted excess G2 (Joanes and Gill, The Statistician 47,
 * 1998), as in pandas and Excel; mode is the most frequent value, the smallest of equals, and null if none repeats or
 * above two million rows; autocorrelation is r1 over the rows in their order, and null for rows that stay in a
 * database. A column is scanned four to nine times; at most nine rows of it are fetched.
 */

import type { Doubt } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { studentUpperQuantile } from '../numeric/distributions.ts'
import type { Asked } from '../sufficient/ask.ts'
import type { Moments } from '../sufficient/numbers.ts'
import { averageOf, type Measure, measureOf, opening } from '../verdicts/measure.ts'
import { doubt, verdict } from '../verdicts/verdict.ts'
import { amount, both, shareOf } from '../verdicts/words.ts'
import { columnOf, numberSql } from './shared/columns.ts'
import { integer, number, perName, whereGiven } from './shared/fields.ts'
import { type Method, MethodError, type Relation } from './shared/method.ts'
import { orderStatistics } from './shared/order-statistics.ts'
import { count, figure, finite } from './shared/sentence.ts'
import { double, EXACT_ROWS, momentSql, powerAbove, readSum } from './shared/sums.ts'
import { columnThere } from './there/describe.ts'

const Options = Type.Object(
  {
    value: Type.Optional(Type.String({ description: 'A number column.' })),
    values: Type.Optional(
      Type.Array(Type.String(), { minItems: 1, maxItems: 100, description: 'Several number columns.' }),
    ),
  },
  { additionalProperties: false },
)

/** The most frequent value is counted up to this number of rows. */
const MOST_MODE = 2_000_000

interface Description {
  n: number
  nulls: number
  mean: number | null
  sd: number | null
  variance: number | null
  min: number | null
  q1: number | null
  median: number | null
  q3: number | null
  max: number | null
  skewness: number | null
  kurtosis: number | null
  mode: number | null
  mode_count: number | null
  range: number | null
  autocorrelation: number | null
  /** The number of rows left out because the value is infinite or NaN. */
  not_finite: number
}

const FIELDS = {
  mean: number,
  sd: number,
  variance: number,
  min: number,
  q1: number,
  median: number,
  q3: number,
  max: number,
  skewness: number,
  kurtosis: number,
  mode: number,
  mode_count: integer,
  range: number,
  autocorrelation: number,
  nulls: integer,
  not_finite: integer,
}

export const describe: Method = {
  name: 'describe',
  options: Options,
  either: [[['value'], ['values']]],
  columns(options) {
    const { value, values } = options as Static<typeof Options>
    return [
      ...(value === undefined ? [] : [{ option: 'value', column: value, numeric: true }]),
      ...(values ?? []).map((column) => ({ option: 'values', column, numeric: true })),
    ]
  },
  fields: {
    ...whereGiven('value', FIELDS),
    ...whereGiven('values', { columns: perName('values', { n: integer, ...FIELDS }) }),
  },
  asks: () => true,
  async run(table, options, { meanings }) {
    const { value, values } = options as Static<typeof Options>
    if ((value === undefined) === (values === undefined)) {
      throw new MethodError('describe needs either `value`, a column, or `values`, a list of columns.')
    }
    const names = values ?? [value!]
    const columns: Record<string, Description> = {}
    for (const name of names)
      columns[name] = await describeColumn(table, value === undefined ? 'values' : 'value', name)
    const all = Object.entries(columns).map(
      ([name, described]) => [measureOf(meanings, name), described] as const,
    )
    const n = Math.max(...all.map(([, described]) => described.n))
    const empty = all.filter(([, described]) => described.n === 0).length
    const told = verdict({
      headline: all.map(([measure, described]) => sentence(measure, described)).join(' '),
      grade: 'firm',
      evidence: all.map(([measure, described]) => evidence(measure.label, described)).join(' '),
      doubts: all.flatMap(([measure, described]) => doubtsOf(measure, described)),
      mild: empty < all.length ? ['constant', 'too_few'] : ['constant'],
    })
    const sums = n <= EXACT_ROWS ? 'exact' : table.there ? '60-bit' : 'compensated'
    const method = `mean with t interval, quartiles (type 7), skewness G1, excess kurtosis G2, ${sums} sums`
    return { ...(value === undefined ? { columns } : columns[value]), ...told, n, method }
  },
}

async function describeColumn(table: Relation, option: string, name: string): Promise<Description> {
  if (table.there) return describeThere(table.there, columnOf(table, option, name).name)
  const source = `(select ${numberSql(table, option, name)} as v from ${table.relation})`
  const kept = `(select v from ${source} where isfinite(v))`
  const [range] = await table.query(
    `select count(*) as rows, count(v) as values, count(v) filter (isfinite(v)) as n, min(v) filter (isfinite(v)) as min,
       max(v) filter (isfinite(v)) as max, favg(v) filter (isfinite(v)) as mean from ${source}`,
  )
  const n = range!.n as number
  const nulls = (range!.rows as number) - (range!.values as number)
  const counts = { n, nulls, not_finite: (range!.values as number) - n }
  if (n === 0) return { ...counts, ...NONE }
  const min = range!.min as number
  const max = range!.max as number
  const [q1, median, q3] = await quartiles(table, kept, n)
  return {
    ...counts,
    min,
    q1: q1!,
    median: median!,
    q3: q3!,
    max,
    range: finite(max - min),
    ...(await modeOf(table, kept, n)),
    ...(await moments(table, kept, { n, min, max, mean: range!.mean as number })),
  }
}

/** The description of no values. */
const NONE = {
  mean: null,
  sd: null,
  variance: null,
  min: null,
  q1: null,
  median: null,
  q3: null,
  max: null,
  skewness: null,
  kurtosis: null,
  autocorrelation: null,
  mode: null,
  mode_count: null,
  range: null,
}

/** Describes rows in a database. They have no order, so their autocorrelation is null. */
async function describeThere(asked: Asked, name: string): Promise<Description> {
  const asking = { placesOf: (n: number) => placesOf(n).flat(), mostMode: MOST_MODE }
  const { range, found } = await columnThere(asked, name, asking)
  const { rows, nulls, n, low, high } = range
  const counts = { n, nulls, not_finite: rows - nulls - n }
  if (!found) return { ...counts, ...NONE }
  const { moments, at, mode } = found
  const [q1, median, q3] = quartilesAt(at, n)
  return {
    ...counts,
    min: low,
    q1: q1!,
    median: median!,
    q3: q3!,
    max: high,
    range: finite(high - low),
    ...mode,
    mean: Math.min(high, Math.max(low, moments.mean * moments.unit)),
    ...shapeOf(n, moments),
    autocorrelation: null,
  }
}

async function modeOf(table: Relation, kept: string, n: number) {
  if (n > MOST_MODE) return { mode: null, mode_count: null }
  const [row] = await table.query(
    `select v, count(*) as n from ${kept} group by v order by n desc, v limit 1`,
  )
  return (row!.n as number) > 1
    ? { mode: row!.v as number, mode_count: row!.n as number }
    : { mode: null, mode_count: null }
}

/**
 * Computes the moments of v / unit about a `center` near the mean. `unit` is a power of two above every |v|, so that no
 * square overflows. The difference between the center and the mean is corrected afterwards.
 */
async function moments(
  table: Relation,
  kept: string,
  { n, min, max, mean }: { n: number; min: number; max: number; mean: number },
) {
  const unit = powerAbove(Math.max(Math.abs(min), Math.abs(max)))
  const scaled = `v / ${double(unit)}`
  let center = mean / unit
  if (!Number.isFinite(center)) {
    const [first] = await table.query(`select favg(${scaled}) as mean from ${kept}`)
    center = first!.mean as number
  }
  const reach = powerAbove(Math.max(max / unit - center, center - min / unit))
  const sum = (term: string, power: number) => momentSql(term, reach ** power, n)
  const [second] = await table.query(
    `select ${sum('u', 1)} as s1, ${sum('u * u', 2)} as s2, ${sum('u * u * u', 3)} as s3,
       ${sum('u * u * u * u', 4)} as s4, ${sum('u * w', 2)} as lagged
     from (select u, lag(u) over () as w from (select ${scaled} - ${double(center)} as u from ${kept}))`,
  )
  const rest = readSum(second!.s1, reach) / n
  const squares = readSum(second!.s2, reach ** 2) - n * rest ** 2
  const cubes = readSum(second!.s3, reach ** 3) - 3 * rest * squares - n * rest ** 3
  const fourths =
    readSum(second!.s4, reach ** 4) -
    4 * rest * readSum(second!.s3, reach ** 3) +
    6 * rest ** 2 * readSum(second!.s2, reach ** 2) -
    3 * n * rest ** 4
  const varies = n > 1 && squares > 0
  return {
    mean: Math.min(max, Math.max(min, (center + rest) * unit)),
    ...shapeOf(n, { unit, squares, cubes, fourths }),
    autocorrelation: varies ? finite(readSum(second!.lagged, reach ** 2) / squares) : null,
  }
}

/** Computes spread and shape from the sums of the powers of v / unit about the mean. */
function shapeOf(
  n: number,
  { unit, squares, cubes, fourths }: Pick<Moments, 'unit' | 'squares' | 'cubes' | 'fourths'>,
) {
  const varies = n > 1 && squares > 0
  const sd = n > 1 ? Math.sqrt(squares / (n - 1)) : Number.NaN
  return {
    sd: finite(sd * unit),
    variance: finite((squares / (n - 1)) * unit * unit),
    skewness:
      varies && n > 2
        ? finite(((Math.sqrt(n * (n - 1)) / (n - 2)) * (cubes / n)) / (squares / n) ** 1.5)
        : null,
    kurtosis: varies && n > 3 ? excess(n, (n * fourths) / squares ** 2) : null,
  }
}

async function quartiles(table: Relation, kept: string, n: number): Promise<number[]> {
  return quartilesAt(await orderStatistics(table, kept, n, [...new Set(placesOf(n).flat())]), n)
}

/**
 * Quartiles of type 7 lie at 0-based positions (n - 1) p of the sorted values, linear between neighbouring positions.
 */
const placesOf = (n: number): number[][] =>
  [0.25, 0.5, 0.75].map((p) => [Math.floor((n - 1) * p) + 1, Math.ceil((n - 1) * p) + 1])

function quartilesAt(at: ReadonlyMap<number, number>, n: number): number[] {
  return placesOf(n).map(([below, above], index) => {
    const low = at.get(below!)!
    const share = (n - 1) * [0.25, 0.5, 0.75][index]! - (below! - 1)
    return share === 0 ? low : low * (1 - share) + at.get(above!)! * share
  })
}

/** Computes G2 from the fourth moment over the square of the second. */
function excess(n: number, ratio: number): number | null {
  return finite(((n - 1) / ((n - 2) * (n - 3))) * ((n + 1) * (ratio - 3) + 6))
}

/** The fewest values of which half lie between the quartiles. */
const LEAST_QUARTILES = 5

/** Says "The average of delay is 8.9 minutes; half of the values lie between minus 3 and 14." */
function sentence(measure: Measure, described: Description): string {
  const { n, mean, q1, q3, median } = described
  const { label } = measure
  if (n === 0) return `There are no values of ${label}.`
  if (n === 1) return `The only value of ${label} is ${amount(mean, measure)}.`
  if (described.min === described.max) return `Every value of ${label} is ${amount(mean, measure)}.`
  if (n < LEAST_QUARTILES) {
    const ends = both([described.min, described.max], measure, { joined: 'and' })
    return n === 2
      ? `The two values of ${label} are ${ends}.`
      : `The ${n} values of ${label} lie between ${ends}; their average is ${amount(mean, measure)}.`
  }
  const [from, to] = [amount(q1, measure), amount(q3, measure)]
  const place = from === to ? `at about ${from}` : `between ${both([q1, q3], measure, { joined: 'and' })}`
  const middle = `half of the values lie ${place}`
  if (skewed(described)) return `The middle value of ${label} is ${amount(median, measure)}; ${middle}.`
  return `${opening(averageOf(measure))} is ${amount(mean, measure)}; ${middle}.`
}

/** Tells whether the median describes a column better than the mean. */
const skewed = ({ skewness }: Description): boolean => skewness !== null && Math.abs(skewness) > 2

function evidence(name: string, described: Description): string {
  const { n, mean, sd, median, q1, q3, skewness, kurtosis } = described
  if (n < 2) return `${name}: ${count(n, 'value')}.`
  const half = sd === null ? null : (studentUpperQuantile(0.025, n - 1) * sd) / Math.sqrt(n)
  const interval = half
    ? ` (95 % interval ${figure(mean! - half, half)} to ${figure(mean! + half, half)})`
    : ''
  const shape =
    skewness === null ? '' : `, skewness G1 ${figure(skewness)}, excess kurtosis G2 ${figure(kurtosis)}`
  return `${name}: mean ${figure(mean, half)}${interval}, median ${place(median)}, quartiles ${place(q1)} and ${place(q3)}${shape}, n = ${count(n, 'value')}.`
}

/** Prints a value of the data to four digits. It is read off, not estimated, so no interval decides its decimals. */
function place(value: number | null): string {
  return figure(value, value === null ? null : value / 100)
}

function doubtsOf(measure: Measure, described: Description): Doubt[] {
  const { label } = measure
  const { n, nulls, not_finite, skewness, kurtosis, autocorrelation } = described
  const found: Doubt[] = []
  if (n === 0 || n === 1) found.push(doubt('too_few', sentence(measure, described)))
  else if (n < 10) found.push(doubt('too_few', `There are only ${count(n, 'value')} of ${label}.`))
  if (n > 1 && described.min === described.max) found.push(doubt('constant', sentence(measure, described)))
  const left = nulls + not_finite
  if (left > 0)
    found.push(
      doubt(
        'rows_left_out',
        `${count(left, 'row')} (${shareOf(left / (left + n))}) ${left === 1 ? 'has' : 'have'} no value of ${label} that is a number.`,
      ),
    )
  if (skewness !== null && skewed(described))
    found.push(
      doubt(
        'tails_heavy',
        `A few very ${skewness > 0 ? 'high' : 'low'} values pull the average of ${label}; the middle value describes it better.`,
      ),
    )
  else if (kurtosis !== null && kurtosis > 3 && n >= 20)
    found.push(doubt('tails_heavy', `A few values of ${label} lie far from the rest.`))
  if (autocorrelation !== null && n >= 10 && autocorrelation > 2.58 / Math.sqrt(n))
    found.push(
      doubt(
        'series_autocorrelated',
        `Neighbouring rows of ${label} are alike; as a series they say less about the average than their number suggests.`,
      ),
    )
  return found
}
