/**
 * The small language in which Assay writes queries to databases, printed for each of them (print.ts, NAME.ts). An
 * expression is a tree of typed nodes, never text. So no text of a template gets into SQL except the query that its
 * author wrote.
 */
export type Expression =
  | { kind: 'column'; name: string }
  | { kind: 'number'; value: number }
  | { kind: 'nothing' }
  | { kind: 'arithmetic'; operator: '+' | '-' | '*' | '/'; left: Expression; right: Expression }
  | { kind: 'comparison'; operator: '<' | '<=' | '>='; left: Expression; right: Expression }
  | { kind: 'and' | 'or'; of: readonly Expression[] }
  | { kind: 'case'; when: Expression; result: Expression; otherwise: Expression }
  | { kind: 'size'; of: Expression }
  /** A number as a double. Any other value is null. */
  | { kind: 'double'; of: Expression }
  /** True if a double is neither null, nor infinite, nor NaN. */
  | { kind: 'finite'; of: Expression }
  /** The integer part of a double below 2^53, as an integer. */
  | { kind: 'whole'; of: Expression }
  /** True if a value is not null. */
  | { kind: 'given'; of: Expression }
  /** A text by its bytes, whatever the column's collation treats as equal. It serves to group, and is not shown. */
  | { kind: 'bytes'; of: Expression }
  /** A text to show, of any type that Assay reads as text. */
  | { kind: 'shown'; of: Expression }
  /** Twice the mean rank of a value, from 2, as an integer. It needs a list of its own. */
  | { kind: 'ranked'; of: Expression }
  /**
   * The value of the row before, in the order of another value; null for the first row. It needs a list of its own.
   */
  | { kind: 'previous'; of: Expression; by: Expression }
  | { kind: 'aggregate'; name: AggregateName; of: Expression | null }

/**
 * The names of aggregates. `digits` is the sum of integers, as text. `broad` is that of integers below 2^61, as text of
 * one or two parts, of which the last has 30 bits. `mean` is the mean of doubles, rounded as the
 * database does.
 */
export type AggregateName = 'count' | 'distinct' | 'digits' | 'broad' | 'mean' | 'min' | 'max'

export interface Select {
  from: From
  where?: Expression
  /** Values by which rows are grouped, under their names. */
  keys?: Readonly<Record<string, Expression>>
  /**
   * Further columns under their names; they are aggregates if there are keys. No name equals one of the columns read.
   */
  list: Readonly<Record<string, Expression>>
  order?: readonly { name: string; descending?: boolean }[]
  limit?: number
}

/** The rows of a query. `query`: the author's own SELECT, in the engine's SQL, without a semicolon at its end. */
export type From = { query: string } | { select: Select }

export const column = (name: string): Expression => ({ kind: 'column', name })
export const number = (value: number): Expression => ({ kind: 'number', value })
export const NOTHING: Expression = { kind: 'nothing' }

const arithmetic =
  (operator: '+' | '-' | '*' | '/') =>
  (left: Expression, right: Expression): Expression => ({ kind: 'arithmetic', operator, left, right })
export const plus = arithmetic('+')
export const minus = arithmetic('-')
export const times = arithmetic('*')
export const over = arithmetic('/')

const comparison =
  (operator: '<' | '<=' | '>=') =>
  (left: Expression, right: Expression): Expression => ({ kind: 'comparison', operator, left, right })
export const below = comparison('<')
export const atMost = comparison('<=')
export const atLeast = comparison('>=')

export const and = (...of: Expression[]): Expression => ({ kind: 'and', of })
export const or = (...of: Expression[]): Expression => ({ kind: 'or', of })
export const size = (of: Expression): Expression => ({ kind: 'size', of })
export const double = (of: Expression): Expression => ({ kind: 'double', of })
export const finite = (of: Expression): Expression => ({ kind: 'finite', of })
export const given = (of: Expression): Expression => ({ kind: 'given', of })
export const bytes = (of: Expression): Expression => ({ kind: 'bytes', of })
export const shown = (of: Expression): Expression => ({ kind: 'shown', of })
export const ranked = (of: Expression): Expression => ({ kind: 'ranked', of })
export const previous = (of: Expression, by: Expression): Expression => ({ kind: 'previous', of, by })
export const whole = (of: Expression): Expression => ({ kind: 'whole', of })

/** Returns an expression: the result if the condition holds, else `otherwise`, or null. */
export const where = (when: Expression, result: Expression, otherwise: Expression = NOTHING): Expression => ({
  kind: 'case',
  when,
  result,
  otherwise,
})

const aggregate =
  (name: AggregateName) =>
  (of: Expression): Expression => ({ kind: 'aggregate', name, of })
export const counted: Expression = { kind: 'aggregate', name: 'count', of: null }
export const count = aggregate('count')
export const distinct = aggregate('distinct')
export const digits = aggregate('digits')
export const broad = aggregate('broad')
export const mean = aggregate('mean')
export const least = aggregate('min')
export const most = aggregate('max')
