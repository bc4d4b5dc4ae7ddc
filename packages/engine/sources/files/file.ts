/**
 * Attaches files as sources. Parquet becomes a view over exactly the resolved files (measured: a query over 3 million
 * rows takes 15 ms instead of 274 ms with loading). Text is loaded, or scanned if it is large and only one block reads
 * it.
 */
import { stat } from 'node:fs/promises'
import type { Dialect, FoundColumn, FoundDialect } from '@assay/model/dialect'
import { packingOf } from '@assay/model/file'
import type { SourceLineage } from '@assay/model/insight'
import { describeQuery, type Engine, execute, identifier, readTable } from '../../duckdb/duckdb.ts'
import { engineFailure } from '../../duckdb/engine-error.ts'
import type { LeftOut } from '../remote/parquet/parts.ts'
import { roomLeft } from '../room.ts'
import type { Roots } from '../roots.ts'
import { keepLarge, largeTable } from '../rows/large-tables.ts'
import type { SheetText } from '../sheets/sheet-text.ts'
import { type Attached, SourceError } from '../source.ts'
import { misfitFault } from '../text/column-sql.ts'
import { jsonDates } from '../text/json-dates.ts'
import { isMisfit, TextTable } from '../text/text-table.ts'
import { commonFormat } from './files.ts'
import { fingerprintParquet, fingerprintText } from './fingerprint.ts'
import type { Format } from './formats.ts'
import { rowsOfJson } from './json-list.ts'
import { refuseMisnamed } from './misnamed.ts'
import type { RowCondition } from './row-condition.ts'
import type { SourceFile } from './source-file.ts'

/** The size from which on a text that only one block reads is scanned by that block instead of loaded. */
const SCAN_BYTES = 64_000_000
const GROWTH = 6

/** A declared type: a name, at most two numbers, list brackets. It becomes part of a statement. */
const TYPE = /^[A-Za-z_][A-Za-z0-9_ ]*(\(\s*\d+\s*(,\s*\d+\s*)?\))?(\[\d*\])*$/

export interface FileSource {
  name: string
  /** The line of the source in the template. */
  line: number
  /** The path or pattern, with variables filled in. */
  file: string
  /** Declared column types. */
  columns: Record<string, string>
  dialect: Dialect
  roots: Roots
  /** The number of blocks that read it. A large file that one block reads is scanned; all others are loaded. */
  readers: number
  /** True to learn the columns only. Nothing is loaded, hashed or counted. */
  peek: boolean
  /** A folder for this job alone; not created yet. */
  temp_folder: string
  /** The most bytes that the job may write there. */
  spill_bytes: number
  /** The rows that are read of Parquet. */
  where?: { text: string; condition: RowCondition } | null
  /** What was not fetched because of the condition. */
  left_out?: LeftOut | null
}

/**
 * Returns the format. Throws SourceError for files of several formats, and for a declaration that their format does
 * not have.
 */
export function vetFile(attachment: FileSource, files: SourceFile[]): Format {
  const format = commonFormat(files, attachment.file)
  vetTypes(attachment.columns)
  vetMarks(attachment, format)
  return format
}

/** Attaches the files that a source names. `files`: the resolved ones. */
export async function attachFile(
  engine: Engine,
  attachment: FileSource,
  files: SourceFile[],
): Promise<Attached> {
  const format = vetFile(attachment, files)
  const lineage = attachment.peek ? unread(files) : fingerprinted(files, format)
  // The files are hashed while DuckDB reads them. The result is awaited below.
  lineage.catch(() => undefined)
  let opened: SourceFile[] = files
  try {
    await refuseMisnamed(files, format.name)
    const make = format.table ? makeTextTable : format.typed ? makeTypedTable : makeTable
    const made = await make(engine, attachment, { files, format })
    const { load, dialect, found = [], list } = made
    const open = found.filter(({ doubt }) => doubt)
    opened = made.files
    if (dialect?.encoding) refuseZeros(await lineage, dialect.encoding.is)
    const columns = await describeQuery(engine, `select * from ${identifier(attachment.name)}`)
    const counted = !attachment.peek && (load || !format.text)
    const { where = null, left_out = null } = attachment
    const count = where ? undefined : format.count?.(files)
    const rows = counted ? await countRows(engine, identifier(attachment.name), count) : null
    return {
      columns,
      lineage: {
        name: attachment.name,
        files: (await lineage).map(({ zero_at: _zero, ...file }) => file),
        rows,
        format: format.name,
        ...(where ? { where: { text: where.text, left_out } } : {}),
        ...(dialect ? { dialect } : {}),
        ...(open.length > 0 ? { readings: open } : {}),
        ...(list ? { list } : {}),
      },
      readings: dialect?.columns ?? found,
      paths: load ? [] : opened.map((file) => file.real),
      verify: () => (load ? Promise.resolve() : verifyUnchanged(files)),
    }
  } catch (error) {
    const failure = engineFailure(error)
    if (failure?.kind !== 'refused') throw error
    const broken = files.find(({ path }) => (error as Error).message.includes(`file = ${path}\n`))
    const within = files.length > 1 && broken ? `in ${JSON.stringify(broken.path)}, ` : ''
    const reason = misfitFault(failure.reason) ?? failure.reason
    throw new SourceError(unreadable(within + reason, attachment, [...files, ...opened]))
  }
}

