/**
 * The expressions of metrics: `value`, `where` and the parts of a ratio. A small grammar: columns, literals, arithmetic,
 * comparison, and/or/not/in/is null, case; sum, count, count(distinct), avg, min, max. Anything else is a fault. The tree is
 * printed for each engine by print.ts, so that no text of a definition is pasted into SQL.
 */

import { refusalOf, SqlCursor, type SqlText, SqlTextFault, type Token } from '../language/sql-tokens.ts'

export const AGGREGATES = ['sum', 'count', 'avg', 'min', 'max'] as const
export type Aggregate = (typeof AGGREGATES)[number]

export type Node =
  | { kind: 'column'; name: string; at: number }
  /** The text of a number, as it is written. */
  | { kind: 'number'; text: string }
  | { kind: 'text'; value: string }
  | { kind: 'constant'; value: 'true' | 'false' | 'null' }
  /** A variable of the template: `$name` or `$name.start`. */
  | { kind: 'variable'; name: string; at: number }
  | { kind: 'binary'; operator: string; left: Node; right: Node }
  | { kind: 'not'; of: Node }
  | { kind: 'minus'; of: Node }
  | { kind: 'is_null'; of: Node; not: boolean }
  | { kind: 'in'; of: Node; list: Node[]; not: boolean }
  | { kind: 'case'; branches: { when: Node; result: Node }[]; otherwise: Node | null }
  /** An aggregate. `of` is null for count(*). */
  | { kind: 'aggregate'; name: Aggregate; distinct: boolean; of: Node | null; at: number }

const MAX_DEPTH = 60
const KEYWORDS = new Set('and or not in is null case when then else end true false distinct'.split(' '))
const KNOWN =
  'Use columns, numbers, texts in single quotes, + - * /, comparisons, and, or, not, in, is null, case, and sum, count, avg, min, max.'
const ELSEWHERE = 'Compute it in source.sql, or as a column of the file.'

const TEXT: SqlText = {
  name: 'expression',
  pattern:
    /\s+|(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)|'((?:[^']|'')*)'|"((?:[^"]|"")+)"|\$([a-z_][a-z0-9_]*(?:\.(?:start|end))?)|([\p{L}_][\p{L}\p{N}_]*)|(<>|!=|<=|>=|[=<>+\-*/(),])/uy,
  unreadable: (text, at) =>
    new SqlTextFault(`${JSON.stringify(text[at])} is not part of the expressions of metrics.`, at, KNOWN),
}

class Parser {
  readonly #cursor: SqlCursor
  #depth = 0

  constructor(text: string) {
    this.#cursor = new SqlCursor(text, TEXT)
  }

  whole(): Node {
    const node = this.#or()
    const rest = this.#cursor.peek()
    if (rest.kind !== 'end') this.#refuse(rest)
    return node
  }

