/** The SQL of a metric whose days are kept: the rows that a database adds up, the first of its days, and the days with marked rows. */
import type { PartitionRules } from '@assay/model/metric'
import type { PartitionedQuery, PartitionWindow } from '@assay/model/template'
import type { Dialect } from '../dialects/dialect.ts'
import { DUCKDB } from '../dialects/duckdb.ts'
import { dialectOf } from '../dialects/engines.ts'
import type { Metric } from '../metrics/definition.ts'
import { tableOf, type Wanted } from '../metrics/metric-sql.ts'
import { printExpression } from '../metrics/print.ts'
import { keyName, STEP, valueName } from './statistics.ts'
import { MetricValue } from './value.ts'

/** The bounds of the days that are read, and the day since which rows are marked: no variable of a template has capitals. */
export const FROM = 'PARTITION_FROM'
export const UNTIL = 'PARTITION_UNTIL'

/** Returns null if the days of the metric cannot be kept for what is wanted, and it is read in full. */
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
    rowsFor(kind, window, wide) {
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
      const conditions = [...conditionsOf(metric, wanted, dialect), ...windowOf(time, window)]
      return `select ${list.join(', ')} from ${tableOf(metric, dialect)} where ${conditions.join(' and ')}`
    },
    firstFor(kind) {
      const dialect = dialectOf(kind)
      const first = dialect.step(`min(${dialect.identifier(metric.time.column)})`, 'day')
      return `select ${first} as ${dialect.identifier('first')} from ${tableOf(metric, dialect)}`
    },
    changedFor: (kind) => changedDays(metric, rules, dialectOf(kind)),
  }
}

/** A count of different values is kept for the steps in which it was counted alone. */
function isKept(metric: Metric, { grain }: Wanted): boolean {
  const { statistics } = new MetricValue(metric)
  return grain === 'hour' || grain === 'day' || statistics.every(({ kind }) => kind !== 'distinct')
}

const stepOf = ({ grain }: Wanted): 'hour' | 'day' => (grain === 'hour' ? 'hour' : 'day')

function conditionsOf(metric: Metric, wanted: Wanted, dialect: Dialect): string[] {
  const conditions = [`${dialect.identifier(metric.time.column)} is not null`]
  for (const condition of [metric.where, wanted.where])
    if (condition) conditions.push(printExpression(condition, dialect))
  return conditions
}

function windowOf(time: string, { from, until }: PartitionWindow): string[] {
  return [...(from ? [`${time} >= $${FROM}`] : []), ...(until ? [`${time} < $${UNTIL}`] : [])]
}

/** Also of rows that `where` leaves out: one that is marked may have counted before. */
function changedDays(metric: Metric, { changed }: PartitionRules, dialect: Dialect): string {
  const time = dialect.identifier(metric.time.column)
  const day = dialect.step(time, 'day')
  const since = `${time} is not null and ${dialect.identifier(changed!)} >= $${FROM}`
  return `select ${day} as ${dialect.identifier('day')} from ${tableOf(metric, dialect)} where ${since} group by ${day}`
}

/** The series out of the statistics of its steps, with the types of one that is computed here. */
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
