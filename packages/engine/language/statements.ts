/**
 * Reads the Liquid of a body or a partial into statements, strictly: unknown tags, text left over and tags that do not
 * pair up are faults with their position. The checks go through the flat list, the interpreter through the tree.
 */
import type { Fault } from '@assay/model/template'
import { suggest } from '../values/near.ts'
import { type Expression, type NamedArgument, Reader, ValueCount } from './expressions.ts'
import { makeFault, OffsetFault, type Position, positionsIn } from './fault.ts'
import { readTokens, type Token } from './tokens.ts'

/** A text to print, or a statement. */
export type Piece = string | Statement

export interface Statement {
  /** The name of the tag, `output` for {{ }}. */
  tag: string
  /** The offset of the opening braces. */
  begin: number
  expressions: Expression[]
  named: NamedArgument[]
  /** The name that `assign`, `capture` or `for` gives a value. */
  binds: string | null
  /** The partial of `render`, the block of `sql`, or the name of `fact`; else null. */
  target: string | null
  /** The sections of a tag with an end: its own first, then one for each `elsif`, `else` or `when`. */
  sections: Section[]
}

export interface Section {
  head: Statement
  pieces: Piece[]
}

export interface Prose {
  /** All statements in the order of the text, including those that only close or divide others. */
  statements: Statement[]
  pieces: Piece[]
  faults: Fault[]
  positionOf(offset: number): Position
}

/** Reads the text after the name of a tag. */
type Read = (statement: Statement, reader: Reader) => void

interface TagSyntax {
  read: Read
  /** The tags that divide a tag with an end. */
  dividers?: readonly string[]
}

const nothing: Read = () => {}
const condition: Read = (statement, reader) => {
  statement.expressions.push(reader.expression())
}

const TAGS: Record<string, TagSyntax> = {
  if: { read: condition, dividers: ['elsif', 'else'] },
  unless: { read: condition, dividers: ['elsif', 'else'] },
  case: { read: condition, dividers: ['when', 'else'] },
  for: { read: readFor, dividers: ['else'] },
  capture: { read: readCapture, dividers: [] },
  assign: { read: readAssign },
  echo: { read: condition },
  break: { read: nothing },
  continue: { read: nothing },
  render: { read: readRender },
  table: { read: readRowsTag },
  chart: { read: readRowsTag },
  narrate: { read: readNarrate },
  fact: { read: readFact },
  doubts: { read: readDoubts },
  sql: { read: readSql },
}
/** The tags of a template, for editors. */
export const TAG_NAMES: readonly string[] = Object.keys(TAGS)
const DIVIDERS: Record<string, Read> = { elsif: condition, else: nothing, when: readWhen }
const KNOWN: readonly string[] = [
  ...TAG_NAMES,
  ...Object.keys(DIVIDERS),
  ...Object.keys(TAGS).flatMap((name) => (TAGS[name]!.dividers ? [`end${name}`] : [])),
  'comment',
  'endcomment',
  'raw',
  'endraw',
  '#',
]

/** The options of the tags that take some. */
const TAG_OPTIONS: Record<string, readonly string[]> = {
  table: ['limit', 'columns', 'fmt', 'align'],
  chart: [
    'type',
    'x',
    'y',
    'series',
    'highlight',
    'title',
    'by',
    'low',
    'high',
    'from',
    'to',
    'history',
    'events',
  ],
  fact: ['fmt'],
  narrate: ['ask'],
  doubts: [],
}

/** The most tags inside each other. */
const MAX_DEPTH = 100
/** The most faults. Nobody reads more, and each takes a sentence. */
const MAX_FAULTS = 100

