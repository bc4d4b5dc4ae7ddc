/**
 * Prints a query as one SELECT of a database's dialect. Every part stands in brackets, so that no database's precedence
 * matters.
 */
import type { Dialect } from './dialect.ts'
import type { AggregateName, Expression, From, Select } from './language.ts'

export function printSelect(select: Select, dialect: Dialect): string {
  const { from, where, keys = {}, list, order = [], limit } = select
  const print = (one: Expression): string => printExpression(one, dialect)
  const named = (sql: string, name: string): string => `${sql} as ${dialect.identifier(name)}`
  const columns = [
    ...Object.entries(keys).map(([name, key]) => named(print(key), name)),
    ...Object.entries(list).map(([name, one]) => named(print(one), name)),
  ]
  const sorted = order.map(({ name, descending }) => {
    return `${print(keys[name] ?? list[name]!)}${descending ? ' desc' : ''}`
  })
  return [
    `select ${columns.join(', ')}`,
    `from ${printFrom(from, dialect)}`,
    ...(where ? [`where ${print(where)}`] : []),
    ...(select.keys ? [`group by ${Object.values(keys).map(print).join(', ')}`] : []),
    ...(sorted.length > 0 ? [`order by ${sorted.join(', ')}`] : []),
    ...(limit === undefined ? [] : [`limit ${limit}`]),
  ].join('\n')
}

/** Prints a query in brackets. */
function printFrom(from: From, dialect: Dialect): string {
  const sql = 'query' in from ? from.query : printInner(from.select, dialect)
  // The author's SQL may end in a comment.
  return `(\n${sql}\n) ${dialect.identifier('asked')}`
}

function printInner(select: Select, dialect: Dialect): string {
  const sql = printSelect(select, dialect)
  // Columns that are read as they are cost nothing at each place, and PostgreSQL may then add up in its partitions.
  const isComputed =
    select.keys !== undefined || Object.values(select.list).some(({ kind }) => kind !== 'column')
  return select.limit === undefined && isComputed && dialect.once !== '' ? `${sql}\n${dialect.once}` : sql
}

function printExpression(node: Expression, dialect: Dialect): string {
  const print = (inner: Expression): string => printExpression(inner, dialect)
  switch (node.kind) {
    case 'column':
      return dialect.identifier(node.name)
    case 'number':
      return dialect.number(node.value)
    case 'nothing':
      return 'null'
    case 'arithmetic':
    case 'comparison':
      return `(${print(node.left)} ${node.operator} ${print(node.right)})`
    case 'and':
    case 'or':
      return `(${node.of.map(print).join(` ${node.kind} `)})`
    case 'case': {
      const otherwise = node.otherwise.kind === 'nothing' ? '' : ` else ${print(node.otherwise)}`
      return `(case when ${print(node.when)} then ${print(node.result)}${otherwise} end)`
    }
    case 'size':
      return `abs(${print(node.of)})`
    case 'double':
    case 'finite':
    case 'whole':
    case 'bytes':
    case 'shown':
      return dialect[node.kind](print(node.of))
    case 'given':
      return `(${print(node.of)} is not null)`
    case 'ranked': {
      // Equal values share the mean of their ranks.
      const of = print(node.of)
      return `(2 * rank() over (order by ${of}) + count(*) over (partition by ${of}) - 1)`
    }
    case 'previous':
      return dialect.previous(print(node.of), print(node.by))
    case 'aggregate':
      return printAggregate(node.name, node.of ? print(node.of) : '*', dialect)
  }
}

function printAggregate(name: AggregateName, of: string, dialect: Dialect): string {
  switch (name) {
    case 'digits':
    case 'broad':
      return dialect[name](of)
    case 'distinct':
      return `count(distinct ${of})`
    case 'mean':
      return `avg(${of})`
    default:
      return `${name}(${of})`
  }
}
