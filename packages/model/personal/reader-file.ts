/**
 * Reads a CSV of readers: the columns reader_id, name, email and user_id; every other column is an attribute. It runs
 * in browsers too.
 */
import type { FieldError } from '../errors.ts'
import { RESERVED_ATTRIBUTES } from './limits.ts'
import type { ReaderAttributes } from './readers.ts'

interface NamedReader {
  reader_id: string
  name: string
  email: string | null
  user_id: string | null
  attributes: ReaderAttributes
}

/** A reader with the line of the file. */
export interface ReaderRow {
  line: number
  reader: NamedReader
}

/** The types that a heading may name after a colon: `level:number`. */
const TYPES = ['text', 'number', 'boolean', 'list'] as const
type Type = (typeof TYPES)[number]

const OWN = ['reader_id', 'name', 'email', 'user_id'] as const
/** The separator of the texts of a list. */
const OF_LIST = ';'

/** A fault of one line of the file. Without a line it concerns the whole file. */
export interface ReaderFault {
  line: number | null
  message: string
}

/** The most faults that a message lists. */
const TOLD = 20

/** Returns the faults as lines of text, at most TOLD of them. */
export function faultText(faults: readonly ReaderFault[]): string {
  const told = faults
    .slice(0, TOLD)
    .map(({ line, message }) => (line === null ? message : `Line ${line}: ${message}`))
  return [...told, ...(faults.length > TOLD ? [`And ${faults.length - TOLD} more.`] : [])].join('\n')
}

/** The file cannot be read as a list of readers. */
export class ReaderFileError extends Error {
  override readonly name = 'ReaderFileError'
  readonly faults: readonly ReaderFault[]

  constructor(faults: readonly ReaderFault[]) {
    super(faultText(faults))
    this.faults = faults
  }
}

function refuse(line: number, message: string): never {
  throw new ReaderFileError([{ line, message }])
}

interface Row {
  line: number
  cells: string[]
}

/** Returns the records by RFC 4180, with the line where each begins. Empty lines are skipped. */
function recordsOf(text: string, separator: string): Row[] {
  const records: Row[] = []
  const pattern = new RegExp(
    `(?:"([^"]*(?:""[^"]*)*)"|([^"${separator}\r\n]*))(${separator}|\r\n|\n|\r|$)`,
    'y',
  )
  let line = 1
  let record: Row = { line, cells: [] }
  while (pattern.lastIndex < text.length) {
    const found = pattern.exec(text)
    if (!found) refuse(line, 'A quote does not fit: write it twice within a cell that is quoted.')
    const [whole, quoted, plain, end] = found
    record.cells.push(quoted === undefined ? plain! : quoted.replaceAll('""', '"'))
    line += whole.match(/\r\n|\n|\r/g)?.length ?? 0
    const goesOn = end === separator
    if (goesOn && pattern.lastIndex === text.length) record.cells.push('')
    if (goesOn && pattern.lastIndex < text.length) continue
    if (record.cells.some((cell) => cell !== '')) records.push(record)
    record = { line, cells: [] }
  }
  return records
}

/** Returns the most frequent separator of the first line. */
function separatorOf(text: string): string {
  const [first = ''] = text.split(/[\r\n]/, 1)
  const count = (mark: string): number => first.split(mark).length
  return [',', ';', '\t'].toSorted((one, other) => count(other) - count(one))[0]!
}

interface Heading {
  name: string
  type: Type
  own: boolean
}

function headingOf(cell: string, line: number): Heading {
  const [name = '', type = 'text'] = cell.trim().split(':', 2)
  const own = (OWN as readonly string[]).includes(name)
  if (name === '') refuse(line, 'A column has no heading.')
  if (!own && (RESERVED_ATTRIBUTES as readonly string[]).includes(name))
    refuse(line, `A column is named ${name}: write reader_id for the id of the reader.`)
  if (!(TYPES as readonly string[]).includes(type))
    refuse(
      line,
      `The column ${name} has the type ${type}: there are ${TYPES.join(', ')}, as in ${name}:number.`,
    )
  return { name, type: type as Type, own }
}