/** Reads the statements of a text. `values`: one count for all texts of a template, which bounds them together. */
export function readProse(text: string, partial: string | null = null, values = new ValueCount()): Prose {
  const positionOf = positionsIn(text)
  const prose: Prose = { statements: [], pieces: [], faults: [], positionOf }
  const report = (error: unknown): void => {
    if (!(error instanceof OffsetFault)) throw error
    const { code, offset, message, remedy } = error
    prose.faults.push(makeFault(code, positionOf(offset), message, remedy, { partial }))
  }
  const open: Statement[] = []
  try {
    const tokens = readTokens(text)
    for (let index = 0; index < tokens.length && prose.faults.length < MAX_FAULTS; index++) {
      const token = tokens[index]!
      if (token.name === 'comment') {
        index = commentEnd(tokens, index)
        continue
      }
      try {
        readToken(token, text, prose, { open, values })
      } catch (error) {
        report(error)
        if (error instanceof OffsetFault && error.code !== 'liquid_syntax') return prose
      }
    }
  } catch (error) {
    report(error)
  }
  for (const { tag, begin } of open) {
    report(new OffsetFault(`{% ${tag} %} has no end.`, begin, `Add {% end${tag} %}.`, 'unclosed_tag'))
  }
  return prose
}

function commentEnd(tokens: Token[], from: number): number {
  for (let index = from + 1; index < tokens.length; index++) {
    if (tokens[index]!.name === 'endcomment') return index
  }
  const { begin } = tokens[from]!
  throw new OffsetFault('The comment has no end.', begin, 'Add {% endcomment %}.', 'unclosed_tag')
}

interface Progress {
  /** The tags that wait for their end, outermost first. */
  open: Statement[]
  values: ValueCount
}

function readToken(token: Token, text: string, prose: Prose, { open, values }: Progress): void {
  const { kind, name, begin, from, to } = token
  const pieces = open.at(-1)?.sections.at(-1)!.pieces ?? prose.pieces
  if (kind === 'text') {
    if (to > from) pieces.push(text.slice(from, to))
    return
  }
  if (name === 'raw' || name === 'endraw') return
  const reader = new Reader(text, from, to, values)
  if (name === '#') return readInlineComment(reader)
  const tag = kind === 'output' ? 'output' : name
  const statement: Statement = {
    tag,
    begin,
    expressions: [],
    named: [],
    binds: null,
    target: null,
    sections: [],
  }
  if (kind === 'output') {
    if (reader.atEnd()) reader.fail('There is nothing to print.', 'Name a value.', begin)
    statement.expressions.push(reader.expression())
    pieces.push(statement)
  } else if (Object.hasOwn(TAGS, name)) {
    const { read, dividers } = TAGS[name]!
    if (dividers) enter(statement, open)
    read(statement, reader)
    pieces.push(statement)
  } else if (name.startsWith('end') && KNOWN.includes(name)) close(statement, open, reader)
  else if (Object.hasOwn(DIVIDERS, name)) divide(statement, open, reader)
  else reader.fail(`There is no tag ${JSON.stringify(name)} here.`, suggest(name, KNOWN), begin)
  reader.finish()
  prose.statements.push(statement)
}

