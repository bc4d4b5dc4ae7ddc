/**
 * Reads the Liquid of a body or a partial into a flat list of statements, strictly: unknown tags, text left over, tags
 * that do not pair up are faults with their place. Rendering goes through liquidjs afterwards, over the same tokens.
 */

import type { Fault } from '@assay/model/template'
import { type TagToken, Tokenizer, TokenKind, type TopLevelToken } from 'liquidjs'
import { type Expression, type NamedArgument, Reader, SyntaxFault } from './expressions.ts'
import { makeFault, type Place } from './fault.ts'
import { suggest } from './near.ts'

export interface Statement {
  /** The tag's name, `output` for {{ }}. */
  tag: string
  /** Offset of the opening braces. */
  begin: number
  expressions: Expression[]
  named: NamedArgument[]
  /** The name that `assign`, `capture` or `for` gives a value. */
  binds: string | null
  /** The partial of `render`, the block of `sql`, the name of `fact`. */
  target: string | null
}

export interface Prose {
  statements: Statement[]
  faults: Fault[]
  placeOf(offset: number): Place
}

const PAIRED: Record<string, string[]> = {
  if: ['elsif', 'else'],
  unless: ['elsif', 'else'],
  case: ['when', 'else'],
  for: ['else'],
  capture: [],
}
const SINGLE = ['assign', 'echo', 'render', 'break', 'continue', 'table', 'chart', 'fact', 'narrate', 'sql']
export const TAGS: readonly string[] = [
  ...Object.keys(PAIRED),
  ...Object.values(PAIRED).flat(),
  ...Object.keys(PAIRED).map((name) => `end${name}`),
  ...SINGLE,
  'comment',
  'endcomment',
  'raw',
  'endraw',
  '#',
]

/** The options that the tags of ours take. */
export const TAG_OPTIONS: Record<string, readonly string[]> = {
  table: ['limit', 'columns', 'fmt', 'align'],
  chart: ['type', 'x', 'y', 'series', 'title'],
  fact: ['fmt'],
  narrate: ['ask'],
}

/** Of tags inside each other. */
const MAX_DEPTH = 100
/** More would not be read, and each takes a sentence. */
const MAX_FAULTS = 100

/** Offsets to lines and columns, both from 1. */
export function placesOf(text: string): (offset: number) => Place {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - starts[low]! + 1 }
  }
}

export function tokensOf(text: string, file?: string): TopLevelToken[] {
  return new Tokenizer(text, undefined, file).readTopLevelTokens()
}

export function readProse(text: string, partial: string | null = null): Prose {
  const placeOf = placesOf(text)
  const faults: Fault[] = []
  const report = (code: string, offset: number, message: string, remedy: string): void => {
    faults.push(makeFault(code, placeOf(offset), message, remedy, { partial }))
  }
  const statements: Statement[] = []
  let tokens: TopLevelToken[] = []
  try {
    tokens = tokensOf(text)
  } catch (error) {
    const { token, message } = error as { token?: { begin: number }; message: string }
    const what = message.replace(/, line:\d+.*$/s, '')
    report('liquid_syntax', token?.begin ?? 0, `Liquid cannot be read: ${what}.`, 'Close every {{ and {%.')
  }
  const open: { name: string; begin: number }[] = []
  for (let index = 0; index < tokens.length && faults.length < MAX_FAULTS; index++) {
    const token = tokens[index]!
    if (open.length > MAX_DEPTH) {
      const message = `Tags are nested deeper than ${MAX_DEPTH} levels here.`
      report('too_deep', open.pop()!.begin, message, 'Close tags before opening more, or use a partial.')
      return { statements, faults, placeOf }
    }
    if (token.kind === TokenKind.Tag && (token as TagToken).name === 'comment') {
      index = commentEnd(tokens, index)
      if (index < 0) {
        report('unclosed_tag', token.begin, 'The comment has no end.', 'Add {% endcomment %}.')
        break
      }
      continue
    }
    try {
      const statement = readToken(token, text, open)
      if (statement) statements.push(statement)
    } catch (error) {
      if (!(error instanceof SyntaxFault)) throw error
      report('liquid_syntax', error.offset, error.message, error.remedy)
    }
  }
  for (const tag of open) {
    report('unclosed_tag', tag.begin, `{% ${tag.name} %} has no end.`, `Add {% end${tag.name} %}.`)
  }
  return { statements, faults, placeOf }
}

function commentEnd(tokens: TopLevelToken[], from: number): number {
  for (let index = from + 1; index < tokens.length; index++) {
    const token = tokens[index]!
    if (token.kind === TokenKind.Tag && (token as TagToken).name === 'endcomment') return index
  }
  return -1
}

type Open = { name: string; begin: number }[]

function readToken(token: TopLevelToken, text: string, open: Open): Statement | null {
  const statement: Statement = {
    tag: 'output',
    begin: token.begin,
    expressions: [],
    named: [],
    binds: null,
    target: null,
  }
  if (token.kind === TokenKind.Output) {
    const [begin, end] = (token as unknown as { contentRange: [number, number] }).contentRange
    const reader = new Reader(text, begin, end)
    if (reader.atEnd()) reader.fail('There is nothing to print.', 'Name a value.', token.begin)
    statement.expressions.push(reader.expression())
    reader.finish()
    return statement
  }
  if (token.kind !== TokenKind.Tag) return null
  const tag = token as TagToken
  const name = tag.name
  if (name === '#' || name === 'raw' || name === 'endraw') return null
  statement.tag = name
  const start = tag.tokenizer.p
  const reader = new Reader(text, start, tag.contentRange[1])
  if (!TAGS.includes(name) || name === 'endcomment') {
    reader.fail(`There is no tag ${JSON.stringify(name)} here.`, suggest(name, new Set(TAGS)), token.begin)
  }
  if (SINGLE.includes(name)) readSingle(statement, reader)
  else if (PAIRED[name]) readOpening(statement, reader, open)
  else readInner(statement, reader, open)
  reader.finish()
  return statement
}

