/**
 * describe: location, spread and shape of number columns.
 *
 * Mean and moments are taken in two passes with exact sums (over a million rows: compensated ones, sums.ts), corrected
 * for the rounding of the mean as Chan, Golub and LeVeque (The American Statistician 37, 1983) do; quartiles are type 7 of Hyndman and Fan (The American
 * Statistician 50, 1996), as in R and Excel, exact (order-statistics.ts); skewness is the adjusted Fisher-Pearson
 * coefficient G1, as in pandas and Excel; autocorrelation is r1 over the rows in their order. Three to eight scans of a
 * column; at most eight rows of it are fetched.
 */

import type { Outcome } from '@assay/model/insight'
import Type, { type Static } from 'typebox'
import { studentUpperQuantile } from '../numeric/distributions.ts'
import { numberSql } from './shared/columns.ts'
import { integer, number, perName, whereGiven } from './shared/fields.ts'
import { type Method, MethodError, type Relation } from './shared/method.ts'
import { orderStatistics } from './shared/order-statistics.ts'
import { count, figure, finite, percent } from './shared/sentence.ts'
import { double, EXACT_ROWS, momentSql, powerAbove, readSum } from './shared/sums.ts'

const Options = Type.Object(
  {
    value: Type.Optional(Type.String({ description: 'A number column.' })),
    values: Type.Optional(
      Type.Array(Type.String(), { minItems: 1, maxItems: 100, description: 'Several number columns.' }),
    ),
  },
  { additionalProperties: false },
)

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
  autocorrelation: number | null
  /** Rows left out because the value is infinite or NaN. */
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
  async run(table, options) {
    const { value, values } = options as Static<typeof Options>
    if ((value === undefined) === (values === undefined)) {
      throw new MethodError('describe needs either `value`, a column, or `values`, a list of columns.')
    }
    if (value !== undefined) {
      const described = await describeColumn(table, 'value', value)
      return { ...described, ...outcome(described.n, sentence(value, described), notes(value, described)) }
    }
    const columns: Record<string, Description> = {}
    for (const name of values!) columns[name] = await describeColumn(table, 'values', name)
    const all = Object.entries(columns)
    const summary = all.map(([name, described]) => sentence(name, described)).join(' ')
    const n = Math.max(...all.map(([, described]) => described.n))
    return {
      ...outcome(
        n,
        summary,
        all.flatMap(([name, described]) => notes(name, described)),
      ),
      columns,
    }
  },
}

function outcome(n: number, summary: string, notes: string[]): Outcome {
  const sums = n <= EXACT_ROWS ? 'exact' : 'compensated'
  return { summary, n, method: `mean with t interval, quartiles (type 7), ${sums} sums`, notes }
}

async function describeColumn(table: Relation, option: string, name: string): Promise<Description> {
  const source = `(select ${numberSql(table, option, name)} as v from ${table.relation})`
  const kept = `(select v from ${source} where isfinite(v))`
  const [range] = await table.query(
    `select count(*) as rows, count(v) as values, count(v) filter (isfinite(v)) as n, min(v) filter (isfinite(v)) as min,
       max(v) filter (isfinite(v)) as max, favg(v) filter (isfinite(v)) as mean from ${source}`,
  )
  const n = range!.n as number
  const nulls = (range!.rows as number) - (range!.values as number)
  const counts = { n, nulls, not_finite: (range!.values as number) - n }
  if (n === 0) {
    const none = {
      mean: null,
      sd: null,
      variance: null,
      min: null,
      q1: null,
      median: null,
      q3: null,
      max: null,
    }
    return { ...counts, ...none, skewness: null, autocorrelation: null }
  }
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
    ...(await moments(table, kept, { n, min, max, mean: range!.mean as number })),
  }
}

