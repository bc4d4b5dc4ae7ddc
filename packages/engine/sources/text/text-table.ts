/**
 * Reads a table in text. Assay decides where it begins and how it is divided (shape.ts), and how each column is read
 * (tally.ts); DuckDB guesses nothing. The decision rests on a sample, and every other value is checked while it is
 * read. If a value does not fit, or two readings are left, all values of the column are examined.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { ColumnDialect, ColumnDoubt, Dialect, FoundColumn, FoundDialect } from '@assay/model/dialect'
import { brokenRow, isNotUtf8, mayBeEnds } from '../../duckdb/csv-fault.ts'
import { type Engine, identifier, literal, readTable } from '../../duckdb/duckdb.ts'
import { suggest } from '../../values/near.ts'
import type { SourceFile } from '../files/source-file.ts'
import { roomLeft } from '../room.ts'
import { SourceError } from '../source.ts'
import { type ColumnSql, columnSql, isText, MISFIT } from './column-sql.ts'
import { WINDOWS } from './encoding.ts'
import { eachKind } from './keys.ts'
import { refuseWiderCounts } from './misplaced.ts'
import { evenEnds, type Part, partOf } from './part.ts'
import { copyWithoutWider, lineOfRecord } from './record-walk.ts'
import { faultAt } from './records.ts'
import { type Decision, type Evidence, impliedBy, Tally } from './tally.ts'

export interface TextSource {
  /** The file as written in the template. */
  file: string
  dialect: Dialect
  /** The declared column types. */
  types: Record<string, string>
  /** True if its records are the rows of a sheet. */
  sheet: boolean
  /** True to make a table. Otherwise each block that reads it scans the file. */
  load: boolean
  /** A folder for this job alone; not created yet. */
  temp_folder: string
  /** The most bytes of all that the job writes to its folder, such as a text that is written again as UTF-8. */
  most_bytes: number
}

const SAMPLE_ROWS = 20_480
/** The rows in the sample of a loaded table. Others are checked while the table is read, before any block runs. */
const SAMPLE_LOADED = 2_048
const SAMPLE_LEAST = 200
const SAMPLE_CELLS = 400_000
const LINE_BYTES = 2_000_000
/** The bytes of the buffer for reading. Those of DuckDB, 32 MB, take 60 MB more memory and save no time. */
const BUFFER_BYTES = 8_000_000
/** Matches the record of the first broken row. The engine counts a record with line breaks as one line. */
const RECORD = /CSV Error on Line: (\d+)/

export class TextTable {
  readonly #engine: Engine
  readonly #source: TextSource
  readonly #parts: Part[]
  #columns: { name: string; decision: Decision; tally: Tally }[] = []
  /** True if every value has been seen. */
  #covered = false
  /** The doubts about dates that one of several files leaves open. */
  readonly #open = new Map<string, ColumnDoubt>()
  #looked = false
  /** The number of rows that are left out before the engine reads the text. */
  leftOut = 0

  private constructor(engine: Engine, source: TextSource, parts: Part[]) {
    this.#engine = engine
    this.#source = source
    this.#parts = parts
  }