function valueOf({ name, type }: Heading, cell: string, line: number): ReaderAttributes[string] {
  if (type === 'list')
    return cell
      .split(OF_LIST)
      .map((one) => one.trim())
      .filter((one) => one !== '')
  if (type === 'number') {
    const number = Number(cell)
    if (cell.trim() === '' || !Number.isFinite(number)) refuse(line, `${name} is not a number: ${cell}.`)
    return number
  }
  if (type === 'boolean') {
    if (!/^(true|false)$/i.test(cell))
      refuse(line, `${name} is not a boolean: write true or false instead of ${cell}.`)
    return cell.toLowerCase() === 'true'
  }
  return cell
}

function readerIn(headings: readonly Heading[], { line, cells }: Row): NamedReader {
  if (cells.length !== headings.length)
    refuse(line, `It has ${cells.length} cells, and the first line ${headings.length}.`)
  const cellOf = (name: string): string => cells[headings.findIndex((one) => one.name === name)] ?? ''
  const given = headings.flatMap((heading, index): [string, ReaderAttributes[string]][] =>
    heading.own || cells[index] === '' ? [] : [[heading.name, valueOf(heading, cells[index]!, line)]],
  )
  const reader_id = cellOf('reader_id')
  if (reader_id === '') refuse(line, 'reader_id is empty.')
  return {
    reader_id,
    name: cellOf('name') || reader_id,
    email: cellOf('email') || null,
    user_id: cellOf('user_id') || null,
    attributes: Object.fromEntries(given),
  }
}

/**
 * Returns the readers. An empty cell means no attribute. Throws ReaderFileError with the fault of the first line, or
 * else with the first fault of each row.
 */
export function readersIn(text: string): ReaderRow[] {
  const separator = separatorOf(text)
  const [head, ...rows] = recordsOf(text.replace(/^\uFEFF/, ''), separator)
  if (!head)
    throw new ReaderFileError([
      { line: null, message: 'The file is empty: its first line names the columns.' },
    ])
  const headings = head.cells.map((cell) => headingOf(cell, head.line))
  const twice = headings.find(({ name }, index) => headings.findIndex((one) => one.name === name) < index)
  if (twice) refuse(head.line, `Two columns are named ${twice.name}.`)
  if (!headings.some(({ name }) => name === 'reader_id'))
    refuse(head.line, `There is no column reader_id among ${headings.map(({ name }) => name).join(', ')}.`)
  const faults: ReaderFault[] = []
  const readers = rows.flatMap((row) => {
    try {
      return [{ line: row.line, reader: readerIn(headings, row) }]
    } catch (error) {
      if (!(error instanceof ReaderFileError)) throw error
      faults.push(...error.faults)
      return []
    }
  })
  if (faults.length > 0) throw new ReaderFileError(faults)
  return readers
}

/** Returns the service's faults of a list of these rows by the lines of the file. */
export function refusedLines(errors: readonly FieldError[], rows: readonly ReaderRow[]): ReaderFault[] {
  return errors.map(({ path, message }) => {
    const [, index, field = ''] = /^readers\.(\d+)\.?(.*)$/.exec(path) ?? []
    return index === undefined
      ? { line: null, message: `${path}: ${message}` }
      : { line: rows[Number(index)]!.line, message: `${field} ${message}`.trim() }
  })
}

/**
 * Returns an attribute from its typed text. It is a text, unless it is JSON of a number, of true or false, or of a
 * list. Quotes keep a text.
 */
export function typedAttribute(given: string): ReaderAttributes[string] {
  try {
    const value: unknown = JSON.parse(given)
    if (['number', 'boolean', 'string'].includes(typeof value) || Array.isArray(value))
      return value as ReaderAttributes[string]
  } catch {
    // The value is a text.
  }
  return given
}
