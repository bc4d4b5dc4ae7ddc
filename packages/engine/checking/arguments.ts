/** The arguments of a tag as they are written. */
import type { Expression, Literal, NamedArgument } from '../language/expressions.ts'
import type { Statement } from '../language/statements.ts'
import type { Judge } from './expressions.ts'
import { type Static, withArticle } from './static-values.ts'

export const argument = (statement: Statement, name: string): NamedArgument | undefined =>
  statement.named.find((one) => one.name === name)

export function literal(expression: Expression | undefined): Literal['value'] {
  const operand = expression?.operands[0]
  return operand?.kind === 'literal' && expression!.filters.length === 0 ? operand.value : null
}

export function textOf(statement: Statement, name: string): string | null {
  const value = literal(argument(statement, name)?.value)
  return typeof value === 'string' ? value : null
}

export function positionOf(statement: Statement, name: string): { offset: number; given: boolean } {
  const found = argument(statement, name)
  return { offset: found?.value.begin ?? statement.begin, given: true }
}

/** Returns the literal texts of an option: a text, the texts of a list, or the keys of a map with their values. */
export function textsOf(
  statement: Statement,
  name: string,
): { text: string; offset: number; value?: string | null }[] {
  const expression = argument(statement, name)?.value
  const operand = expression?.operands[0]
  if (operand?.kind === 'literal' && typeof operand.value === 'string') {
    return [{ text: operand.value, offset: operand.begin }]
  }
  if (operand?.kind === 'list') {
    return operand.items.flatMap((item) => {
      const value = literal(item)
      return typeof value === 'string' ? [{ text: value, offset: item.begin }] : []
    })
  }
  if (operand?.kind !== 'map') return []
  return operand.entries.map((entry) => {
    const value = literal(entry.value)
    return { text: entry.name, offset: entry.begin, value: typeof value === 'string' ? value : null }
  })
}

export function requireRows(statement: Statement, value: Static, judge: Judge): void {
  if (value.kind === 'scalar' || (value.kind === 'object' && !value.open)) {
    const what = value.kind === 'scalar' ? withArticle(value.type) : value.name
    const remedy = 'Name an SQL block, or a list of an analysis such as X.points.'
    judge.report(
      'wrong_type',
      statement.expressions[0]!.begin,
      `${statement.tag} needs rows, not ${what}.`,
      remedy,
    )
  }
}
