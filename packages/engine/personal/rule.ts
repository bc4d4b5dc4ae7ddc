/**
 * Reads the rule of a source or a metric: `rows: "region = $reader.region"`. A small grammar: `column = X`, `column != X`,
 * `column in (X, ...)`, `column is [not] null`, `and`, `or`, `not` and brackets, where X is a text, a number, true, false or
 * `$reader.NAME`. Anything else is a fault. The tree is printed for each database by condition-sql.ts, so no text of a rule is
 * pasted into SQL.
 */
import type { RowRule, RuleNode, RuleValue } from '@assay/model/reader'

/** What is wrong, at an offset of the text. */
export class RuleFault extends Error {
  readonly at: number
  readonly remedy: string

  constructor(message: string, at: number, remedy: string) {
    super(message)
    this.at = at
    this.remedy = remedy
  }
}

interface Token {
  kind: 'number' | 'text' | 'word' | 'column' | 'reader' | 'sign' | 'end'
  /** Words in lower case; columns and texts without their quotes. */
  text: string
  raw: string
  at: number
}

const MAX_LENGTH = 4_000
const MAX_DEPTH = 60
const KEYWORDS = new Set('and or not in is null true false like between'.split(' '))
const KNOWN =
  "A rule compares columns: region = $reader.region, region != 'North', team in ($reader.teams, 'all'), region is not null; with and, or, not and brackets."
const PATTERN =
  /\s+|(-?\d+(?:\.\d+)?(?![\p{L}\p{N}_.]))|'((?:[^']|'')*)'|"((?:[^"]|"")+)"|\$reader\.([a-z_][a-z0-9_]{0,62})(?![\p{L}\p{N}_.])|([\p{L}_][\p{L}\p{N}_]*)|(<>|!=|[=(),])/uy

function tokensOf(text: string): Token[] {
  if (text.length > MAX_LENGTH)
    throw new RuleFault(`The rule has ${text.length} characters.`, 0, `At most ${MAX_LENGTH} are read.`)
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    PATTERN.lastIndex = at
    const match = PATTERN.exec(text)
    if (!match) throw unreadable(text, at)
    const [raw, number, quoted, column, reader, word, sign] = match
    if (number !== undefined) tokens.push({ kind: 'number', text: number, raw, at })
    else if (quoted !== undefined) tokens.push({ kind: 'text', text: quoted.replaceAll("''", "'"), raw, at })
    else if (column !== undefined)
      tokens.push({ kind: 'column', text: column.replaceAll('""', '"'), raw, at })
    else if (reader !== undefined) tokens.push({ kind: 'reader', text: reader, raw, at })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word.toLowerCase(), raw, at })
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign, raw, at })
    at += raw.length
  }
  tokens.push({ kind: 'end', text: '', raw: 'the end', at: text.length })
  return tokens
}

function unreadable(text: string, at: number): RuleFault {
  const sign = text[at]!
  if (sign === "'" || sign === '"') return new RuleFault('A quote is not closed.', at, 'Close it.')
  if (sign === '$') {
    const [name] = /^\$[\w.]*/.exec(text.slice(at, at + 80))!
    const remedy = 'Write $reader.NAME with an attribute of the reader, in lower case.'
    return new RuleFault(`The reader has no attribute ${name}.`, at, remedy)
  }
  return new RuleFault(`${JSON.stringify(sign)} is not part of rules.`, at, KNOWN)
}

class Parser {
  readonly #tokens: Token[]
  #next = 0
  #depth = 0

  constructor(text: string) {
    this.#tokens = tokensOf(text)
  }

  whole(): RuleNode {
    const node = this.#or()
    const rest = this.#peek()
    if (rest.kind !== 'end') this.#refuse(rest)
    return node
  }

  #peek(): Token {
    return this.#tokens[this.#next]!
  }

  #take(kind: Token['kind'], ...texts: string[]): boolean {
    const token = this.#peek()
    if (token.kind !== kind || !texts.includes(token.text)) return false
    this.#next += 1
    return true
  }

  #need(kind: Token['kind'], text: string): void {
    if (!this.#take(kind, text)) this.#refuse(this.#peek(), `${JSON.stringify(text)} is missing`)
  }

  #refuse(token: Token, why?: string): never {
    const seen = token.kind === 'end' ? 'the end' : JSON.stringify(token.raw)
    throw new RuleFault(
      why === undefined ? `${seen} cannot stand here.` : `${why} before ${seen}.`,
      token.at,
      KNOWN,
    )
  }

  #or(): RuleNode {
    this.#depth += 1
    if (this.#depth > MAX_DEPTH)
      throw new RuleFault('The rule is nested too deeply.', this.#peek().at, 'Use fewer brackets.')
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
    this.#refuse(this.#peek(), '=, !=, in or is null is missing')
  }

  #column(): { name: string; at: number } {
    const token = this.#peek()
    const isName = token.kind === 'column' || (token.kind === 'word' && !KEYWORDS.has(token.text))
    if (!isName) {
      if (token.kind === 'reader' || token.kind === 'text' || token.kind === 'number')
        throw new RuleFault(
          `${token.raw} cannot stand first.`,
          token.at,
          'Write the column first: region = $reader.region.',
        )
      this.#refuse(token)
    }
    this.#next += 1
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
    const token = this.#peek()
    const { kind, text, at } = token
    this.#next += 1
    if (kind === 'number' || kind === 'text') return { kind, value: text }
    if (kind === 'reader') return { kind, name: text, at }
    if (kind === 'word' && (text === 'true' || text === 'false'))
      return { kind: 'boolean', value: text === 'true' }
    if (kind === 'word' && text === 'null')
      throw new RuleFault('Nothing equals null.', at, 'Write "is null" or "is not null".')
    if (kind === 'column' || kind === 'word')
      throw new RuleFault(
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

/** `placeOf`: the position of an offset into the text. Throws RuleFault. */
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
