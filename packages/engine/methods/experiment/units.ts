/**
 * Reads the units of an experiment: one observation for each unit and arm, made in SQL. For each metric the means and
 * covariances of each arm are fetched. They are computed about shifts near the mean, so that no digits cancel. The rows
 * are read once for the sizes of the arms, and three times for each metric (more with a cap or a covariate).
 */
import { NotAsked } from '../../dialects/scope.ts'
import { MOST_ARMS } from '../ab-test/observations.ts'
import { groupSql, isTemporal, nameSql, numberSql, timeColumn } from '../shared/columns.ts'
import { MethodError, quote, type Relation } from '../shared/method.ts'
import { ofEachGroup } from '../shared/moments.ts'
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
  const { seen, ...sizes } = await sizesOf(table, unit, arm)
  const [span] = time
    ? await table.query(`select cast(max(day) - min(day) + 1 as double) as days from ${source}`)
    : []
  const metrics: MetricUnits[] = []
  for (const [index, metric] of asked.metrics.entries())
    metrics.push(await metricUnits({ ...table, relation: source }, metric, index))
  const days = (span?.days as number | null | undefined) ?? null
  return { source, seen, ...sizes, days, metrics }
}

/** The most rows of an answer with the sizes of arms: units in no arm, in one and in several. */
const MOST_SIZES = 3 * (MOST_ARMS + 1)