/**
 * Everything is computed on v / unit, with `unit` a power of two above every |v|, so that no square overflows, about a
 * `center` near the mean: what it lacks is added afterwards.
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
    `select ${sum('u', 1)} as s1, ${sum('u * u', 2)} as s2, ${sum('u * u * u', 3)} as s3, ${sum('u * w', 2)} as lagged
     from (select u, lag(u) over () as w from (select ${scaled} - ${double(center)} as u from ${kept}))`,
  )
  const rest = readSum(second!.s1, reach) / n
  const squares = readSum(second!.s2, reach ** 2) - n * rest ** 2
  const cubes = readSum(second!.s3, reach ** 3) - 3 * rest * squares - n * rest ** 3
  const varies = n > 1 && squares > 0
  const sd = n > 1 ? Math.sqrt(squares / (n - 1)) : Number.NaN
  return {
    mean: Math.min(max, Math.max(min, (center + rest) * unit)),
    sd: finite(sd * unit),
    variance: finite((squares / (n - 1)) * unit * unit),
    skewness:
      varies && n > 2
        ? finite(((Math.sqrt(n * (n - 1)) / (n - 2)) * (cubes / n)) / (squares / n) ** 1.5)
        : null,
    autocorrelation: varies ? finite(readSum(second!.lagged, reach ** 2) / squares) : null,
  }
}

/** Quartiles of type 7: at 0-based positions (n - 1) p of the sorted values, linear between neighbours. */
async function quartiles(table: Relation, kept: string, n: number): Promise<number[]> {
  const positions = [0.25, 0.5, 0.75].map((p) => (n - 1) * p)
  const wanted = positions.flatMap((position) => [Math.floor(position) + 1, Math.ceil(position) + 1])
  const at = await orderStatistics(table, kept, n, [...new Set(wanted)])
  return positions.map((position) => {
    const low = at.get(Math.floor(position) + 1)!
    const share = position - Math.floor(position)
    return share === 0 ? low : low * (1 - share) + at.get(Math.ceil(position) + 1)! * share
  })
}

function sentence(name: string, described: Description): string {
  const { n, mean, sd, median, q1, q3 } = described
  if (n === 0) return `${name}: no values to describe.`
  if (n === 1) return `${name}: a single value, ${figure(mean)}.`
  if (described.min === described.max) return `${name} is ${figure(mean)} in all ${count(n, 'value')}.`
  const half = sd === null ? null : (studentUpperQuantile(0.025, n - 1) * sd) / Math.sqrt(n)
  const interval =
    half === null ? '' : ` (95% interval ${figure(mean! - half, half)} to ${figure(mean! + half, half)})`
  const middle = q3! - q1!
  return (
    `${name} averages ${figure(mean, half)}${interval}; the median is ${figure(median, middle)}, and the middle half ` +
    `lies between ${figure(q1, middle)} and ${figure(q3, middle)} (n = ${count(n, 'value')}).`
  )
}

function notes(name: string, described: Description): string[] {
  const { n, nulls, skewness, autocorrelation } = described
  const found: string[] = []
  if (nulls > 0)
    found.push(`${name}: ${count(nulls, 'row')} without a value (${percent(nulls / (nulls + n))}).`)
  if (described.not_finite > 0) {
    found.push(
      `${name}: ${count(described.not_finite, 'value that is not finite', 'values that are not finite')} left out.`,
    )
  }
  if (n > 0 && n < 10) found.push(`${name}: with ${count(n, 'value')} the interval rests on very little.`)
  if (skewness !== null && Math.abs(skewness) > 2) {
    found.push(
      `${name}: strongly skewed (${figure(skewness)}); the median describes it better than the mean.`,
    )
  }
  if (autocorrelation !== null && n >= 10 && autocorrelation > 1.96 / Math.sqrt(n)) {
    found.push(
      `${name}: neighbouring rows resemble each other (lag-1 autocorrelation ${figure(autocorrelation)}); the interval is narrower than it should be if the rows are a time series.`,
    )
  }
  return found
}
