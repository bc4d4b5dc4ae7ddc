/**
 * Writes the SQL of a metric. Over files the rows are a source of the template and the engine adds them up. Over a
 * connection the database adds them up, and only the series and the results of the tests are read here.
 */
import type { Grain, MetricInfo, MetricTest } from '@assay/model/metric'
import type { Dialect } from '../dialects/dialect.ts'
import { DUCKDB } from '../dialects/duckdb.ts'
import type { Metric } from './definition.ts'
import type { Node } from './expression.ts'
import { printExpression } from './print.ts'

/** The options with which a template reads a metric. */
export interface Wanted {
  by: string[]
  grain: Grain
  /** SQL of the days between which rows count, with `$name.start`; null for all days. */
  period: { start: string; end: string; optional: boolean } | null
  where: Node | null
}

/** The time of a row in the metric's zone. */
const LOCAL = 'time of the metric'

/**
 * Returns the time of a row in the metric's zone. Both branches have the type that they need, whatever the type of
 * the column. A time without a zone is in the metric's zone.
 */
function localTime(column: string, zone: string): string {
  const name = DUCKDB.identifier(column)
  return `case when typeof(${name}) = 'TIMESTAMP WITH TIME ZONE' then timezone(${DUCKDB.text(zone)}, cast(${name} as timestamptz)) else cast(${name} as timestamp) end`
}

interface Pieces {
  time: string
  step: string
  keys: string[]
  values: string[]
  conditions: string[]
  period: string
}

function piecesOf(metric: Metric, wanted: Wanted, dialect: Dialect, time: string): Pieces {
  const print = (node: Node): string => printExpression(node, dialect)
  const values = [`${print(metric.value)} as ${dialect.identifier('value')}`]
  if (metric.ratio)
    values.push(
      `${print(metric.ratio.numerator)} as ${dialect.identifier('numerator')}`,
      `${print(metric.ratio.denominator)} as ${dialect.identifier('denominator')}`,
    )
  const conditions = [`${time} is not null`]
  for (const condition of [metric.where, wanted.where]) if (condition) conditions.push(print(condition))
  const { period } = wanted
  const within = period ? ` and ${time} >= ${period.start} and ${time} < ${period.end}` : ''
  return {
    time,
    step: dialect.step(time, wanted.grain),
    keys: wanted.by.map((name) => dialect.identifier(name)),
    values,
    conditions,
    period: period?.optional ? ` [[${within} ]]` : within,
  }
}

/** Returns the series of a metric whose rows are the relation, a source of the template. */
export function fileSql(metric: Metric, relation: string, wanted: Wanted): string {
  const local = DUCKDB.identifier(LOCAL)
  const pieces = piecesOf(metric, wanted, DUCKDB, local)
  const numbers = pieces.values.map((one) => one.replace(/ as ("[a-z]+")$/, '::double as $1'))
  const from = `(select *, ${localTime(metric.time.column, metric.time.zone)} as ${local} from ${DUCKDB.identifier(relation)})`
  const list = [`${pieces.step} as "time"`, ...pieces.keys, ...numbers].join(', ')
  return `select ${list} from ${from} where ${pieces.conditions.join(' and ')}${pieces.period} group by all order by all`
}

/** Returns the text from which a query reads. */
export function tableOf(metric: Metric, dialect: Dialect): string {
  const { table, sql } = metric.source
  if (sql !== null) return `(\n${sql.trim().replace(/;$/, '')}\n) ${dialect.identifier('rows_of_metric')}`
  return table!
    .split('.')
    .map((part) => dialect.identifier(part))
    .join('.')
}

/** Returns a query of the column that is cut into steps. It is only prepared, to learn the type. */
export function remoteTime(metric: Metric, dialect: Dialect): string {
  return `select ${dialect.identifier(metric.time.column)} from ${tableOf(metric, dialect)}`
}

