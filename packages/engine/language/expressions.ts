/**
 * Reads Liquid expressions and the arguments of tags, strictly: text left over is a fault at its offset. The tree is what
 * the evaluator computes and what the checks judge. Offsets count from the start of the text that holds the expression.
 */
import { OffsetFault } from './fault.ts'
import { closingQuote, isBlank } from './tokens.ts'

/** The value of `empty` and `blank` in `x == empty` and `x == blank`. Everywhere else both are empty text. */
export const EMPTY = Symbol('empty')
export const BLANK = Symbol('blank')

export interface Literal {
  kind: 'literal'
  value: string | number | boolean | null | typeof EMPTY | typeof BLANK
  begin: number
  end: number
}
export type Path = { kind: 'path'; root: string; steps: Operand[]; begin: number; end: number }
export type Range = { kind: 'range'; low: Operand; high: Operand; begin: number; end: number }
export type List = { kind: 'list'; items: Expression[]; begin: number; end: number }
export type Mapping = { kind: 'map'; entries: NamedArgument[]; begin: number; end: number }
export type Operand = Literal | Path | Range | List | Mapping

export interface FilterCall {
  name: string
  args: { name: string | null; value: Operand }[]
  begin: number
}

/** Operands with operators between them, then filters over the whole. */
export interface Expression {
  operands: readonly Operand[]
  /** The operators in the order of the text. Each `not` stands before the operator that follows its operand. */
  operators: readonly string[]
  filters: readonly FilterCall[]
  begin: number
  end: number
}

export interface NamedArgument {
  name: string
  value: Expression
  begin: number
}

/** The arguments of our tags: first a limited number without a name, then those with one. */
export interface Arguments {
  plain: Expression[]
  named: NamedArgument[]
}

const NAME = /[\p{L}_][\p{L}\p{N}_-]*/uy
const NUMBER = /-?\d+(\.\d+)?(?![\p{L}\p{N}_]|\.(?!\.))/uy
const OPERATOR = /==|!=|<>|>=|<=|>|<|(?:contains|and|or)(?![\p{L}\p{N}_-])/uy
/** Comparisons bind tighter than `not`, and `not` tighter than `and` and `or`. */
export const COMPARISONS = new Set(['==', '!=', '>=', '<=', '>', '<', 'contains'])
const WORDS = new Map<string, Literal['value']>([
  ['true', true],
  ['false', false],
  ['nil', null],
  ['null', null],
  ['empty', EMPTY],
  ['blank', BLANK],
])
const ESCAPE = /\\(?:u([\da-f]{4})|([^]))/giu
const CONTROLS: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v' }
const MAX_DEPTH = 20
/** The most values, steps and filters in the tags of one template with its partials. */
const MAX_VALUES = 100_000
const NONE: readonly never[] = []

/** Counts down the values that may still be read. All texts of a template share one count. */
export class ValueCount {
  left = MAX_VALUES
}

export class Reader {
  readonly text: string
  readonly end: number
  position: number
  readonly #values: ValueCount
  #depth = 0

  constructor(text: string, begin = 0, end = text.length, values = new ValueCount()) {
    this.text = text
    this.position = begin
    this.end = end
    this.#values = values
  }

  fail(message: string, remedy: string, offset = this.position): never {
    throw new OffsetFault(message, offset, remedy)
  }

  skipBlanks(): void {
    while (this.position < this.end && isBlank(this.text.charCodeAt(this.position))) this.position++
  }

  atEnd(): boolean {
    this.skipBlanks()
    return this.position >= this.end
  }

  peek(): string {
    this.skipBlanks()
    return this.position < this.end ? this.text[this.position]! : ''
  }

  take(mark: string): boolean {
    this.skipBlanks()
    if (!this.text.startsWith(mark, this.position) || this.position + mark.length > this.end) return false
    this.position += mark.length
    return true
  }

  match(pattern: RegExp): string | null {
    this.skipBlanks()
    pattern.lastIndex = this.position
    if (!pattern.test(this.text) || pattern.lastIndex > this.end) return null
    const begin = this.position
    this.position = pattern.lastIndex
    return this.text.slice(begin, this.position)
  }

  name(what: string): string {
    return this.match(NAME) ?? this.fail(`${what} is missing here.`, `Found ${this.found()}.`)
  }

