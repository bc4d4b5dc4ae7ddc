/**
 * Reads the rule of a source or a metric: `rows: "region = $reader.region"`. A small grammar: `column = X`, `column != X`,
 * `column in (X, ...)`, `column is [not] null`, `and`, `or`, `not` and brackets, where X is a text, a number, true, false or
 * `$reader.NAME`. Anything else is a fault. The tree is printed for each database by condition-sql.ts, so no text of a rule is
 * pasted into SQL.
 */
import type { RowRule, RuleNode, RuleValue } from '@assay/model/reader'
import { refusalOf, SqlCursor, type SqlText, SqlTextFault, type Token } from '../language/sql-tokens.ts'

const MAX_DEPTH = 60
const KEYWORDS = new Set('and or not in is null true false like between'.split(' '))
const KNOWN =
  "A rule compares columns: region = $reader.region, region != 'North', team in ($reader.teams, 'all'), region is not null; with and, or, not and brackets."

function unreadable(text: string, at: number): SqlTextFault {
  const sign = text[at]!
  if (sign === '$') {
    const [name] = /^\$[\w.]*/.exec(text.slice(at, at + 80))!
    const remedy = 'Write $reader.NAME with an attribute of the reader, in lower case.'
    return new SqlTextFault(`The reader has no attribute ${name}.`, at, remedy)
  }
  return new SqlTextFault(`${JSON.stringify(sign)} is not part of rules.`, at, KNOWN)
}

const TEXT: SqlText = {
  name: 'rule',
  pattern:
    /\s+|(-?\d+(?:\.\d+)?(?![\p{L}\p{N}_.]))|'((?:[^']|'')*)'|"((?:[^"]|"")+)"|\$reader\.([a-z_][a-z0-9_]{0,62})(?![\p{L}\p{N}_.])|([\p{L}_][\p{L}\p{N}_]*)|(<>|!=|[=(),])/uy,
  unreadable,
}

class Parser {
  readonly #cursor: SqlCursor
  #depth = 0

  constructor(text: string) {
    this.#cursor = new SqlCursor(text, TEXT)
  }

  whole(): RuleNode {
    const node = this.#or()
    const rest = this.#cursor.peek()
    if (rest.kind !== 'end') this.#refuse(rest)
    return node
  }

  #take(kind: Token['kind'], ...texts: string[]): boolean {
    return this.#cursor.take(kind, ...texts)
  }

  #need(kind: Token['kind'], text: string): void {
    if (!this.#take(kind, text)) this.#refuse(this.#cursor.peek(), `${JSON.stringify(text)} is missing`)
  }

  #refuse(token: Token, missing?: string): never {
    throw new SqlTextFault(refusalOf(token, missing), token.at, KNOWN)
  }

  #or(): RuleNode {
    this.#depth += 1
    if (this.#depth > MAX_DEPTH)
      throw new SqlTextFault('The rule is nested too deeply.', this.#cursor.peek().at, 'Use fewer brackets.')
    const parts = [this.#and()]
    while (this.#take('word', 'or')) parts.push(this.#and())
    this.#depth -= 1
    return parts.length === 1 ? parts[0]! : { kind: 'or', parts }
  }

  #and(): RuleNode {
    const parts = [this.#not()]
    while (this.#take('word', 'and')) parts.push(this.#not())
    return parts.length === 1 ? parts[0]! : { kind: 'and', parts }
  }

  #not(): RuleNode {
    let odd = false
    while (this.#take('word', 'not')) odd = !odd
    const of = this.#condition()
    return odd ? { kind: 'not', of } : of
  }

  #condition(): RuleNode {
    if (this.#take('sign', '(')) {
      const inner = this.#or()
      this.#need('sign', ')')
      return inner
    }
    const { name: column, at } = this.#column()
    if (this.#take('sign', '=')) return { kind: 'among', column, at, not: false, values: [this.#value()] }
    if (this.#take('sign', '!=', '<>'))
      return { kind: 'among', column, at, not: true, values: [this.#value()] }
    if (this.#take('word', 'is')) {
      const not = this.#take('word', 'not')
      this.#need('word', 'null')
      return { kind: 'is_null', column, at, not }
    }
    const not = this.#take('word', 'not')
    if (this.#take('word', 'in')) {
      const of: RuleNode = { kind: 'among', column, at, not: false, values: this.#list() }
      return not ? { kind: 'not', of } : of
    }
    this.#refuse(this.#cursor.peek(), '=, !=, in or is null is missing')
  }

  #column(): { name: string; at: number } {
    const token = this.#cursor.peek()
    const isName = token.kind === 'column' || (token.kind === 'word' && !KEYWORDS.has(token.text))
    if (!isName) {
      if (token.kind === 'parameter' || token.kind === 'text' || token.kind === 'number')
        throw new SqlTextFault(
          `${token.raw} cannot stand first.`,
          token.at,
          'Write the column first: region = $reader.region.',
        )
      this.#refuse(token)
    }
    this.#cursor.pass()
    return { name: token.kind === 'column' ? token.text : token.raw, at: token.at }
  }

  #list(): RuleValue[] {
    this.#need('sign', '(')
    const list = [this.#value()]
    while (this.#take('sign', ',')) list.push(this.#value())
    this.#need('sign', ')')
    return list
  }

  #value(): RuleValue {
    const token = this.#cursor.peek()
    const { kind, text, at } = token
    this.#cursor.pass()
    if (kind === 'number' || kind === 'text') return { kind, value: text }
    if (kind === 'parameter') return { kind: 'reader', name: text, at }
    if (kind === 'word' && (text === 'true' || text === 'false'))
      return { kind: 'boolean', value: text === 'true' }
    if (kind === 'word' && text === 'null')
      throw new SqlTextFault('Nothing equals null.', at, 'Write "is null" or "is not null".')
    if (kind === 'column' || kind === 'word')
      throw new SqlTextFault(
        `${token.raw} is a column, and a rule compares a column with values.`,
        at,
        "Write texts in single quotes: 'North'. An attribute of the reader is $reader.NAME.",
      )
    this.#refuse(token)
  }
}

function* nodesOf(node: RuleNode): Generator<RuleNode> {
  yield node
  if (node.kind === 'and' || node.kind === 'or') for (const part of node.parts) yield* nodesOf(part)
  if (node.kind === 'not') yield* nodesOf(node.of)
}

/** Where a rule compares a column, in the order of its text. */
export function comparisonsIn(tree: RuleNode): Extract<RuleNode, { column: string }>[] {
  return [...nodesOf(tree)].flatMap((node) => ('column' in node ? [node] : []))
}

/** `placeOf`: the position of an offset into the text. Throws SqlTextFault. */
export function readRule(text: string, placeOf: RowRule['placeOf']): RowRule {
  const tree = new Parser(text).whole()
  const compared = comparisonsIn(tree)
  const attributes = compared.flatMap((one) =>
    one.kind === 'among' ? one.values.flatMap((value) => (value.kind === 'reader' ? [value.name] : [])) : [],
  )
  return {
    text: text.trim(),
    tree,
    columns: [...new Set(compared.map(({ column }) => column))],
    attributes: [...new Set(attributes)].filter((name) => name !== 'id').toSorted(),
    placeOf,
  }
}
