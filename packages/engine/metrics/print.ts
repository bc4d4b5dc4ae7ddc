/** Prints the expressions of metrics as SQL of one engine, because quotes, literals and division differ. */
import type { Dialect } from '../dialects/dialect.ts'
import type { Node } from './expression.ts'

/**
 * Prints an expression. Every part stands in brackets, so that no engine's precedence matters. Division is exact, and
 * null by zero.
 */
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