function readInlineComment(reader: Reader): void {
  const lines = reader.text.slice(reader.position, reader.end).split('\n').slice(1)
  if (lines.every((line) => /^\s*(#|$)/.test(line))) return
  reader.fail('Every line of the comment must begin with "#".', 'Use {% comment %} for longer ones.')
}

function enter(statement: Statement, open: Statement[]): void {
  if (open.length >= MAX_DEPTH) {
    throw new OffsetFault(
      `Tags are nested deeper than ${MAX_DEPTH} levels here.`,
      statement.begin,
      'Close tags before opening more, or use a partial.',
      'too_deep',
    )
  }
  statement.sections.push({ head: statement, pieces: [] })
  open.push(statement)
}

function close({ tag, begin }: Statement, open: Statement[], reader: Reader): void {
  const last = open.at(-1)
  if (last === undefined || `end${last.tag}` !== tag) {
    const remedy = last ? `Close {% ${last.tag} %} first.` : 'Remove it.'
    reader.fail(`{% ${tag} %} has no opening tag here.`, remedy, begin)
  }
  open.pop()
}

function divide(statement: Statement, open: Statement[], reader: Reader): void {
  const { tag, begin } = statement
  const last = open.at(-1)
  if (last === undefined || !TAGS[last.tag]!.dividers!.includes(tag)) {
    reader.fail(`{% ${tag} %} does not belong here.`, 'Put it inside the tag it is for.', begin)
  }
  if (last.sections.at(-1)!.head.tag === 'else') {
    reader.fail(`{% ${tag} %} stands after {% else %}.`, 'Let {% else %} be the last.', begin)
  }
  DIVIDERS[tag]!(statement, reader)
  last.sections.push({ head: statement, pieces: [] })
}

function readFor(statement: Statement, reader: Reader): void {
  statement.binds = reader.name('The name of the loop variable')
  if (!reader.word('in')) {
    reader.fail(`"in" is missing before ${reader.found()}.`, 'Write "for X in ROWS".')
  }
  statement.expressions.push(operandOnly(reader))
  while (!reader.atEnd()) {
    reader.take(',')
    const begin = reader.position
    const name = ['reversed', 'limit', 'offset'].find((option) => reader.word(option))
    if (name === undefined) {
      reader.fail(`${reader.found()} is unexpected here.`, 'Loops take limit, offset, reversed.')
    }
    if (name !== 'reversed' && !reader.take(':')) {
      reader.fail(`":" is missing after ${name}.`, `Write "${name}: 10".`)
    }
    const value = name === 'reversed' ? TRUE : operandOnly(reader)
    statement.named.push({ name, value, begin })
  }
}

const TRUE: Expression = {
  operands: [{ kind: 'literal', value: true, begin: 0, end: 0 }],
  operators: [],
  filters: [],
  begin: 0,
  end: 0,
}

function operandOnly(reader: Reader): Expression {
  reader.skipBlanks()
  const begin = reader.position
  return { operands: [reader.operand()], operators: [], filters: [], begin, end: reader.position }
}

function readCapture(statement: Statement, reader: Reader): void {
  statement.binds = reader.name('The name of the capture')
}

function readWhen(statement: Statement, reader: Reader): void {
  do statement.expressions.push(operandOnly(reader))
  while (reader.take(',') || reader.word('or'))
}

function readAssign(statement: Statement, reader: Reader): void {
  statement.binds = reader.name('The name')
  if (!reader.take('=')) {
    reader.fail(`"=" is missing before ${reader.found()}.`, 'Write "assign X = VALUE".')
  }
  statement.expressions.push(reader.expression())
}

function readSql(statement: Statement, reader: Reader): void {
  statement.target = reader.name("The block's name")
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

/** Reads `table ROWS, ...` and `chart ROWS, ...`. */
function readRowsTag(statement: Statement, reader: Reader): void {
  const { tag, begin } = statement
  const [rows] = readArguments(statement, reader, 1)
  if (!rows) reader.fail(`${tag} needs rows.`, `Write {% ${tag} BLOCK %}.`, begin)
  statement.expressions.push(rows)
}

/** Reads `doubts` over all analyses, `doubts BLOCK`, and `doubts [A, B]`. */
function readDoubts(statement: Statement, reader: Reader): void {
  statement.expressions.push(...readArguments(statement, reader, 1))
}

/** Reads `narrate BLOCK, ask: "..."`. */
function readNarrate(statement: Statement, reader: Reader): void {
  const example = 'Write {% narrate BLOCK, ask: "..." %}.'
  const [rows] = readArguments(statement, reader, 1)
  if (!rows) reader.fail('narrate needs rows.', example, statement.begin)
  if (statement.named.length === 0) reader.fail('narrate needs a question.', example, statement.begin)
  statement.expressions.push(rows)
}

/** Reads `fact NAME, VALUE, ...`. */
function readFact(statement: Statement, reader: Reader): void {
  const example = 'Write {% fact NAME, VALUE %}.'
  const [name, value] = readArguments(statement, reader, 2)
  if (!value) reader.fail('A fact needs a name and a value.', example, statement.begin)
  const first = name?.operands[0]
  if (first?.kind === 'path' && first.steps.length === 0) statement.target = first.root
  else if (first?.kind === 'literal' && typeof first.value === 'string') statement.target = first.value
  else reader.fail('A fact needs a plain name.', example, name!.begin)
  statement.expressions.push(value)
}

function readArguments(statement: Statement, reader: Reader, most: number): Expression[] {
  const { plain, named } = reader.arguments(most)
  const known = TAG_OPTIONS[statement.tag]!
  for (const { name, begin } of named) {
    if (!known.includes(name)) {
      reader.fail(`${statement.tag} has no option "${name}".`, suggest(name, known), begin)
    }
  }
  statement.named = named
  return plain
}