/** Returns the number of units of each arm, of their rows, of units in several arms, and of rows without a unit or an arm. */
async function sizesOf(
  table: Relation,
  unit: string,
  arm: string,
): Promise<Pick<Units, 'seen' | 'rows' | 'across' | 'left'>> {
  const each = `(select ${unit} as unit, ${arm} as g, count(*) as size from ${table.relation} group by ${unit}, ${arm})`
  const units = `(select unit, min(g) as g, sum(size) as size, sum(case when g is null then size else 0 end) as bare,
       case when unit is null then 0 when count(g) > 1 then 2 else count(g) end as arms from ${each} group by unit)`
  const found = await table.query(
    `select ${nameSql('g')} as name, arms, count(*) as n, sum(size)::double as size, sum(bare)::double as bare
     from ${units} group by g, arms order by name limit ${MOST_SIZES}`,
  )
  const known = found.filter(({ arms }) => (arms as number) > 0)
  const sum = (rows: typeof found, field: 'n' | 'size' | 'bare'): number =>
    rows.reduce((all, row) => all + (row[field] as number), 0)
  const across = sum(
    known.filter(({ arms }) => arms === 2),
    'n',
  )
  const counts =
    across === 0
      ? known
      : await table.query(
          `select ${nameSql('g')} as name, count(*) as n from ${each} where unit is not null and g is not null group by g order by name limit ${MOST_ARMS + 1}`,
        )
  if (counts.length > MOST_ARMS)
    throw new MethodError(`arm: more than ${MOST_ARMS} arms; group them in the SQL block.`)
  const rows = sum(known, 'size') - sum(known, 'bare')
  const seen = Object.fromEntries(counts.map((row) => [row.name as string, row.n as number]))
  return { seen, rows, across, left: sum(found, 'size') - rows }
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

interface ArmRange {
  name: string
  n: number
  /** The least value, the largest and the mean of each column. */
  columns: { low: number; high: number; mean: number }[]
}

/** Returns the range of each column in each arm, with its mean if no sum of it overflows, which some databases refuse. */
async function rangesOf(units: Relation, columns: readonly string[], known: string, ratio: boolean) {
  const named = columns.map((column, index) => `${column} as v${index}`).join(', ')
  const source = `(select g, ${named}, case when ${known} then 1 else 0 end as known from ${units.relation})`
  const ask = (meanOf: (name: string) => string) => {
    const each = columns.map((_, index) => {
      const v = `v${index}`
      return `min(${v}) filter (known = 1) as low${index}, max(${v}) filter (known = 1) as high${index}, ${meanOf(v)} as mean${index}`
    })
    return units.query(
      `select ${nameSql('g')} as name, count(*) as total, count(*) filter (known = 1) as n, ${each.join(', ')},
         count(*) filter (known = 1 and ${ratio ? 'v0 > v1' : 'v0 not in (0, 1)'}) as beyond from ${source} group by g order by name`,
    )
  }
  const rows = await ask((v) => `favg(${v}) filter (known = 1)`).catch((error: unknown) => {
    if (error instanceof NotAsked) return ask(() => 'null::double')
    throw error
  })
  const arms = rows
    .filter((row) => (row.n as number) > 0)
    .map((row): ArmRange => {
      const of = (field: string, index: number): number =>
        (row[`${field}${index}`] as number | null) ?? Number.NaN
      return {
        name: row.name as string,
        n: row.n as number,
        columns: columns.map((_, i) => ({ low: of('low', i), high: of('high', i), mean: of('mean', i) })),
      }
    })
  const sum = (field: 'total' | 'n' | 'beyond'): number =>
    rows.reduce((all, row) => all + (row[field] as number), 0)
  const isPositive = arms.every((arm) => arm.columns.slice(0, ratio ? 2 : 1).every(({ low }) => low >= 0))
  const reach = isPositive ? (sum('beyond') === 0 ? 'share' : 'positive') : 'any'
  return { arms, n: sum('n'), left: sum('total') - sum('n'), reach } as const
}

/** Returns the mean of each column over its scale in each arm, of values whose plain sum overflows. */
async function scaledMeans(
  units: Relation,
  columns: readonly string[],
  known: string,
  scales: readonly number[],
): Promise<Map<string, number[]>> {
  const means = columns.map((column, i) => `favg(${column} / ${double(scales[i]!)}) as s${i}`)
  const rows = await units.query(
    `select ${nameSql('g')} as name, ${means.join(', ')} from ${units.relation} where ${known} group by g`,
  )
  return new Map(rows.map((row) => [row.name as string, columns.map((_, i) => row[`s${i}`] as number)]))
}

async function momentsOf(units: Relation, columns: readonly string[], known: string, ratio: boolean) {
  const { arms, n: total, left, reach } = await rangesOf(units, columns, known, ratio)
  const moments = new Map<string, UnitMoments>()
  let beyond = false
  if (total === 0) return { moments, left, reach, beyond } as const
  const scales = columns.map((_, i) =>
    powerAbove(
      Math.max(...arms.flatMap((arm) => [Math.abs(arm.columns[i]!.low), Math.abs(arm.columns[i]!.high)])),
    ),
  )
  const isPlain = arms.every((arm) => arm.columns.every(({ mean }) => Number.isFinite(mean)))
  const shifts = isPlain
    ? new Map(arms.map((arm) => [arm.name, arm.columns.map(({ mean }, i) => mean / scales[i]!)]))
    : await scaledMeans(units, columns, known, scales)
  // Values far from zero lie near their mean. Sums about zero would lose their spread to rounding.
  const bounds = columns.map((_, i) => {
    const away = arms.flatMap(({ name, columns: of }) => {
      const [shift, scale] = [shifts.get(name)![i]!, scales[i]!]
      return [of[i]!.high / scale - shift, shift - of[i]!.low / scale]
    })
    return powerAbove(Math.max(0, ...away))
  })
  const pairs = columns.flatMap((_, i) => columns.slice(i).map((__, j) => [i, i + j] as const))
  const distances = columns.map((column, i) => {
    const own = [...shifts].map(([name, of]) => [name, of[i]!] as const)
    return `${column} / ${double(scales[i]!)} - ${ofEachGroup('g', own)} as d${i}`
  })
  const rows = await units.query(
    `with d as (select g, ${distances.join(', ')} from ${units.relation} where ${known})
     select ${nameSql('g')} as name, count(*) as n,
       ${columns.map((_, i) => `${momentSql(`d${i}`, bounds[i]!, total)} as t${i}`).join(', ')},
       ${pairs.map(([i, j]) => `${momentSql(`d${i} * d${j}`, bounds[i]! * bounds[j]!, total)} as p${i}_${j}`).join(', ')}
     from d group by g order by name`,
  )
  for (const row of rows) {
    const n = row.n as number
    const sums = columns.map((_, i) => readSum(row[`t${i}`], bounds[i]!))
    const own = shifts.get(row.name as string)!
    const means = columns.map((_, i) => (own[i]! + sums[i]! / n) * scales[i]!)
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

/** The distance from the mean, in spreads, below which its fourth power counts as zero. It would underflow. */
const NEAR = 1e-60

/**
 * Returns the least and the largest linear contribution of a unit to the metric in each arm, and the excess kurtosis of
 * these values about the mean of their arm.
 */
export async function extremesOf(table: Relation, source: string, units: MetricUnits, theta: number) {
  const whole = [...units.moments]
  const n = whole.reduce((all, [, arm]) => all + arm.n, 0)
  const mean = (index: number): number =>
    whole.reduce((all, [, arm]) => all + (arm.n / n) * arm.means[index]!, 0)
  const [y, x] = units.columns
  const ratio = mean(0) / mean(1)
  const plain = units.ratio ? `(${y} - ${double(ratio)} * ${x}) / ${double(mean(1))} + ${double(ratio)}` : y!
  const value = units.covariate ? `${plain} - ${double(theta)} * ${units.columns.at(-1)!}` : plain
  const weights = [
    ...(units.ratio ? [1 / mean(1), -ratio / mean(1)] : [1]),
    ...(units.covariate ? [-theta] : []),
  ]
  const levels = whole.map(([name, arm]) => {
    const centre = weights.reduce((sum, weight, i) => sum + weight * arm.means[i]!, units.ratio ? ratio : 0)
    const square = weights.reduce(
      (sum, a, i) => sum + weights.reduce((inner, b, j) => inner + a * b * arm.covariances[i]![j]!, 0),
      0,
    )
    const spread = Math.sqrt((Math.max(0, square) * (arm.n - 1)) / arm.n)
    return { name, centre, share: spread > 0 && Number.isFinite(1 / spread) ? 1 / spread : 0 }
  })
  const own = (field: 'centre' | 'share'): string =>
    ofEachGroup(
      'g',
      levels.map((level) => [level.name, level[field]]),
    )
  const each = `(select g, ${value} as v from ${source} where ${units.known})`
  const rows = await table.query(
    `with u as (select g, v, (v - ${own('centre')}) * ${own('share')} as w from ${each} where isfinite(v))
     select ${nameSql('g')} as name, count(*) as n, min(v) as low, max(v) as high,
       favg(case when abs(w) < ${double(NEAR)} then 0::double else w * w * w * w end) as fourth from u group by g`,
  )
  const ends = new Map(
    rows.map((row) => [row.name as string, [row.low as number, row.high as number] as const]),
  )
  const shares = new Map(levels.map(({ name, share }) => [name, share]))
  // Rounding gives equal values a spread, too.
  const vary = rows.filter((row) => row.low !== row.high && (shares.get(row.name as string) ?? 0) > 0)
  const size = vary.reduce((sum, row) => sum + (row.n as number), 0)
  const fourth = vary.reduce((sum, row) => sum + ((row.n as number) / size) * (row.fourth as number), 0)
  return { ends, kurtosis: size < 20 ? null : finite(fourth - 3) }
}
