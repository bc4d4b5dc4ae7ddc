/** The tokens of the small SQL of metrics and row rules, and a parser's position among them. */

/** A fault at an offset of the text. */
export class SqlTextFault extends Error {
  readonly at: number
  readonly remedy: string

  constructor(message: string, at: number, remedy: string) {
    super(message)
    this.at = at
    this.remedy = remedy
  }
}

export interface Token {
  kind: 'number' | 'text' | 'word' | 'column' | 'parameter' | 'sign' | 'end'
  /** The text of the token. Words are in lower case; quoted columns and texts lack their quotes. */
  text: string
  raw: string
  at: number
}

export interface SqlText {
  /** The name of the text in faults: "rule", "expression". */
  name: string
  /**
   * A sticky pattern. Its groups are a number, a text, a quoted column, a parameter, a word and a sign. A match
   * outside all groups is blank.
   */
  pattern: RegExp
  /** Returns the fault of a place where the pattern reads nothing and no quote begins. */
  unreadable(text: string, at: number): SqlTextFault
}

const MAX_LENGTH = 4_000

function tokensOf(text: string, { name, pattern, unreadable }: SqlText): Token[] {
  if (text.length > MAX_LENGTH)
    throw new SqlTextFault(`The ${name} has ${text.length} characters.`, 0, `At most ${MAX_LENGTH} are read.`)
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (!match) {
      if (text[at] === "'" || text[at] === '"')
        throw new SqlTextFault('A quote is not closed.', at, 'Close it.')
      throw unreadable(text, at)
    }
    const [raw, number, quoted, column, parameter, word, sign] = match
    if (number !== undefined) tokens.push({ kind: 'number', text: number, raw, at })
    else if (quoted !== undefined) tokens.push({ kind: 'text', text: quoted.replaceAll("''", "'"), raw, at })
    else if (column !== undefined)
      tokens.push({ kind: 'column', text: column.replaceAll('""', '"'), raw, at })
    else if (parameter !== undefined) tokens.push({ kind: 'parameter', text: parameter, raw, at })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word.toLowerCase(), raw, at })
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign, raw, at })
    at += raw.length
  }
  tokens.push({ kind: 'end', text: '', raw: 'the end', at: text.length })
  return tokens
}

/** Walks the tokens of a text. Throws SqlTextFault at a text that is not a token. */
export class SqlCursor {
  readonly #tokens: Token[]
  #next = 0

  constructor(text: string, read: SqlText) {
    this.#tokens = tokensOf(text, read)
  }

  peek(): Token {
    return this.#tokens[this.#next]!
  }

  is(kind: Token['kind'], ...texts: string[]): boolean {
    const token = this.peek()
    return token.kind === kind && texts.includes(token.text)
  }

  /** Consumes the next token if it is one of these, and tells whether it did. */
  take(kind: Token['kind'], ...texts: string[]): boolean {
    const found = this.is(kind, ...texts)
    if (found) this.#next += 1
    return found
  }

  /** Consumes the next token, whatever it is. */
  pass(): void {
    this.#next += 1
  }
}

/** Says why a token cannot be read. `missing` names what must stand before it, if anything. */
export function refusalOf(token: Token, missing?: string): string {
  const seen = token.kind === 'end' ? 'the end' : JSON.stringify(token.raw)
  return missing === undefined ? `${seen} cannot stand here.` : `${missing} before ${seen}.`
}