interface Made {
  /** True for a table, false for a view. */
  load: boolean
  /** The files that the engine reads. */
  files: SourceFile[]
  dialect?: FoundDialect
  /** The columns of dates, for JSON. */
  found?: FoundColumn[]
  /** The list that holds the rows of JSON; null or absent if the rows stand by themselves. */
  list?: string | null
}

interface Resolved {
  files: SourceFile[]
  format: Format
}

const isLoaded = ({ peek, readers }: FileSource, { text }: Format, files: readonly SourceFile[]): boolean =>
  text && !peek && !(readers === 1 && files.reduce((sum, file) => sum + file.bytes, 0) > SCAN_BYTES)

/** Tells whether a loaded table lies on the disk of the job. A packed text counts `GROWTH` times. */
const isLarge = (files: readonly SourceFile[]): boolean =>
  files.reduce((sum, { bytes, real }) => sum + bytes * (packingOf(real) === null ? 1 : GROWTH), 0) >
  SCAN_BYTES

const casts = (columns: Record<string, string>): string => {
  const all = Object.entries(columns).map(
    ([column, type]) => `cast(${identifier(column)} as ${type}) as ${identifier(column)}`,
  )
  return all.length === 0 ? '' : ` replace (${all.join(', ')})`
}

async function makeTypedTable(
  engine: Engine,
  { name, columns, temp_folder, spill_bytes, peek }: FileSource,
  { files, format }: Resolved,
): Promise<Made> {
  const { typedQuery } = await import('../typed/typed-text.ts')
  const read = await typedQuery(files, await format.typed!(), { temp_folder, spill_bytes, peek })
  const query = `select *${casts(columns)} from (${read.sql})`
  if (!peek && isLarge(files)) await keepLarge(engine, name, query, { temp_folder, spill_bytes })
  else await execute(engine, `create ${peek ? 'view' : 'table'} ${identifier(name)} as ${query}`)
  return { load: !peek, files: read.files }
}

async function makeTable(engine: Engine, attachment: FileSource, { files, format }: Resolved): Promise<Made> {
  const load = isLoaded(attachment, format, files)
  const large = load && isLarge(files)
  const name = identifier(attachment.name)
  const call = format.call(files)
  const { dialect, file: shown } = attachment
  const json = { call, files, format: format.name, declared: dialect.list, shown }
  const { from, list } = format.lists ? await rowsOfJson(engine, json) : { from: call, list: null }
  let query = `select *${casts(attachment.columns)} from ${from}`
  if (attachment.where && !attachment.peek)
    query = `select * from (${query}) where ${attachment.where.condition.sql}`
  if (large) await keepLarge(engine, attachment.name, query, attachment)
  else await execute(engine, `create ${load ? 'table' : 'view'} ${name} as ${query}`)
  if (!format.text) return { load, files }
  if (large) query = `from ${largeTable(attachment.name)}`
  const columns = await describeQuery(engine, `select * from ${name}`)
  const typed = Object.keys(attachment.columns)
  const { dates, found } = await jsonDates(engine, name, columns, attachment.dialect, typed)
  if (load && !large)
    for (const { name: column, type, sql } of dates)
      await execute(engine, `alter table ${name} alter ${identifier(column)} type ${type} using ${sql}`)
  else if (dates.length > 0) {
    const read = dates.map(({ name: column, sql }) => `${sql} as ${identifier(column)}`).join(', ')
    await execute(engine, `create or replace view ${name} as select * replace (${read}) from (${query})`)
  }
  return { load, files, found, list }
}

