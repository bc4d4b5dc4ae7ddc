/**
 * Writes the SQL of a metric whose days are kept: the rows that a database adds up, the first of its days, and the days
 * with marked rows.
 */
import type { PartitionRules } from '@assay/model/metric'
import type { PartitionedQuery, PartitionWindow } from '@assay/model/template'
import type { Dialect } from '../dialects/dialect.ts'
import { DUCKDB } from '../dialects/duckdb.ts'
import { dialectOf } from '../dialects/engines.ts'
import type { Metric } from '../metrics/definition.ts'
import { failing, tableOf, type Wanted } from '../metrics/metric-sql.ts'
import { printExpression } from '../metrics/print.ts'
import { keyName, STEP, valueName } from './statistics.ts'
import { MetricValue } from './value.ts'

/**
 * The names of the bounds of the days that are read, and of the day since which rows are marked. No variable of a
 * template has capitals.
 */
export const FROM = 'PARTITION_FROM'
export const UNTIL = 'PARTITION_UNTIL'

/**
 * Returns the query, or null if the days of the metric cannot be kept for what is wanted. The metric is then read in
 * full.
 */
export function partitionedQuery(metric: Metric, wanted: Wanted): PartitionedQuery | null {
  const { partitions: rules } = metric
  if (!rules || !isKept(metric, wanted)) return null
  const { statistics } = new MetricValue(metric)
  const { period } = wanted
  return {
    metric: metric.metric,
    rules,
    grain: wanted.grain,
    by: wanted.by,
    statistics: statistics.map(({ kind }) => kind),
    period: period && { start: period.start, end: period.end },
    rowsFor(kind, window, wide, rule) {
      const dialect = dialectOf(kind)
      const named = (sql: string, name: string): string => `${sql} as ${dialect.identifier(name)}`
      const time = dialect.identifier(metric.time.column)
      const values = statistics.flatMap(({ of }, index) => {
        if (of === null) return []
        const value = printExpression(of, dialect)
        return [named(wide[index] ? dialect.wide(value) : value, valueName(index))]
      })
      const list = [
        named(dialect.step(time, stepOf(wanted)), STEP),
        ...wanted.by.map((name, index) => named(dialect.identifier(name), keyName(index))),
        ...values,
      ]
      const conditions = [...conditionsOf(metric, wanted, dialect), ...windowOf(time, window), ...ruled(rule)]
      return `select ${list.join(', ')} from ${tableOf(metric, dialect)} where ${conditions.join(' and ')}`
    },
    firstFor: (kind) => firstDay(metric, dialectOf(kind)),
    changedFor: (kind) => changedDays(metric, rules, dialectOf(kind)),
  }
}

/**
 * Tells whether the values can be kept. A count of different values is kept only for the steps in which it was counted.
 */
function isKept(metric: Metric, { grain }: Wanted): boolean {
  const { statistics } = new MetricValue(metric)
  return grain === 'hour' || grain === 'day' || statistics.every(({ kind }) => kind !== 'distinct')
}

const stepOf = ({ grain }: Wanted): 'hour' | 'day' => (grain === 'hour' ? 'hour' : 'day')

function conditionsOf(metric: Metric, wanted: Wanted, dialect: Dialect): string[] {
  const conditions: string[] = []
  for (const condition of [metric.where, wanted.where])
    if (condition) conditions.push(printExpression(condition, dialect))
  return conditions
}

const ruled = (rule: string | null): string[] => (rule === null ? [] : [rule])

function windowOf(time: string, window: PartitionWindow): string[] {
  if (window === 'untimed') return [`${time} is null`]
  const { from, until } = window
  return [
    `${time} is not null`,
    ...(from ? [`${time} >= $${FROM}`] : []),
    ...(until ? [`${time} < $${UNTIL}`] : []),
  ]
}

/**
 * Returns the tests of a metric, counted by day over all rows, before `where`. Returns null if a test cannot be made by
 * day, such as whether a value is unique.
 */
export function partitionedTests(metric: Metric): PartitionedQuery | null {
  const { partitions: rules, tests } = metric
  if (!rules || tests.some(({ kind }) => kind === 'unique')) return null
  const counted = tests.flatMap((test, index) => {
    const failsFor = (dialect: Dialect): string | null => failing(test, dialect)
    return failsFor(DUCKDB) === null ? [] : [{ name: `test_${index}`, failsFor }]
  })
  return {
    metric: metric.metric,
    rules,
    grain: 'day',
    by: [],
    statistics: ['rows', ...counted.map(() => 'count' as const)],
    period: null,
    rowsFor(kind, window, _wide, rule) {
      const dialect = dialectOf(kind)
      const time = dialect.identifier(metric.time.column)
      const values = counted.map(
        ({ failsFor }, index) =>
          `case when ${failsFor(dialect)!} then 1 end as ${dialect.identifier(valueName(index + 1))}`,
      )
      const list = [`${dialect.step(time, 'day')} as ${dialect.identifier(STEP)}`, ...values]
      const conditions = [...windowOf(time, window), ...ruled(rule)]
      return `select ${list.join(', ')} from ${tableOf(metric, dialect)} where ${conditions.join(' and ')}`
    },
    firstFor: (kind) => firstDay(metric, dialectOf(kind)),
    changedFor: (kind) => changedDays(metric, rules, dialectOf(kind)),
    untimed: {
      names: ['n', ...counted.map(({ name }) => name)],
      newestFor(kind, window, rule) {
        const dialect = dialectOf(kind)
        const time = dialect.identifier(metric.time.column)
        const conditions = [...windowOf(time, window), ...ruled(rule)]
        return `select ${extreme('max', time)} as ${dialect.identifier('newest')} from ${tableOf(metric, dialect)} where ${conditions.join(' and ')}`
      },
    },
  }
}

/** Returns SQL of an extreme, null for no rows. ClickHouse gives 1970 for no rows. */
export const extreme = (name: 'min' | 'max', time: string): string =>
  `case when count(${time}) > 0 then ${name}(${time}) end`

function firstDay(metric: Metric, dialect: Dialect): string {
  const first = dialect.step(extreme('min', dialect.identifier(metric.time.column)), 'day')
  return `select ${first} as ${dialect.identifier('first')} from ${tableOf(metric, dialect)}`
}

/**
 * Returns SQL of the days with marked rows. It includes rows that `where` leaves out, because a marked row may have
 * counted before.
 */
function changedDays(metric: Metric, { changed }: PartitionRules, dialect: Dialect): string {
  const time = dialect.identifier(metric.time.column)
  const day = dialect.step(time, 'day')
  const since = `${time} is not null and ${dialect.identifier(changed!)} >= $${FROM}`
  return `select ${day} as ${dialect.identifier('day')} from ${tableOf(metric, dialect)} where ${since} group by ${day}`
}

/** Returns SQL of the series from the statistics of its steps, with the types of a series that is computed here. */
export function seriesSql(metric: Metric, relation: string, wanted: Wanted): string {
  const type = wanted.grain === 'hour' ? 'timestamp' : 'date'
  const { columns } = new MetricValue(metric)
  const list = [
    `cast("time" as ${type}) as "time"`,
    ...wanted.by.map((name) => DUCKDB.identifier(name)),
    ...Object.entries(columns).map(([name, sql]) => `cast(${sql} as double) as "${name}"`),
  ]
  return `select ${list.join(', ')} from ${DUCKDB.identifier(relation)} order by all`
}