  #take(kind: Token['kind'], ...texts: string[]): boolean {
    return this.#cursor.take(kind, ...texts)
  }

  #need(kind: Token['kind'], text: string): void {
    if (!this.#take(kind, text)) this.#refuse(this.#cursor.peek(), `${text.toUpperCase()} is missing`)
  }

  #refuse(token: Token, missing?: string): never {
    const like = token.text === 'like' || token.text === 'between' || token.text === 'over'
    throw new SqlTextFault(refusalOf(token, missing), token.at, like ? ELSEWHERE : KNOWN)
  }

  #or(): Node {
    this.#depth += 1
    if (this.#depth > MAX_DEPTH)
      throw new SqlTextFault('The expression is nested too deeply.', this.#cursor.peek().at, ELSEWHERE)
    let left = this.#and()
    while (this.#take('word', 'or')) left = { kind: 'binary', operator: 'or', left, right: this.#and() }
    this.#depth -= 1
    return left
  }

  #and(): Node {
    let left = this.#not()
    while (this.#take('word', 'and')) left = { kind: 'binary', operator: 'and', left, right: this.#not() }
    return left
  }

  #not(): Node {
    let count = 0
    while (this.#take('word', 'not')) count += 1
    const of = this.#comparison()
    return count % 2 === 1 ? { kind: 'not', of } : of
  }

  #comparison(): Node {
    const left = this.#sum()
    const token = this.#cursor.peek()
    if (this.#take('sign', '=', '<>', '!=', '<', '<=', '>', '>=')) {
      const operator = token.text === '!=' ? '<>' : token.text
      return { kind: 'binary', operator, left, right: this.#sum() }
    }
    if (this.#take('word', 'is')) {
      const not = this.#take('word', 'not')
      this.#need('word', 'null')
      return { kind: 'is_null', of: left, not }
    }
    const not = this.#take('word', 'not')
    if (this.#take('word', 'in')) return { kind: 'in', of: left, list: this.#list(), not }
    if (not) this.#refuse(this.#cursor.peek(), 'IN is missing')
    return left
  }

  #list(): Node[] {
    this.#need('sign', '(')
    const list = [this.#sum()]
    while (this.#take('sign', ',')) list.push(this.#sum())
    this.#need('sign', ')')
    return list
  }

  #sum(): Node {
    let left = this.#product()
    for (;;) {
      const { text } = this.#cursor.peek()
      if (!this.#take('sign', '+', '-')) return left
      left = { kind: 'binary', operator: text, left, right: this.#product() }
    }
  }

  #product(): Node {
    let left = this.#unary()
    for (;;) {
      const { text } = this.#cursor.peek()
      if (!this.#take('sign', '*', '/')) return left
      left = { kind: 'binary', operator: text, left, right: this.#unary() }
    }
  }

  #unary(): Node {
    let minus = 0
    while (this.#take('sign', '-')) minus += 1
    const of = this.#primary()
    return minus % 2 === 1 ? { kind: 'minus', of } : of
  }

  #primary(): Node {
    const token = this.#cursor.peek()
    if (this.#take('sign', '(')) {
      const inner = this.#or()
      this.#need('sign', ')')
      return inner
    }
    if (token.kind === 'end' || token.kind === 'sign') this.#refuse(token)
    this.#cursor.pass()
    switch (token.kind) {
      case 'number':
        return { kind: 'number', text: token.text }
      case 'text':
        return { kind: 'text', value: token.text }
      case 'parameter':
        return { kind: 'variable', name: token.text, at: token.at }
      case 'column':
        return { kind: 'column', name: token.text, at: token.at }
      default:
        return this.#word(token)
    }
  }

  #word(token: Token): Node {
    const { text } = token
    if (text === 'true' || text === 'false' || text === 'null') return { kind: 'constant', value: text }
    if (text === 'case') return this.#case()
    if (KEYWORDS.has(text)) this.#refuse(token)
    if (!this.#cursor.is('sign', '(')) return { kind: 'column', name: token.raw, at: token.at }
    if (!AGGREGATES.includes(text as Aggregate))
      throw new SqlTextFault(
        `There is no function ${token.raw}() in the expressions of metrics.`,
        token.at,
        `They have ${AGGREGATES.join(', ')}. ${ELSEWHERE}`,
      )
    return this.#aggregate(token)
  }

  #aggregate({ text, at }: Token): Node {
    const name = text as Aggregate
    this.#need('sign', '(')
    if (name === 'count' && this.#take('sign', '*')) {
      this.#need('sign', ')')
      return { kind: 'aggregate', name, distinct: false, of: null, at }
    }
    const distinct = this.#take('word', 'distinct')
    if (distinct && name !== 'count')
      throw new SqlTextFault(
        `${name}(distinct ...) is not part of the expressions of metrics.`,
        at,
        ELSEWHERE,
      )
    const of = this.#or()
    this.#need('sign', ')')
    return { kind: 'aggregate', name, distinct, of, at }
  }

  #case(): Node {
    const branches: { when: Node; result: Node }[] = []
    while (this.#take('word', 'when')) {
      const when = this.#or()
      this.#need('word', 'then')
      branches.push({ when, result: this.#or() })
    }
    if (branches.length === 0) this.#refuse(this.#cursor.peek(), 'WHEN is missing')
    const otherwise = this.#take('word', 'else') ? this.#or() : null
    this.#need('word', 'end')
    return { kind: 'case', branches, otherwise }
  }
}

export function childrenOf(node: Node): Node[] {
  switch (node.kind) {
    case 'binary':
      return [node.left, node.right]
    case 'not':
    case 'minus':
    case 'is_null':
      return [node.of]
    case 'in':
      return [node.of, ...node.list]
    case 'case':
      return [
        ...node.branches.flatMap(({ when, result }) => [when, result]),
        ...(node.otherwise ? [node.otherwise] : []),
      ]
    case 'aggregate':
      return node.of ? [node.of] : []
    default:
      return []
  }
}

/** Yields the nodes of a tree, in the order of the text. */
export function* nodesOf(node: Node): Generator<Node> {
  yield node
  for (const child of childrenOf(node)) yield* nodesOf(child)
}

/** Returns the columns that an expression names, each once. */
export function columnsIn(...trees: Node[]): string[] {
  const found = trees.flatMap((tree) =>
    [...nodesOf(tree)].flatMap((one) => (one.kind === 'column' ? [one.name] : [])),
  )
  return [...new Set(found)]
}

/** Parses a condition or a value of each row. Throws SqlTextFault. */
export function parseRowExpression(text: string): Node {
  const tree = new Parser(text).whole()
  for (const node of nodesOf(tree)) {
    if (node.kind !== 'aggregate') continue
    throw new SqlTextFault(
      `${node.name}() cannot stand in "where": it is asked of each row.`,
      node.at,
      'Compare columns.',
    )
  }
  return tree
}

/** Parses a value over many rows, in which each column stands in an aggregate. Throws SqlTextFault. */
export function parseAggregate(text: string): Node {
  const tree = new Parser(text).whole()
  let aggregates = 0
  const visit = (node: Node, inside: boolean): void => {
    if (node.kind === 'variable')
      throw new SqlTextFault(
        `$${node.name} cannot stand in a definition.`,
        node.at,
        'Variables belong to templates.',
      )
    if (node.kind === 'column' && !inside)
      throw new SqlTextFault(
        `"${node.name}" has a value in each row.`,
        node.at,
        `Write sum(${node.name}), avg(${node.name}) or another aggregate.`,
      )
    if (node.kind === 'aggregate') {
      if (inside) throw new SqlTextFault('An aggregate stands inside another one.', node.at, ELSEWHERE)
      aggregates += 1
    }
    for (const child of childrenOf(node)) visit(child, inside || node.kind === 'aggregate')
  }
  visit(tree, false)
  if (aggregates === 0)
    throw new SqlTextFault('The expression adds up nothing.', 0, 'Write sum(column) or count(*).')
  return tree
}

/**
 * Tells whether the values of parts add up to that of the whole: sums and counts, their differences, and multiples of
 * them.
 */
export function isAdditive(node: Node): boolean {
  switch (node.kind) {
    case 'aggregate':
      return node.name === 'sum' || (node.name === 'count' && !node.distinct)
    case 'minus':
      return isAdditive(node.of)
    case 'binary': {
      const { operator, left, right } = node
      if (operator === '+' || operator === '-') return isAdditive(left) && isAdditive(right)
      if (operator === '*')
        return (left.kind === 'number' && isAdditive(right)) || (right.kind === 'number' && isAdditive(left))
      return operator === '/' && right.kind === 'number' && isAdditive(left)
    }
    default:
      return false
  }
}
