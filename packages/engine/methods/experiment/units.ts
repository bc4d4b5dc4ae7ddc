/**
 * Reads the units of an experiment: one observation for each unit and arm, made in SQL. For each metric the means and
 * covariances of each arm are fetched. They are computed about shifts near the mean, so that no digits cancel.
 */
import { kurtosisOf, MOST_ARMS, repeatsOf } from '../ab-test/observations.ts'
import { groupSql, isTemporal, nameSql, numberSql, timeColumn } from '../shared/columns.ts'
import { MethodError, quote, type Relation } from '../shared/method.ts'
import { finite } from '../shared/sentence.ts'
import { double, momentSql, powerAbove, readSum } from '../shared/sums.ts'
import type { Form, UnitMoments } from './effects.ts'
import type { Metric } from './options.ts'

export interface MetricUnits extends Form {
  metric: Metric
  /** The moments of the units, by arm. */
  moments: Map<string, UnitMoments>
  /** The number of units that have no value. */
  left: number
  /**
   * The range of the values: shares of units or of their denominators, values from 0 on if no unit is below, or any
   * value.
   */
  reach: 'share' | 'positive' | 'any'
  /** Whether the square of a spread is too large or too small for a number. Nothing can be compared then. */
  beyond: boolean
  /** SQL of each column over the units, after caps and filled covariates, and of the conditions on known values. */
  columns: string[]
  known: string
}

export interface Units {
  /** SQL of the units, with one row for each. */
  source: string
  /** The number of units of each arm. */
  seen: Record<string, number>
  rows: number
  across: number
  /** The number of rows without a unit or an arm. */
  left: number
  /** The number of days from the first to the last first row of a unit; null without `time`. */
  days: number | null
  metrics: MetricUnits[]
}

interface Asked {
  unit: string
  /** The column of the arm. Without it all units are one arm. */
  arm?: string
  time?: string
  metrics: readonly Metric[]
}

export async function unitsOf(table: Relation, asked: Asked): Promise<Units> {
  const unit = groupSql(table, 'unit', asked.unit)
  const arm = asked.arm === undefined ? `cast('all' as varchar)` : groupSql(table, 'arm', asked.arm)
  const time = asked.time === undefined ? null : timeColumn(table, asked.time)
  // A time column of numbers counts days.
  const moment = time && `cast(${quote(time.name)} as ${isTemporal(time) ? 'date' : 'double'})`
  const day = moment === null ? '' : `, min(case when isfinite(${moment}) then ${moment} end) as day`
  const aggregates = asked.metrics.flatMap((metric, index) => aggregatesOf(table, metric, index))
  const source = `(select ${unit} as unit, ${arm} as g${day}, ${aggregates.join(', ')} from ${table.relation}
    where ${unit} is not null and ${arm} is not null group by ${unit}, ${arm})`
  const repeats = await repeatsOf(table, unit, arm)
  const [all] = await table.query(`select count(*) as n from ${table.relation}`)
  const counts = await table.query(
    `select ${nameSql('g')} as name, count(*) as n from ${source} group by g order by name limit ${MOST_ARMS + 1}`,
  )
  if (counts.length > MOST_ARMS)
    throw new MethodError(`arm: more than ${MOST_ARMS} arms; group them in the SQL block.`)
  const seen = Object.fromEntries(counts.map((row) => [row.name as string, row.n as number]))
  const [span] = time
    ? await table.query(`select cast(max(day) - min(day) + 1 as double) as days from ${source}`)
    : []
  const metrics: MetricUnits[] = []
  for (const [index, metric] of asked.metrics.entries())
    metrics.push(await metricUnits({ ...table, relation: source }, metric, index))
  const days = (span?.days as number | null | undefined) ?? null
  return { source, seen, ...repeats, left: (all!.n as number) - repeats.rows, days, metrics }
}

const sum = (value: string): string => `fsum(case when isfinite(${value}) then ${value} end)`

/** Returns SQL of a unit's columns: y, for ratios x, and the covariate c. */
function aggregatesOf(table: Relation, metric: Metric, index: number): string[] {
  const { value, numerator, denominator, covariate, aggregate } = metric
  const number = (name: string): string => numberSql(table, `metrics: ${metric.name}`, name)
  const mean = (name: string): string => `favg(${number(name)}) filter (isfinite(${number(name)}))`
  const columns =
    value !== undefined
      ? [`${aggregate === 'sum' ? sum(number(value)) : mean(value)} as y${index}`]
      : [`${sum(number(numerator!))} as y${index}`, `${sum(number(denominator!))} as x${index}`]
  return covariate === undefined ? columns : [...columns, `${mean(covariate)} as c${index}`]
}

async function metricUnits(units: Relation, metric: Metric, index: number): Promise<MetricUnits> {
  const ratio = metric.value === undefined
  const covariate = metric.covariate !== undefined
  const cap = metric.winsorise
  const wanted = [
    ...(cap === undefined ? [] : [`quantile_disc(y${index}, ${cap}) filter (isfinite(y${index})) as cap`]),
    ...(covariate ? [`favg(c${index}) as middle`] : []),
  ]
  const [row] =
    wanted.length > 0 ? await units.query(`select ${wanted.join(', ')} from ${units.relation}`) : [{}]
  const top = finite((row!.cap as number | null | undefined) ?? Number.NaN)
  const y = top === null ? `y${index}` : `least(y${index}, ${double(top)})`
  // A unit without rows before the start gets the average covariate, so it is not adjusted.
  const middle = finite((row!.middle as number | null | undefined) ?? 0) ?? 0
  const columns = [
    y,
    ...(ratio ? [`x${index}`] : []),
    ...(covariate ? [`coalesce(c${index}, ${double(middle)})`] : []),
  ]
  const known = columns.map((column) => `isfinite(${column})`).join(' and ')
  return { metric, ratio, covariate, columns, known, ...(await momentsOf(units, columns, known, ratio)) }
}