async function makeTextTable(
  engine: Engine,
  attachment: FileSource,
  { files, format }: Resolved,
): Promise<Made> {
  const { name, file, columns: types, temp_folder, spill_bytes, peek } = attachment
  const sheets = format.sheets ? await sheetsOf(attachment, files) : null
  const dialect = sheets ? { ...attachment.dialect, ...SHEET_MARKS } : attachment.dialect
  const skips = dialect.bad_rows === 'skip' && !peek
  const load = skips || (sheets ? !peek : isLoaded(attachment, format, files))
  const text = await TextTable.open(engine, sheets?.map((sheet) => sheet.file) ?? files, {
    file,
    dialect,
    types,
    sheet: sheets !== null,
    load,
    temp_folder,
    most_bytes: spill_bytes,
  })
  // The name of a metric's source has blanks, which DuckDB does not take here.
  const rejects = skips ? `bad_rows_${Buffer.from(name).toString('hex')}` : null
  for (;;) {
    try {
      if (!load || !(await createFromSlices(engine, name, text.slices(rejects), rejects))) {
        if (rejects !== null) await dropRejects(engine, rejects)
        const query = text.query(rejects)
        if (load && isLarge(files)) await keepLarge(engine, name, query, { temp_folder, spill_bytes })
        else
          await execute(
            engine,
            `create or replace ${load ? 'table' : 'view'} ${identifier(name)} as ${query}`,
          )
      }
      break
    } catch (error) {
      if (await text.recode(error)) continue
      if (!isMisfit(error) || !(await text.lookAtAll())) throw await text.placed(error)
    }
  }
  const { encoding, separator, quote, ...rest } = text.found()
  const found: FoundDialect = sheets
    ? { sheet: sheets[0]!.found, ...rest }
    : { encoding, separator, quote, ...rest }
  if (rejects !== null) {
    found.bad_rows = text.leftOut + (await badRows(engine, rejects)).n
    await dropRejects(engine, rejects)
    if (found.bad_rows > 0 && (await countRows(engine, identifier(name))) === 0)
      throw new SourceError(
        `${JSON.stringify(file)} cannot be read: "bad_rows: skip" leaves out all of its ${found.bad_rows} rows, since none has as many values as there are names. Correct the row of names.`,
      )
  }
  return { load, files: text.files, dialect: found }
}

/**
 * Loads a table of very many columns: each slice of columns becomes a table, and these are joined row by row. Returns
 * false if there is only one slice, or if the slices left out different rows. That happens if a value that is no text
 * breaks a row only in the slice of its column.
 */
async function createFromSlices(
  engine: Engine,
  name: string,
  slices: readonly string[],
  rejects: string | null,
): Promise<boolean> {
  if (slices.length === 1) return false
  const parts = slices.map((_, index) => identifier(`slice_${Buffer.from(name).toString('hex')}_${index}`))
  const left = new Set<string>()
  try {
    for (const [index, slice] of slices.entries()) {
      if (rejects !== null) await dropRejects(engine, rejects)
      await execute(engine, `create or replace table ${parts[index]!} as ${slice}`)
      if (rejects !== null) left.add((await badRows(engine, rejects)).lines)
    }
    if (left.size > 1) return false
    const joined = `select * from ${parts.join(' positional join ')}`
    await execute(engine, `create or replace table ${identifier(name)} as ${joined}`)
    return true
  } finally {
    for (const part of parts) await execute(engine, `drop table if exists ${part}`)
  }
}

/** The marks with which a sheet is written for the reader of tables in text. */
const SHEET_MARKS = { encoding: 'utf-8', separator: ',', quote: '"' }

async function sheetsOf(
  { dialect, temp_folder, spill_bytes }: FileSource,
  files: readonly SourceFile[],
): Promise<SheetText[]> {
  // This is loaded on demand, because most jobs read no workbook.
  const { writeSheet } = await import('../sheets/sheet-text.ts')
  const sheets: SheetText[] = []
  for (const file of files)
    sheets.push(
      await writeSheet(file, { dialect, temp_folder, most_bytes: roomLeft(spill_bytes, temp_folder) }),
    )
  return sheets
}