  /** Reads the beginning of each file and a sample of the rows. Throws SourceError if the files cannot be read. */
  static async open(engine: Engine, files: readonly SourceFile[], source: TextSource): Promise<TextTable> {
    const parts: Part[] = []
    for (const file of files) {
      const part = await partOf(file, source, null)
      if (part) parts.push(part)
    }
    if (parts.length === 0)
      throw new SourceError(
        `${JSON.stringify(source.file)} cannot be read: it is empty, and its first row must name the columns.`,
      )
    const table = new TextTable(engine, source, parts)
    table.#vetColumns()
    try {
      if (source.dialect.bad_rows === 'skip') await table.#leaveOutWider()
      await table.#sampled()
    } catch (error) {
      throw await table.placed(error)
    }
    if (source.dialect.bad_rows !== 'skip') await table.#vetWidths()
    await table.#vetEachFile().catch(async (error: unknown) => {
      // Other faults of a text are reported when it is loaded.
      if (error instanceof SourceError) throw error
      if (await table.recode(error)) await table.#vetEachFile()
    })
    return table
  }

  #vetColumns(): void {
    const { file, types, dialect } = this.#source
    const known = new Set(this.names.map((name) => name.toLowerCase()))
    for (const name of [...Object.keys(types), ...Object.keys(dialect.columns ?? {})])
      if (!known.has(name.toLowerCase()))
        throw new SourceError(
          `${JSON.stringify(file)} cannot be read: "columns" names ${JSON.stringify(name)}, which it does not have. ${suggest(name, this.names)}`,
        )
  }

  /** Returns the files that the engine reads: those of the source, or copies in UTF-8. */
  get files(): SourceFile[] {
    return this.#parts.map(({ file }) => file)
  }

  /** Reads the sample. A file that turns out not to be UTF-8 is read again as Windows-1252. */
  async #sampled(): Promise<void> {
    try {
      await this.#sample()
    } catch (error) {
      if (!(await this.recode(error))) throw error
      await this.#sample()
    }
  }

  /** Settles dates in each of several files, because one may come from another program with another order. */
  async #vetEachFile(): Promise<void> {
    const settled = this.#columns.filter(
      ({ decision }) => decision.kind === 'date' && decision.order !== null && decision.sure === 'settled',
    )
    if (this.#parts.length < 2 || settled.length === 0) return
    for (const part of this.#parts) {
      const own = new Set(part.shape.names.map((name) => name.toLowerCase()))
      const names = settled.map(({ name }) => name).filter((name) => own.has(name.toLowerCase()))
      const tallies = names.map(() => new Tally({}))
      const text = `select * from ${this.#call([part], () => 'VARCHAR', '')}`
      await eachKind(this.#engine, names, text, (place, value, times) => tallies[place]!.note(value, times))
      for (const [place, name] of names.entries()) {
        const decision = tallies[place]!.decide({ decimal: null, thousands: null, sure: 'likely' })
        if (decision.kind !== 'text' || decision.doubt?.kind !== 'two_readings') continue
        const says = `Other files settle the order of the dates, but ${JSON.stringify(part.file.path)} may come from elsewhere. ${decision.doubt.says}`
        if (!this.#open.has(name)) this.#open.set(name, { ...decision.doubt, says })
      }
    }
    this.#decide()
  }

  /** Counts the rows with an empty value too many in a text of which only the beginning was read. */
  async #vetWidths(): Promise<void> {
    if (this.#bytes() > CHECKED_BYTES) return
    for (const part of this.#parts.filter(({ shape }) => !shape.whole)) {
      const width = part.shape.names.length
      try {
        const { rows } = await readTable(this.#engine, this.#widthsSql(part), {}, 1)
        const [all, wider, begins] = rows[0]!
        const counts = { all: Number(all), wider: Number(wider), begins: begins as string }
        refuseWiderCounts(counts, width, this.#source.dialect, this.#source.file)
      } catch (error) {
        if (error instanceof SourceError) throw error
        // Other faults of the text are reported when it is loaded.
        if (await this.recode(error)) return this.#vetWidths()
      }
    }
  }

  /** Writes the text without rows with an empty value too many, because the engine does not treat them as bad. */
  async #leaveOutWider(): Promise<void> {
    const { dialect, file: shown, temp_folder, most_bytes } = this.#source
    const parts = this.#parts.filter(({ shape }) => shape.wider || this.#bytes() <= CHECKED_BYTES)
    if (parts.length > 0) await mkdir(temp_folder, { recursive: true, mode: 0o700 })
    for (const part of parts) {
      const { marks, names, above } = part.shape
      const real = path.join(temp_folder, `${randomUUID()}.narrow`)
      const kept = { above, width: names.length, into: real, most: roomLeft(most_bytes, temp_folder) }
      const { left, all } = await copyWithoutWider(part.file, marks, kept)
      if (left > 0 && left < all) {
        part.file = { ...part.file, real, modified_ns: null }
        this.leftOut += left
        continue
      }
      await rm(real)
      if (left > 0) refuseWiderCounts({ all, wider: left, begins: '' }, names.length, dialect, shown)
    }
  }

  /** Reads an empty value as text and not as null, so that it differs from an absent one. */
  #widthsSql(part: Part): string {
    const { separator, quote, escape } = part.shape.marks
    const width = part.shape.names.length
    const columns = Array.from({ length: width + 1 }, (_, index) => `c${index}: 'VARCHAR'`).join(', ')
    const marks = `delim = ${literal(separator)}, quote = ${literal(quote)}, escape = ${literal(escape)}, comment = ''`
    return `select count(*), count(*) filter (c${width} = ''), min(c0) filter (c${width} = '')
      from read_csv(${literal(part.file.real)}, auto_detect = false, header = false, skip = ${part.shape.above}, ${marks},
        max_line_size = ${LINE_BYTES}, null_padding = true, parallel = false, nullstr = '\u0001\u0002', columns = {${columns}})`
  }

  /** Tells whether the error was one of the encoding or of line ends, and the files are now read in another way. */
  async recode(error: unknown): Promise<boolean> {
    if (!(error instanceof Error)) return false
    if (mayBeEnds(error.message)) return evenEnds(this.#parts, this.#source)
    if (!isNotUtf8(error.message)) return false
    if (this.#source.dialect.encoding !== undefined) return false
    const plain = this.#parts.filter(({ encoding }) => encoding.is === 'utf-8')
    if (plain.length === 0) return false
    for (const part of plain) Object.assign(part, await partOf(part.file, this.#source, WINDOWS))
    return true
  }

  /** Returns the error with the line of a broken row in place of its record, and the file as the template names it. */
  async placed(error: unknown): Promise<unknown> {
    if (!(error instanceof Error)) return error
    const [, record] = RECORD.exec(error.message) ?? []
    const part = this.#parts.find(({ file }) => error.message.includes(`file = ${file.real}\n`))
    if (record === undefined || !part) return error
    const { sheet } = this.#source
    const line = sheet ? record : await lineOfRecord(part.file, Number(record), part.shape.marks)
    const { marks, names } = part.shape
    const row = brokenRow(error.message)
    const column = row === null || sheet ? '' : `, column ${faultAt(row, marks, names.length)}`
    const message = error.message.replace(RECORD, `CSV Error on Line: ${line ?? record}${column}`)
    return new Error(message.replaceAll(part.file.real, part.file.path))
  }

  async #sample(): Promise<void> {
    const names = this.names
    const { dialect } = this.#source
    const most = this.#source.load ? SAMPLE_LOADED : SAMPLE_ROWS
    const rows = Math.min(most, Math.max(SAMPLE_LEAST, Math.floor(SAMPLE_CELLS / names.length)))
    const tallies = names.map((name) => this.#tally(name))
    if (!this.#noteBeginning(tallies, rows))
      for (const [place, slice] of slicesOf(names).entries()) {
        const sql = `select ${slice.map(identifier).join(', ')} from (${this.#text()}) limit ${rows + 1}`
        const found = await readTable(this.#engine, sql, {}, rows + 1)
        for (const row of found.rows)
          for (const [index, value] of row.entries())
            if (value !== null) tallies[place * SLICE + index]!.note(value as string)
        this.#covered = found.total <= rows
      }
    this.#columns = names.map((name, index) => {
      const tally = tallies[index]!
      return { name, tally, decision: { kind: 'text', doubt: null } }
    })
    this.#decide()
    if (this.#covered) return
    const open = this.#columns.filter(({ decision }) => decision.kind === 'text' && decision.doubt !== null)
    if (open.length > 0) await this.#lookAt(open.map(({ name }) => name))
    this.#decide()
    if (dialect.bad_rows === undefined) await this.#checkCodes()
  }

  /** Takes the sample from what was read for the shape, if that is enough. Returns false if it is not. */
  #noteBeginning(tallies: readonly Tally[], rows: number): boolean {
    const [{ shape }, ...others] = this.#parts as [Part, ...Part[]]
    const { beginning, whole } = shape
    if (beginning === null || others.length > 0 || (!whole && beginning.length < rows)) return false
    for (const row of beginning.slice(0, rows))
      for (const [index, value] of row.entries()) tallies[index]!.note(value)
    this.#covered = whole && beginning.length <= rows
    shape.beginning = null
    return true
  }

  /** Reads all values of the columns that are no text, after one did not fit. Resolves to false if done before. */
  async lookAtAll(): Promise<boolean> {
    if (this.#covered || this.#looked) return false
    this.#looked = true
    const read = this.#columns.filter(({ decision }) => decision.kind !== 'text').map(({ name }) => name)
    this.#covered = await this.#lookAt(read)
    this.#decide()
    return true
  }

  /** Resolves to false if a column has more values than were examined. */
  async #lookAt(names: readonly string[]): Promise<boolean> {
    let all = true
    for (const slice of slicesOf(names)) {
      const tallies = slice.map((name) => this.#tally(name))
      const note = (place: number, value: string, times: number): void => tallies[place]!.note(value, times)
      const whole = await eachKind(this.#engine, slice, this.#text(), note)
      all &&= whole
      const looked = new Map(slice.map((name, place) => [name, tallies[place]!]))
      for (const column of this.#columns) column.tally = looked.get(column.name) ?? column.tally
    }
    return all
  }

  /** Finds codes beyond the sample in texts that are read as a whole: numbers with leading zeros. */
  async #checkCodes(): Promise<void> {
    if (this.#bytes() > CHECKED_BYTES) return
    const whole = this.#columns.filter(({ decision }) => decision.kind === 'integer').map(({ name }) => name)
    const codes: string[] = []
    for (const slice of slicesOf(whole)) {
      const tests = slice.map(
        (name) => `coalesce(bool_or(regexp_matches(${identifier(name)}, '^\\s*-?0[0-9]')), false)`,
      )
      const sql = `select ${tests.join(', ')} from (${this.#text()})`
      const { rows } = await readTable(this.#engine, sql, {}, 1)
      codes.push(...slice.filter((_, index) => rows[0]![index] === true))
    }
    if (codes.length === 0) return
    await this.#lookAt(codes)
    this.#decide()
  }

  #bytes(): number {
    return this.#parts.reduce((sum, { file }) => sum + file.bytes, 0)
  }

  #tally(name: string): Tally {
    return new Tally(this.#declaredFor(name), this.#ownOf(name).dates === undefined)
  }

  #ownOf(name: string): ColumnDialect {
    const { columns = {} } = this.#source.dialect
    return Object.entries(columns).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1] ?? {}
  }

  #declaredFor(name: string): ColumnDialect {
    const { dates, decimal, thousands, percent, minus, missing } = this.#source.dialect
    const own = this.#ownOf(name)
    const common = { dates, decimal, thousands, percent, minus, missing }
    const given = Object.entries({ ...common, ...own }).filter(([, value]) => value !== undefined)
    return Object.fromEntries(given)
  }

  #decide(): void {
    const settled = new Set(this.#columns.flatMap(({ tally }) => tally.decimal ?? []))
    const [only] = settled.size === 1 ? settled : [null]
    for (const column of this.#columns) {
      const { decimal = null, thousands = null } = this.#declaredFor(column.name)
      const declared = decimal !== null || thousands !== null
      const own = column.tally.decimal
      const evidence: Evidence = declared
        ? {
            decimal: decimal ?? impliedBy(thousands),
            thousands,
            sure: 'declared',
          }
        : { decimal: own === null ? (only ?? null) : null, thousands: null, sure: 'likely' }
      const doubt = this.#open.get(column.name)
      column.decision = doubt ? { kind: 'text', doubt } : column.tally.decide(evidence)
    }
  }

  get names(): string[] {
    const names = new Map<string, string>()
    for (const { shape } of this.#parts)
      for (const name of shape.names) if (!names.has(name.toLowerCase())) names.set(name.toLowerCase(), name)
    return [...names.values()]
  }

  /** Returns the query of all columns as text. */
  #text(): string {
    return this.#read(() => 'VARCHAR')
  }

  #read(typeOf: (name: string) => string, options = ''): string {
    const groups = Map.groupBy(this.#parts, ({ shape }) =>
      JSON.stringify([shape.marks, shape.names, shape.above]),
    )
    const calls = [...groups.values()].map((parts) => `select * from ${this.#call(parts, typeOf, options)}`)
    return calls.join(' union all by name ')
  }

  #call(parts: readonly Part[], typeOf: (name: string) => string, options: string): string {
    const { shape } = parts[0]!
    const { separator, quote, escape } = shape.marks
    const known = new Map(this.names.map((name) => [name.toLowerCase(), name]))
    const columns = shape.names.map((name) => {
      const own = known.get(name.toLowerCase())!
      return `${literal(own)}: ${literal(typeOf(own))}`
    })
    const marks = `delim = ${literal(separator)}, quote = ${literal(quote)}, escape = ${literal(escape)}, comment = ''`
    // With parallel reading the engine returns no row if the first one is broken.
    const bad = this.#source.dialect.bad_rows === 'skip' ? ', ignore_errors = true, parallel = false' : ''
    const files = parts.map(({ file }) => literal(file.real)).join(', ')
    return `read_csv([${files}], auto_detect = false, header = false, skip = ${shape.above}, ${marks}, max_line_size = ${LINE_BYTES}, buffer_size = ${BUFFER_BYTES}${bad}${options}, columns = {${columns.join(', ')}})`
  }

  #typeOf(name: string): string | null {
    const lower = name.toLowerCase()
    return Object.entries(this.#source.types).find(([key]) => key.toLowerCase() === lower)?.[1] ?? null
  }

  /** Returns the query whose rows are the table. `rejects` names the table of the rows that are left out. */
  query(rejects: string | null): string {
    const columns = this.#columnsSql()
    const from = this.#parsed(columns, rejects)
    return columns.every(({ sql }) => sql === null) ? from : listed(columns, from)
  }

  /**
   * Returns queries of the same rows, each for a slice of the columns in order. The engine would need too much memory
   * for thousands of columns at once.
   */
  slices(rejects: string | null): string[] {
    const columns = this.#columnsSql()
    const from = this.#parsed(columns, rejects)
    return slicesOf(columns).map((slice) => listed(slice, from))
  }

  #columnsSql(): NamedSql[] {
    const asText = this.#source.dialect.bad_rows === 'skip'
    return this.#columns.map(({ name, decision, tally }) => ({
      name,
      ...columnSql(decision, {
        name,
        declared: this.#declaredFor(name),
        marks: [...tally.missing.keys()],
        padded: tally.padded,
        type: this.#typeOf(name),
        covered: this.#covered,
        asText,
      }),
    }))
  }

  #parsed(columns: readonly NamedSql[], rejects: string | null): string {
    const parsed = new Map(columns.map((column) => [column.name, column.parsed]))
    const options =
      rejects === null
        ? ''
        : `, store_rejects = true, rejects_table = ${literal(rejects)}, rejects_scan = ${literal(`${rejects}_scans`)}`
    return this.#read((name) => parsed.get(name)!, options)
  }

  /** Returns how the text is read, as far as that is known. */
  found(): FoundDialect & Required<Pick<FoundDialect, 'encoding' | 'separator' | 'quote'>> {
    const { encoding, shape } = this.#parts[0]!
    const { marks, sure } = shape
    return {
      encoding,
      separator: { is: marks.separator, sure: sure.separator },
      quote: { is: marks.quote, sure: sure.quote },
      header: { is: shape.header, sure: sure.header },
      skipped: shape.skipped,
      columns: this.#columns.flatMap(({ name, decision, tally }) => {
        const repeats = shape.repeated.get(name)
        const column = { name, ...(repeats === undefined ? {} : { repeats }) }
        return foundColumn(column, decision, tally, this.#typeOf(name))
      }),
    }
  }
}