/** The smallest number that keeps all its digits. */
const SMALLEST = 2.3e-308

/** Tells whether `value`, the square of a spread, is a number that keeps all its digits. */
const isSquare = (value: number): boolean => Math.abs(value) >= SMALLEST && Number.isFinite(value)

async function momentsOf(units: Relation, columns: readonly string[], known: string, ratio: boolean) {
  const named = columns.map((column, index) => `${column} as v${index}`).join(', ')
  const source = `(select g, ${named} from ${units.relation} where ${known})`
  const [range] = await units.query(
    `select (select count(*) from ${units.relation}) - count(*) as without, count(*) as n,
       min(v0) >= 0${ratio ? ' and min(v1) >= 0' : ''} as positive, bool_and(${ratio ? 'v0 <= v1' : 'v0 in (0, 1)'}) as bounded,
       ${columns.map((_, index) => `max(abs(v${index})) as m${index}`).join(', ')} from ${source}`,
  )
  const moments = new Map<string, UnitMoments>()
  let beyond = false
  const left = range!.without as number
  const total = range!.n as number
  const reach = range!.positive !== true ? 'any' : range!.bounded === true ? 'share' : 'positive'
  if (total === 0) return { moments, left, reach, beyond } as const
  const scales = columns.map((_, index) => powerAbove(range![`m${index}`] as number))
  const scaled = columns.map((_, index) => `v${index} / ${double(scales[index]!)} as u${index}`).join(', ')
  const shifts = columns.map((_, index) => `favg(u${index}) as s${index}`).join(', ')
  const pairs = columns.flatMap((_, i) => columns.slice(i).map((__, j) => [i, i + j] as const))
  const about = `u as (select g, ${scaled} from ${source}), shifts as (select g, ${shifts} from u group by g),
       d as (select g, ${columns.map((_, i) => `s${i}, u${i} - s${i} as d${i}`).join(', ')} from u join shifts using (g))`
  // Values far from zero lie near their mean. Sums about zero would lose their spread to rounding.
  const [widest] = await units.query(
    `with ${about} select ${columns.map((_, i) => `max(abs(d${i})) as r${i}`).join(', ')} from d`,
  )
  const bounds = columns.map((_, i) => powerAbove(widest![`r${i}`] as number))
  const rows = await units.query(
    `with ${about} select ${nameSql('g')} as name, count(*) as n,
       ${columns.map((_, i) => `any_value(s${i}) as s${i}, ${momentSql(`d${i}`, bounds[i]!, total)} as t${i}`).join(', ')},
       ${pairs.map(([i, j]) => `${momentSql(`d${i} * d${j}`, bounds[i]! * bounds[j]!, total)} as p${i}_${j}`).join(', ')}
     from d group by g order by name`,
  )
  for (const row of rows) {
    const n = row.n as number
    const sums = columns.map((_, i) => readSum(row[`t${i}`], bounds[i]!))
    const means = columns.map((_, i) => ((row[`s${i}`] as number) + sums[i]! / n) * scales[i]!)
    const covariance = (i: number, j: number): number => {
      const [a, b] = i < j ? [i, j] : [j, i]
      const products = readSum(row[`p${a}_${b}`], bounds[a]! * bounds[b]!) - (sums[a]! * sums[b]!) / n
      const found = n > 1 ? (products / (n - 1)) * scales[a]! * scales[b]! : 0
      if (i === j && n > 1 && products !== 0 && !isSquare(found)) beyond = true
      return found
    }
    const covariances = columns.map((_, i) => columns.map((__, j) => covariance(i, j)))
    moments.set(row.name as string, { n, means, covariances })
  }
  return { moments, left, reach, beyond } as const
}

/** Returns the least and the largest linear contribution of a unit to the metric in each arm, and the kurtosis. */
export async function extremesOf(table: Relation, source: string, units: MetricUnits, theta: number) {
  const whole = [...units.moments.values()]
  const n = whole.reduce((all, arm) => all + arm.n, 0)
  const mean = (index: number): number => whole.reduce((all, arm) => all + (arm.n / n) * arm.means[index]!, 0)
  const [y, x] = units.columns
  const ratio = mean(0) / mean(1)
  const plain = units.ratio ? `(${y} - ${double(ratio)} * ${x}) / ${double(mean(1))} + ${double(ratio)}` : y!
  const value = units.covariate ? `${plain} - ${double(theta)} * ${units.columns.at(-1)!}` : plain
  const each = `(select g, ${value} as v from ${source} where ${units.known})`
  const rows = await table.query(
    `select ${nameSql('g')} as name, min(v) as low, max(v) as high, max(abs(v)) as size from ${each} where isfinite(v) group by g`,
  )
  const size = Math.max(0, ...rows.map((row) => row.size as number))
  const kurtosis = await kurtosisOf(table, each, powerAbove(size))
  const ends = new Map(
    rows.map((row) => [row.name as string, [row.low as number, row.high as number] as const]),
  )
  return { ends, kurtosis }
}
