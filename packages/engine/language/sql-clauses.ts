/**
 * `[[ ... ]]` and `$name` in SQL. A bracket pair outside strings and comments that holds a `$variable` is an optional
 * clause, left out if a variable in it is null; any other `[[` is SQL (nested lists). Blanks replace a dropped clause, so that
 * lines and columns in DuckDB's messages stay those of the template. Values are bound by the engine, never pasted.
 */

/** How a database writes strings, quoted identifiers and comments. */
export interface SqlSyntax {
  /** The patterns of strings, quoted identifiers and comments of one line. They are sticky and tried in this order. */
  opaque: readonly RegExp[]
  nestedComments: boolean
  /** True if the database has $$ ... $$ and $tag$ ... $tag$. */
  dollarQuotes?: boolean
}

/** The syntax of DuckDB and PostgreSQL, and nearly of SQLite. */
export const STANDARD_SYNTAX: SqlSyntax = {
  opaque: [/[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y, /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*/y],
  nestedComments: true,
  dollarQuotes: true,
}

const VARIABLE = /\$([A-Za-z_]\w*)/y
const DOLLAR_MARK = /\$(?:[A-Za-z_]\w*)?\$/y
const WORD = /[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*/y

type Piece =
  | { kind: 'text' | 'open' | 'close'; text: string }
  | { kind: 'variable'; text: string; name: string }

function matchAt(pattern: RegExp, sql: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(sql)
}

/** Returns the end of a block comment. Those of DuckDB and PostgreSQL nest. */
function commentEnd(sql: string, at: number, nested: boolean): number {
  if (!nested) {
    const end = sql.indexOf('*/', at + 2)
    return end < 0 ? sql.length : end + 2
  }
  let depth = 0
  for (let index = at; index < sql.length; index++) {
    const pair = sql.slice(index, index + 2)
    if (pair === '/*') depth++
    if (pair === '*/') depth--
    if (pair === '/*' || pair === '*/') index++
    if (depth === 0) return index + 1
  }
  return sql.length
}

function opaqueAt(sql: string, at: number, syntax: SqlSyntax): RegExpExecArray | null {
  for (const pattern of syntax.opaque) {
    const match = matchAt(pattern, sql, at)
    if (match) return match
  }
  return null
}

/**
 * Returns a function that gives the end of the text that `$tag$` opens at an offset, or null. The marks of the whole
 * SQL are listed once, because otherwise the search for each unclosed one would run to the end.
 */
function dollarQuotes(sql: string): (at: number) => number | null {
  const places = new Map<string, number[]>()
  for (const { index, 1: mark } of sql.matchAll(/(?=(\$(?:[A-Za-z_]\w*)?\$))/g)) {
    const known = places.get(mark!)
    if (known) known.push(index)
    else places.set(mark!, [index])
  }
  const passed = new Map<string, number>()
  return (at) => {
    const mark = matchAt(DOLLAR_MARK, sql, at)?.[0]
    if (mark === undefined) return null
    const list = places.get(mark)!
    let next = passed.get(mark) ?? 0
    while (next < list.length && list[next]! < at + mark.length) next++
    passed.set(mark, next)
    return next < list.length ? list[next]! + mark.length : null
  }
}

/** Divides SQL into variables, single brackets and everything else. */
function pieces(sql: string, syntax: SqlSyntax): Piece[] {
  const found: Piece[] = []
  const quoteEnd = syntax.dollarQuotes && sql.includes('$') ? dollarQuotes(sql) : () => null
  for (let at = 0; at < sql.length; ) {
    const quote = sql[at] === '$' ? quoteEnd(at) : null
    if (quote !== null) {
      found.push({ kind: 'text', text: sql.slice(at, quote) })
      at = quote
      continue
    }
    const opaque = opaqueAt(sql, at, syntax)
    const variable = opaque ? null : matchAt(VARIABLE, sql, at)
    if (variable) {
      found.push({ kind: 'variable', text: variable[0], name: variable[1]! })
      at += variable[0].length
      continue
    }
    const end = sql.startsWith('/*', at)
      ? commentEnd(sql, at, syntax.nestedComments)
      : at + (opaque?.[0].length ?? matchAt(WORD, sql, at)?.[0].length ?? 1)
    const text = sql.slice(at, end)
    found.push({ kind: text === '[' ? 'open' : text === ']' ? 'close' : 'text', text })
    at = end
  }
  return found
}

export interface Clause {
  /** The indexes of pieces: the first of `[[` and the first of `]]`. */
  open: number
  close: number
  names: string[]
}

/** Finds the optional clauses in one pass, at any depth of brackets. */
function clauses(list: Piece[]): Clause[] {
  const found: Clause[] = []
  const ends = bracketEnds(list)
  const variables = list.flatMap((piece, index) => (piece.kind === 'variable' ? [{ index, ...piece }] : []))
  let next = 0
  for (let open = 0; open + 1 < list.length; open++) {
    if (list[open]!.kind !== 'open' || list[open + 1]!.kind !== 'open') continue
    // A single `]` would end the outer bracket first.
    const close = ends.get(open + 1)
    if (close === undefined || list[close + 1]?.kind !== 'close') continue
    while ((variables[next]?.index ?? open) < open) next++
    const names: string[] = []
    for (; (variables[next]?.index ?? close) < close; next++) names.push(variables[next]!.name)
    if (names.length === 0) continue
    found.push({ open, close, names })
    open = close + 1
  }
  return found
}

/** Maps the index of each opening bracket to that of its closing one. */
function bracketEnds(list: Piece[]): Map<number, number> {
  const ends = new Map<number, number>()
  const open: number[] = []
  for (const [index, { kind }] of list.entries()) {
    if (kind === 'open') open.push(index)
    const begun = kind === 'close' ? open.pop() : undefined
    if (begun !== undefined) ends.set(begun, index)
  }
  return ends
}

export interface SqlNames {
  /** Every `$name`, once each, in the order of the text. */
  names: string[]
  /** The names that stand only inside optional clauses, so they may be null. */
  optional: string[]
}

export function sqlNames(sql: string, syntax = STANDARD_SYNTAX): SqlNames {
  const list = pieces(sql, syntax)
  const inside = clauses(list)
  const required = new Set<string>()
  const names = new Set<string>()
  // Clauses do not overlap, and are in the order of the text.
  let clause = 0
  for (const [index, piece] of list.entries()) {
    if (piece.kind !== 'variable') continue
    names.add(piece.name)
    while ((inside[clause]?.close ?? index) < index) clause++
    if (index < (inside[clause]?.open ?? index + 1)) required.add(piece.name)
  }
  return { names: [...names], optional: [...names].filter((name) => !required.has(name)) }
}

/** Returns the offset of the first `$name` for each name. */
export function offsetsOfNames(sql: string, syntax = STANDARD_SYNTAX): Map<string, number> {
  const offsets = new Map<string, number>()
  let offset = 0
  for (const piece of pieces(sql, syntax)) {
    if (piece.kind === 'variable' && !offsets.has(piece.name)) offsets.set(piece.name, offset)
    offset += piece.text.length
  }
  return offsets
}

export interface BoundSql {
  sql: string
  /** The names that remain in the SQL and must be bound. */
  names: string[]
}

/**
 * Drops or keeps each optional clause by whether a variable in it is null, and replaces the variables named in
 * `columnVars` by quoted identifiers (a null one by NULL). Semicolons at the end become blanks: the engine puts its own
 * words around the SQL.
 */
export function bindSql(
  sql: string,
  {
    vars,
    columnVars,
    syntax = STANDARD_SYNTAX,
  }: { vars: Record<string, unknown>; columnVars: Iterable<string>; syntax?: SqlSyntax },
): BoundSql {
  const list = pieces(sql, syntax)
  const columns = new Set(columnVars)
  const isNull = (name: string): boolean => !Object.hasOwn(vars, name) || (vars[name] ?? null) === null
  const texts = list.map((piece) => piece.text)
  const names = new Set<string>()
  for (const { open, close, names: inside } of clauses(list)) {
    if (inside.some(isNull)) {
      for (let index = open; index <= close + 1; index++) texts[index] = blank(texts[index]!)
    } else for (const index of [open, open + 1, close, close + 1]) texts[index] = ' '
  }
  for (const [index, piece] of list.entries()) {
    if (piece.kind !== 'variable' || texts[index]!.trim() === '') continue
    if (columns.has(piece.name))
      texts[index] = identifier((vars[piece.name] as string | null | undefined) ?? null)
    else names.add(piece.name)
  }
  blankEnd(texts, list)
  return { sql: texts.join(''), names: [...names] }
}

/**
 * Returns the SQL without semicolons at its end, whatever comments stand around them, so that it can be a part of
 * other SQL.
 */
export function withoutEnd(sql: string, syntax: SqlSyntax): string {
  const list = pieces(sql, syntax)
  const texts = list.map(({ text }) => text)
  blankEnd(texts, list)
  return texts.join('').trim()
}

function blankEnd(texts: string[], list: readonly Piece[]): void {
  for (let index = texts.length - 1; index >= 0 && endsAt(list[index]!); index--)
    if (texts[index] === ';') texts[index] = ' '
}

/** Tells whether the piece is a blank, a comment or a semicolon. */
function endsAt({ kind, text }: Piece): boolean {
  return kind === 'text' && /^(\s+|;|--.*|#.+|\/\*[\s\S]*)$/.test(text)
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ')
}

function identifier(name: string | null): string {
  return name === null ? 'NULL' : `"${name.replaceAll('"', '""')}"`
}

/** Replaces each `$name` by the result of `replace`. `rest` is the text after the name, which may hold a field. */
export function replaceVariables(
  sql: string,
  syntax: SqlSyntax,
  replace: (name: string, rest: string) => { text: string; taken: number },
): string {
  let out = ''
  let skip = 0
  let offset = 0
  for (const piece of pieces(sql, syntax)) {
    offset += piece.text.length
    const text = piece.text.slice(skip)
    skip = Math.max(0, skip - piece.text.length)
    if (piece.kind !== 'variable' || text !== piece.text) {
      out += text
      continue
    }
    const { text: put, taken } = replace(piece.name, sql.slice(offset, offset + LONGEST_FIELD))
    out += put
    skip = taken
  }
  return out
}

/** The most characters of an attribute of a reader with what ends it. */
const LONGEST_FIELD = 80