/** Refuses options of the source that do not apply to this format, because they would be ignored silently. */
function vetMarks({ dialect, file, where }: FileSource, { sheets, lists, name }: Format): void {
  if (where && name !== 'parquet')
    throw new SourceError(
      `${JSON.stringify(file)} cannot be read: "where" is for Parquet, and the file is .${name}. Write it in an SQL block.`,
    )
  if (dialect.list !== undefined && !lists)
    throw new SourceError(
      `${JSON.stringify(file)} cannot be read: "list" is for JSON, and the file is .${name}. Leave it out.`,
    )
  const wrong = (sheets ? (['encoding', 'separator', 'quote'] as const) : (['sheet', 'range'] as const)).find(
    (key) => dialect[key] !== undefined,
  )
  if (wrong !== undefined)
    throw new SourceError(
      `${JSON.stringify(file)} cannot be read: "${wrong}" is for ${sheets ? 'tables in text' : 'workbooks'}, and the file is .${name}. Leave it out.`,
    )
}

/** Returns the number of rows that were left out, and what identifies their lines. */
async function badRows(engine: Engine, rejects: string): Promise<{ n: number; lines: string }> {
  const lines = `select distinct scan_id, file_id, line from ${identifier(rejects)}`
  const sql = `select count(*), concat_ws(' ', count(*), sum(line), bit_xor(hash(line))) from (${lines})`
  const [n, told] = (await readTable(engine, sql, {}, 1)).rows[0]!
  return { n: Number(n), lines: told as string }
}

async function dropRejects(engine: Engine, rejects: string): Promise<void> {
  for (const table of [rejects, `${rejects}_scans`])
    await execute(engine, `drop table if exists ${identifier(table)}`)
}

function vetTypes(types: Record<string, string>): void {
  for (const [column, type] of Object.entries(types)) {
    if (!TYPE.test(type)) {
      throw new SourceError(
        `The type ${JSON.stringify(type)} of column ${JSON.stringify(column)} is not known: write it as DuckDB does, e.g. varchar or decimal(10,2).`,
      )
    }
  }
}

/**
 * Counts the rows. It is called for loaded files and Parquet only, because counting scanned text would read it twice.
 */
async function countRows(
  engine: Engine,
  name: string,
  cheaper = `select count(*) from ${name}`,
): Promise<number> {
  const { rows } = await readTable(engine, cheaper, {}, 1)
  return Number(rows[0]?.[0])
}

type FileLineage = SourceLineage['files'][number] & { zero_at?: number }

/** Throws SourceError for a zero byte below the beginning of a text. The text's reader has looked at the beginning. */
function refuseZeros(files: readonly FileLineage[], encoding: string): void {
  const file = files.find(({ path, zero_at }) => zero_at !== undefined && packingOf(path) === null)
  if (file && !encoding.startsWith('utf-16'))
    throw new SourceError(
      `${JSON.stringify(file.path)} cannot be read: it holds a zero byte, which no text has, at byte ${file.zero_at! + 1}: the file is damaged. Write it again.`,
    )
}

async function fingerprinted(files: SourceFile[], format: Format): Promise<FileLineage[]> {
  const all: FileLineage[] = []
  for (const file of files) {
    const { path, bytes, modified_at, etag, sha256, fingerprint: given } = file
    let zero_at: number | undefined
    const onZero = format.table && !format.sheets ? (at: number) => (zero_at = at) : undefined
    const fingerprint =
      given ??
      (sha256 === undefined
        ? await (format.text ? fingerprintText(file, onZero) : fingerprintParquet(file))
        : `sha256:${sha256}`)
    const known = { path, bytes, fingerprint, modified_at, ...(etag === undefined ? {} : { etag }) }
    all.push(zero_at === undefined ? known : { ...known, zero_at })
  }
  return all
}

async function unread(files: SourceFile[]): Promise<FileLineage[]> {
  return files.map(({ path, bytes, modified_at }) => ({ path, bytes, fingerprint: '', modified_at }))
}

async function verifyUnchanged(files: SourceFile[]): Promise<void> {
  for (const file of files) {
    if (file.modified_ns === null) continue
    const now = await stat(file.real, { bigint: true }).catch(() => null)
    if (!now || Number(now.size) !== file.bytes || now.mtimeNs !== file.modified_ns) {
      throw new SourceError(
        `The file ${JSON.stringify(file.path)} changed while it was read: run the job again.`,
      )
    }
  }
}

/** Returns DuckDB's reason, with real paths replaced by those of the template. */
function unreadable(reason: string, attachment: FileSource, files: SourceFile[]): string {
  const shown = files.reduce((text, file) => text.replaceAll(file.real, file.path), reason)
  return `${JSON.stringify(attachment.file)} cannot be read: ${shown}`
}