type NamedSql = { name: string } & ColumnSql

/** Lists the columns one by one. DuckDB takes minutes for "* replace" of 5,000 columns. */
function listed(columns: readonly NamedSql[], from: string): string {
  const list = columns.map(({ name, sql }) =>
    sql === null ? identifier(name) : `${sql} as ${identifier(name)}`,
  )
  return `select ${list.join(', ')} from (${from})`
}

/** The most columns that one query reads from a text. The engine reserves about 0.3 MB for each. */
const SLICE = 1_000

function slicesOf<T>(columns: readonly T[]): T[][] {
  const slices: T[][] = []
  for (let from = 0; from < columns.length; from += SLICE) slices.push(columns.slice(from, from + SLICE))
  return slices
}

/** The size in bytes up to which all rows are searched for codes with leading zeros. */
const CHECKED_BYTES = 16_000_000

function foundColumn(
  column: FoundColumn,
  decision: Decision,
  tally: Tally,
  type: string | null,
): FoundColumn[] {
  if (type !== null && isText(type)) return Object.keys(column).length > 1 ? [column] : []
  if (decision.kind === 'text' && decision.doubt) column.doubt = decision.doubt
  if (decision.kind === 'date' && decision.order !== null)
    column.dates = { is: decision.order, sure: decision.sure }
  if (decision.kind === 'number' && decision.format) {
    column.decimal = { is: decision.format.decimal, sure: decision.sure }
    const thousands = tally.thousandsOf(decision.format, decision.sure)
    if (thousands !== '') column.thousands = { is: thousands, sure: decision.sure }
  }
  if (decision.kind === 'number' && decision.around) {
    const { currencies, percent, minus } = decision.around
    if (currencies.length > 0) column.currency = { is: currencies[0]!, sure: 'settled' }
    if (percent) column.percent = percent
    if (minus) column.minus = minus
  }
  if (decision.kind !== 'text' && tally.missing.size > 0)
    column.missing = [...tally.missing].map(([mark, n]) => ({ mark, n }))
  return Object.keys(column).length > 1 ? [column] : []
}

/** Tells whether reading failed because a value does not fit the decision. */
export function isMisfit(error: unknown): boolean {
  return (
    error instanceof Error && (error.message.includes(MISFIT) || error.message.startsWith('Conversion Error'))
  )
}