  /** Reads a keyword such as `in`, standing alone. Returns false if another word follows. */
  word(word: string): boolean {
    this.skipBlanks()
    if (!this.text.startsWith(word, this.position)) return false
    const start = this.position
    if (this.match(NAME) === word) return true
    this.position = start
    return false
  }

  found(): string {
    if (this.atEnd()) return 'the end of the tag'
    const rest = this.text.slice(this.position, Math.min(this.end, this.position + 60)).trim()
    return JSON.stringify(rest.length > 30 ? `${rest.slice(0, 27)}...` : rest)
  }

  finish(): void {
    if (!this.atEnd()) {
      this.fail(`${this.found()} is unexpected here.`, 'Remove it, or write an operator before it.')
    }
  }

  #deeper<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) this.fail('This is nested too deeply.', 'Simplify it.')
    const value = read()
    this.#depth--
    return value
  }

  #count(): void {
    if (--this.#values.left >= 0) return
    const message = `The tags of the template hold more than ${MAX_VALUES} values and filters with its partials.`
    throw new OffsetFault(message, this.position, 'Keep long lists in a data file.', 'too_long')
  }

  operand(collections = false): Operand {
    this.#count()
    const next = this.peek()
    const begin = this.position
    if (next === '"' || next === "'") return this.#quoted(next, begin)
    if (next === '(') return this.#deeper(() => this.#range(begin))
    if (collections && next === '[') return this.#deeper(() => this.#list(begin))
    if (collections && next === '{') return this.#deeper(() => this.#map(begin))
    if (next === '-' || (next >= '0' && next <= '9')) {
      const number = this.match(NUMBER)
      if (number !== null) return this.#number(number, begin)
    }
    return this.#path(begin)
  }

  #quoted(mark: string, begin: number): Literal {
    const close = closingQuote(this.text, begin, this.end)
    if (close === this.end) this.fail('The text has no closing quote.', `Close it with ${mark}.`, begin)
    const written = this.text.slice(begin + 1, close)
    this.position = close + 1
    return { kind: 'literal', value: unescaped(written), begin, end: this.position }
  }

  #number(text: string, begin: number): Literal {
    const value = Number(text)
    if (!Number.isFinite(value) || (!text.includes('.') && !Number.isSafeInteger(value))) {
      this.fail(`${text} is too large for a number here.`, 'Compute it in SQL.', begin)
    }
    return { kind: 'literal', value, begin, end: this.position }
  }

  #range(begin: number): Range {
    this.take('(')
    const low = this.operand()
    if (!this.take('..')) this.fail('Parentheses only hold ranges such as (1..5).', 'Remove them.', begin)
    const high = this.operand()
    if (!this.take(')')) this.fail('The range is not closed.', 'Close it with ).')
    return { kind: 'range', low, high, begin, end: this.position }
  }

  #list(begin: number): List {
    this.take('[')
    const items: Expression[] = []
    while (!this.take(']')) {
      if (items.length > 0 && !this.take(',')) {
        this.fail(`A comma or "]" is missing before ${this.found()}.`, 'Divide the items by commas.')
      }
      if (this.take(']')) break
      items.push(this.expression(false))
    }
    return { kind: 'list', items, begin, end: this.position }
  }

  #map(begin: number): Mapping {
    this.take('{')
    const entries: NamedArgument[] = []
    while (!this.take('}')) {
      if (entries.length > 0 && !this.take(',')) {
        this.fail(`A comma or "}" is missing before ${this.found()}.`, 'Divide the entries by commas.')
      }
      if (this.take('}')) break
      const mark = this.peek()
      const at = this.position
      const name = mark === '"' || mark === "'" ? String(this.#quoted(mark, at).value) : this.name('A key')
      if (!this.take(':')) this.fail(`":" is missing after ${JSON.stringify(name)}.`, 'Write KEY: VALUE.')
      entries.push({ name, value: this.expression(false), begin: at })
    }
    return { kind: 'map', entries, begin, end: this.position }
  }

  #path(begin: number): Path | Literal {
    const root = this.name('A value')
    if (WORDS.has(root)) return { kind: 'literal', value: WORDS.get(root)!, begin, end: this.position }
    const steps: Operand[] = []
    for (;;) {
      const at = this.position
      if (this.text[at] === '.' && this.text[at + 1] !== '.' && at < this.end) {
        this.#count()
        this.position++
        const step = isBlank(this.text.charCodeAt(this.position)) ? null : this.match(NAME)
        if (step === null) this.fail('A name is missing after ".".', `Found ${this.found()}.`)
        steps.push({ kind: 'literal', value: step, begin: at + 1, end: this.position })
      } else if (this.text[at] === '[' && at < this.end) {
        this.position++
        steps.push(this.#deeper(() => this.operand()))
        if (!this.take(']')) this.fail(`"]" is missing before ${this.found()}.`, 'Close the bracket.')
      } else return { kind: 'path', root, steps, begin, end: at }
    }
  }

  /**
   * Reads an expression. `wide`: by Liquid's rules, with operators and named arguments of filters. Otherwise by the
   * rules of our tags: lists and maps may replace a value.
   */
  expression(wide = true): Expression {
    this.skipBlanks()
    const begin = this.position
    const operators: string[] = []
    const operands: Operand[] = []
    for (;;) {
      if (wide) this.#negations(operators)
      operands.push(this.operand(!wide))
      const operator = wide ? this.match(OPERATOR) : null
      if (operator === null) break
      if (operator === '<>') this.fail('"<>" is not an operator.', 'Write !=.')
      operators.push(operator)
      if (this.atEnd()) this.fail('A value is missing at the end.', 'Add what the operator compares with.')
    }
    const filters: FilterCall[] = []
    while (this.take('|')) {
      const kind = operands[0]!.kind
      if (kind === 'list' || kind === 'map') this.fail(`A ${kind} takes no filter.`, 'Filter its values.')
      filters.push(this.#filter(wide))
    }
    return {
      operands,
      operators: operators.length > 0 ? operators : NONE,
      filters: filters.length > 0 ? filters : NONE,
      begin,
      end: this.position,
    }
  }

  #negations(operators: string[]): void {
    while (this.word('not')) {
      if (COMPARISONS.has(operators.at(-1)!)) {
        this.fail('"not" cannot follow a comparison.', 'Write not A == B.', this.position - 'not'.length)
      }
      operators.push('not')
    }
  }

  #filter(wide: boolean): FilterCall {
    this.#count()
    this.skipBlanks()
    const begin = this.position
    const name = this.name('The name of a filter')
    const args: FilterCall['args'] = []
    if (!this.take(':')) return { name, args, begin }
    let comma = this.position
    do {
      const label = this.#label()
      if (label !== null && !wide) {
        if (args.length === 0)
          this.fail(`${name} takes values without names.`, 'Remove the name.', label.begin)
        // In our tags a name after a comma begins the tag's next argument.
        this.position = comma
        break
      }
      args.push({ name: label?.name ?? null, value: this.operand() })
      this.skipBlanks()
      comma = this.position
    } while (this.take(','))
    return { name, args, begin }
  }

  /** Reads "NAME:". */
  #label(): { name: string; begin: number } | null {
    this.skipBlanks()
    const begin = this.position
    const name = this.match(NAME)
    if (name !== null && this.take(':')) return { name, begin }
    this.position = begin
    return null
  }

  /** Reads `{% tag a, b, name: value %}`. `plain`: the most arguments without a name. */
  arguments(plain: number): Arguments {
    const found: Arguments = { plain: [], named: [] }
    const names = new Set<string>()
    while (!this.atEnd()) {
      const first = found.plain.length + found.named.length === 0
      if (!first && !this.take(','))
        this.fail(`${this.found()} is unexpected here.`, 'Divide arguments by commas.')
      if (this.atEnd()) this.fail('An argument is missing after the comma.', 'Remove the comma.')
      const label = this.#label()
      const begin = label?.begin ?? this.position
      const value = this.expression(false)
      if (label !== null) {
        if (names.has(label.name)) {
          this.fail(`"${label.name}" is given twice.`, 'Remove one.', begin)
        }
        names.add(label.name)
        found.named.push({ name: label.name, value, begin })
      } else if (found.named.length > 0 || found.plain.length >= plain) {
        this.fail(`${this.text.slice(value.begin, value.end)} needs a name.`, 'Write NAME: VALUE.', begin)
      } else found.plain.push(value)
    }
    return found
  }
}

function unescaped(written: string): string {
  if (!written.includes('\\')) return written
  return written.replace(ESCAPE, (_, hex: string | undefined, sign: string) =>
    hex === undefined ? (CONTROLS[sign] ?? sign) : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}