/** Returns a query of the columns that the rule of a metric names. It is only prepared, to learn their types. */
export function remoteRuleColumns(metric: Metric, dialect: Dialect): string {
  const list = metric.rows!.columns.map((name) => dialect.identifier(name)).join(', ')
  return `select ${list} from ${tableOf(metric, dialect)}`
}

/**
 * Returns the series of a metric over a connection, in the dialect of its database. `condition`: SQL of the rule of
 * its rows; null counts each row.
 */
export function remoteSql(
  metric: Metric,
  wanted: Wanted,
  dialect: Dialect,
  condition: string | null,
): string {
  const pieces = piecesOf(metric, wanted, dialect, dialect.identifier(metric.time.column))
  const keys = [pieces.step, ...pieces.keys]
  const list = [`${pieces.step} as ${dialect.identifier('time')}`, ...pieces.keys, ...pieces.values].join(
    ', ',
  )
  const conditions = condition === null ? pieces.conditions : [condition, ...pieces.conditions]
  const where = `${conditions.join(' and ')}${pieces.period}`
  return `select ${list} from ${tableOf(metric, dialect)} where ${where} group by ${keys.join(', ')} order by ${keys.join(', ')}`
}

/** Returns the rows of a series from a database, with the types of a series that is computed here. */
export function receivedSql(metric: Metric, relation: string, wanted: Wanted): string {
  const type = wanted.grain === 'hour' ? 'timestamp' : 'date'
  const numbers = ['value', ...(metric.ratio ? ['numerator', 'denominator'] : [])]
  const list = [
    `cast("time" as ${type}) as "time"`,
    ...wanted.by.map((name) => DUCKDB.identifier(name)),
    ...numbers.map((name) => `cast("${name}" as double) as "${name}"`),
  ]
  return `select ${list.join(', ')} from ${DUCKDB.identifier(relation)} order by all`
}

/**
 * Returns the columns of one row: `n`, the number of rows; `newest`, the latest time; and for each other test the
 * number of failing rows. Empty without tests.
 */
function testList(metric: MetricInfo, dialect: Dialect): string[] {
  return metric.tests.flatMap((test, index) => {
    const as = ` as ${dialect.identifier(`test_${index}`)}`
    if (test.kind === 'unique') {
      const column = dialect.identifier(test.column)
      return [`count(${column}) - count(distinct ${column})${as}`]
    }
    const fails = failing(test, dialect)
    return fails === null ? [] : [`sum(case when ${fails} then 1 else 0 end)${as}`]
  })
}

/** Returns SQL that is true for a row that fails the test; null if no single row fails it. */
export function failing(test: MetricTest, dialect: Dialect): string | null {
  if (test.kind === 'fresh') return null
  const column = dialect.identifier(test.column)
  if (test.kind === 'not_null') return `${column} is null`
  if (test.kind !== 'accepted') return null
  const values = test.values.map((value) => (typeof value === 'string' ? dialect.text(value) : String(value)))
  return `${column} is not null and ${column} not in (${values.join(', ')})`
}

export function fileTests(metric: Metric, relation: string): string | null {
  if (metric.tests.length === 0) return null
  const local = localTime(metric.time.column, metric.time.zone)
  const list = ['count(*) as n', `cast(max(${local}) as varchar) as newest`, ...testList(metric, DUCKDB)]
  return `select ${list.join(', ')} from ${DUCKDB.identifier(relation)}`
}

export function remoteTests(metric: Metric, dialect: Dialect, condition: string | null): string {
  const newest = `max(${dialect.identifier(metric.time.column)})`
  const list = [
    `count(*) as ${dialect.identifier('n')}`,
    `${newest} as ${dialect.identifier('newest')}`,
    ...testList(metric, dialect),
  ]
  const where = condition === null ? '' : ` where ${condition}`
  return `select ${list.join(', ')} from ${tableOf(metric, dialect)}${where}`
}

export function receivedTests(metric: Metric, relation: string): string {
  const local = localTime('newest', metric.time.zone)
  return `select * replace (cast(${local} as varchar) as newest) from ${DUCKDB.identifier(relation)}`
}