function readOpening(statement: Statement, reader: Reader, open: Open): void {
  open.push({ name: statement.tag, begin: statement.begin })
  switch (statement.tag) {
    case 'for':
      statement.binds = reader.name('The name of the loop variable')
      if (!reader.word('in'))
        reader.fail(`"in" is missing before ${reader.found()}.`, 'Write "for X in ROWS".')
      statement.expressions.push(operandOnly(reader))
      readLoopOptions(statement, reader)
      return
    case 'capture':
      statement.binds = reader.name('The name of the capture')
      return
    default:
      statement.expressions.push(reader.expression())
  }
}

function readLoopOptions(statement: Statement, reader: Reader): void {
  while (!reader.atEnd()) {
    reader.take(',')
    const begin = reader.position
    if (reader.word('reversed')) continue
    const name = ['limit', 'offset'].find((option) => reader.word(option))
    if (name === undefined)
      reader.fail(`${reader.found()} is left over.`, 'Loops take limit, offset, reversed.')
    if (!reader.take(':')) reader.fail(`":" is missing after ${name}.`, `Write "${name}: 10".`)
    statement.named.push({ name, value: operandOnly(reader), begin })
  }
}

function operandOnly(reader: Reader): Expression {
  reader.skipBlanks()
  const begin = reader.position
  return { operands: [reader.operand()], operators: [], filters: [], begin, end: reader.position }
}

/** elsif, else, when and the closing tags. */
function readInner(statement: Statement, reader: Reader, open: Open): void {
  const { tag } = statement
  const last = open.at(-1)
  if (tag.startsWith('end')) {
    if (last === undefined || `end${last.name}` !== tag) {
      const remedy = last ? `Close {% ${last.name} %} first.` : 'Remove it.'
      reader.fail(`{% ${tag} %} closes nothing here.`, remedy, statement.begin)
    }
    open.pop()
    return
  }
  if (last === undefined || !PAIRED[last.name]!.includes(tag)) {
    reader.fail(`{% ${tag} %} does not belong here.`, 'Put it inside the tag it is for.', statement.begin)
  }
  if (tag === 'elsif') statement.expressions.push(reader.expression())
  if (tag !== 'when') return
  do statement.expressions.push(operandOnly(reader))
  while (reader.take(',') || reader.word('or'))
}

function readSingle(statement: Statement, reader: Reader): void {
  switch (statement.tag) {
    case 'assign':
      statement.binds = reader.name('The name')
      if (!reader.take('='))
        reader.fail(`"=" is missing before ${reader.found()}.`, 'Write "assign X = VALUE".')
      statement.expressions.push(reader.expression())
      return
    case 'echo':
      statement.expressions.push(reader.expression())
      return
    case 'break':
    case 'continue':
      return
    case 'sql':
      statement.target = reader.name("The block's name")
      return
    case 'render':
      readRender(statement, reader)
      return
    default:
      readOwnTag(statement, reader)
  }
}

function readRender(statement: Statement, reader: Reader): void {
  const { plain, named } = reader.arguments(1)
  const file = plain[0]?.operands[0]
  const name = file?.kind === 'literal' && typeof file.value === 'string' ? file.value : null
  if (name === null) {
    reader.fail('The partial must be named in quotes.', 'Write {% render "NAME" %}.', statement.begin)
  }
  statement.target = name
  statement.named = named
}

/** `table ROWS, ...`, `chart ROWS, ...`, `fact NAME, VALUE, ...` */
function readOwnTag(statement: Statement, reader: Reader): void {
  const { tag } = statement
  const { plain, named } = reader.arguments(tag === 'fact' ? 2 : 1)
  const known = TAG_OPTIONS[tag]!
  for (const { name, begin } of named) {
    if (!known.includes(name)) reader.fail(`${tag} has no option "${name}".`, suggest(name, known), begin)
  }
  if (tag === 'fact') {
    const [name, value] = plain
    const first = name?.operands[0]
    if (!value)
      reader.fail('A fact needs a name and a value.', 'Write {% fact NAME, VALUE %}.', statement.begin)
    if (first?.kind === 'path' && first.steps.length === 0) statement.target = first.root
    else if (first?.kind === 'literal' && typeof first.value === 'string') statement.target = first.value
    else reader.fail('A fact needs a plain name.', 'Write {% fact NAME, VALUE %}.', name!.begin)
    statement.expressions.push(value)
  } else {
    const example = tag === 'narrate' ? 'BLOCK, ask: "..."' : 'BLOCK'
    if (!plain[0]) reader.fail(`${tag} needs rows.`, `Write {% ${tag} ${example} %}.`, statement.begin)
    if (tag === 'narrate' && named.length === 0)
      reader.fail('narrate needs a question.', 'Write {% narrate BLOCK, ask: "..." %}.', statement.begin)
    statement.expressions.push(plain[0])
  }
  statement.named = named
}
