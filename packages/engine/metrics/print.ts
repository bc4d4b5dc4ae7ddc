/** Prints the expressions of metrics as SQL of one engine: quotes, literals, division and steps of time differ. */
import type { Grain } from '@assay/model/metric'
import type { Node } from './expression.ts'

export interface Dialect {
  identifier(name: string): string
  text(value: string): string
  /** The first moment of the step that holds the time, as a date (an hour: as a timestamp). */
  step(time: string, grain: Grain): string
}

const doubled = (name: string): string => `"${name.replaceAll('"', '""')}"`
const backticked = (name: string): string => `\`${name.replaceAll('`', '``')}\``
const plainText = (value: string): string => `'${value.replaceAll("'", "''")}'`
const escapedText = (value: string): string => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

/** The engine of Assay itself. `time` is a timestamp of the metric's zone. */
export const DUCKDB: Dialect = {
  identifier: doubled,
  text: plainText,
  step: (time, grain) =>
    grain === 'hour' ? `date_trunc('hour', ${time})` : `cast(date_trunc('${grain}', ${time}) as date)`,
}

const POSTGRESQL: Dialect = {
  identifier: doubled,
  text: plainText,
  // The session has the metric's zone, so a timestamp with a zone is cut in it and one without is taken as it stands.
  step: (time, grain) =>
    grain === 'hour'
      ? `cast(date_trunc('hour', ${time}) as timestamp)`
      : `cast(date_trunc('${grain}', ${time}) as date)`,
}

const MYSQL: Dialect = {
  identifier: backticked,
  text: escapedText,
  step: (time, grain) =>
    ({
      hour: `cast(date_format(${time}, '%Y-%m-%d %H:00:00') as datetime)`,
      day: `date(${time})`,
      week: `date(date_sub(${time}, interval weekday(${time}) day))`,
      month: `cast(date_format(${time}, '%Y-%m-01') as date)`,
      quarter: `cast(concat(year(${time}), '-', lpad(3 * quarter(${time}) - 2, 2, '0'), '-01') as date)`,
      year: `cast(concat(year(${time}), '-01-01') as date)`,
    })[grain],
}

const SQLITE: Dialect = {
  identifier: doubled,
  text: plainText,
  step: (time, grain) =>
    ({
      hour: `strftime('%Y-%m-%d %H:00:00', ${time})`,
      day: `date(${time})`,
      week: `date(${time}, '-6 days', 'weekday 1')`,
      month: `date(${time}, 'start of month')`,
      quarter: `date(${time}, 'start of month', '-' || ((cast(strftime('%m', ${time}) as integer) - 1) % 3) || ' months')`,
      year: `date(${time}, 'start of year')`,
    })[grain],
}

const CLICKHOUSE: Dialect = {
  identifier: backticked,
  text: escapedText,
  step: (time, grain) =>
    ({
      hour: `toStartOfHour(${time})`,
      day: `toDate(${time})`,
      week: `toMonday(${time})`,
      month: `toStartOfMonth(${time})`,
      quarter: `toStartOfQuarter(${time})`,
      year: `toStartOfYear(${time})`,
    })[grain],
}

/** The dialect of a database; kinds that hold files have none. */
export function dialectOf(kind: string): Dialect {
  switch (kind) {
    case 'mysql':
      return MYSQL
    case 'sqlite':
      return SQLITE
    case 'clickhouse':
      return CLICKHOUSE
    default:
      return POSTGRESQL
  }
}

/** Every part stands in brackets, so that no engine's precedence matters. Division is exact, and by zero it is null. */
export function printExpression(node: Node, dialect: Dialect): string {
  const print = (inner: Node): string => printExpression(inner, dialect)
  switch (node.kind) {
    case 'column':
      return dialect.identifier(node.name)
    case 'number':
      return node.text
    case 'text':
      return dialect.text(node.value)
    case 'constant':
      return node.value
    case 'variable':
      return `$${node.name}`
    case 'binary':
      return node.operator === '/'
        ? `(1e0 * ${print(node.left)} / nullif(${print(node.right)}, 0))`
        : `(${print(node.left)} ${node.operator} ${print(node.right)})`
    case 'not':
      return `(not ${print(node.of)})`
    case 'minus':
      return `(-${print(node.of)})`
    case 'is_null':
      return `(${print(node.of)} is ${node.not ? 'not ' : ''}null)`
    case 'in':
      return `(${print(node.of)} ${node.not ? 'not ' : ''}in (${node.list.map(print).join(', ')}))`
    case 'case': {
      const branches = node.branches.map(({ when, result }) => `when ${print(when)} then ${print(result)}`)
      const otherwise = node.otherwise ? ` else ${print(node.otherwise)}` : ''
      return `(case ${branches.join(' ')}${otherwise} end)`
    }
    case 'aggregate':
      return `${node.name}(${node.distinct ? 'distinct ' : ''}${node.of ? print(node.of) : '*'})`
  }
}
