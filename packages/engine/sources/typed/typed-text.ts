/**
 * Reads files whose columns have types of their own, but which the engine does not read (Avro, Arrow IPC). The rows
 * are written as JSON, one on each line, into the folder of the job, and read from there with exactly these types.
 * Nothing is inferred.
 */
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { identifier, literal } from '../../duckdb/duckdb.ts'
import type { SourceFile } from '../files/source-file.ts'
import { NoRoom, roomLeft } from '../room.ts'
import { SourceError, sameName } from '../source.ts'

/** One column, or one part of a value. */
export interface Typed {
  /** The type as the engine writes it. */
  type: string
  /** Returns the JSON of a value. Exact numbers of more than 53 bits become text. */
  json(value: unknown): unknown
}

export interface TypedTable {
  columns: readonly { name: string; type: string }[]
  /** Gives the rows by column, as JSON holds them. */
  rows(): AsyncIterable<unknown[][]>
  close(): Promise<void>
}

export type OpenTyped = (file: SourceFile) => Promise<TypedTable>

export interface TypedOptions {
  /** A folder for this job alone; not created yet. */
  temp_folder: string
  /** The most bytes that may be written there. */
  spill_bytes: number
  /** True to read the columns only. */
  peek: boolean
}

/** Returns the error. `reason`: the text after "FILE cannot be read: ". */
export function unreadableFile(file: SourceFile, reason: string): SourceError {
  return new SourceError(`${JSON.stringify(file.path)} cannot be read: ${reason}`)
}

/** Resolves to the query whose rows are those of the files, and the files that it reads. Throws SourceError. */
export async function typedQuery(
  files: readonly SourceFile[],
  open: OpenTyped,
  options: TypedOptions,
): Promise<{ sql: string; files: SourceFile[] }> {
  const parts: { sql: string; file: SourceFile }[] = []
  for (const file of files) {
    const table = await open(file)
    try {
      vetNames(file, table.columns)
      parts.push(options.peek ? { sql: emptySql(table), file } : await written(file, table, options))
    } finally {
      await table.close()
    }
  }
  return {
    sql: parts.map(({ sql }) => sql).join(' union all by name '),
    files: parts.map(({ file }) => file),
  }
}

function vetNames(file: SourceFile, columns: TypedTable['columns']): void {
  if (columns.length === 0) throw unreadableFile(file, 'it has no columns.')
  const taken = new Set<string>()
  for (const { name } of columns) {
    if (name === '') throw unreadableFile(file, 'one of its columns has no name.')
    if (taken.has(name.toLowerCase())) throw sameName(name)
    taken.add(name.toLowerCase())
  }
}

function emptySql({ columns }: TypedTable): string {
  return `select ${columns.map(({ name, type }) => `null::${type} as ${identifier(name)}`).join(', ')} where false`
}

const PIECE_CHARACTERS = 1 << 20
/** The default of `maximum_object_size`. */
const OBJECT_BYTES = 16_777_216

async function written(
  file: SourceFile,
  table: TypedTable,
  { temp_folder, spill_bytes }: TypedOptions,
): Promise<{ sql: string; file: SourceFile }> {
  await mkdir(temp_folder, { recursive: true, mode: 0o700 })
  const real = path.join(temp_folder, `${randomUUID()}.ndjson`)
  const lines = new Lines(await open(real, 'wx', 0o600), roomLeft(spill_bytes, temp_folder), file)
  const keys = table.columns.map(({ name }, index) => `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`)
  try {
    for await (const rows of table.rows())
      for (const row of rows) {
        let line = ''
        for (let column = 0; column < keys.length; column += 1)
          line += keys[column]! + JSON.stringify(row[column] ?? null)
        await lines.add(`${line}}\n`)
      }
  } finally {
    await lines.end()
  }
  const types = table.columns.map(({ name, type }) => `${literal(name)}: ${literal(asText(type))}`)
  const most = Math.max(OBJECT_BYTES, 4 * lines.longest)
  const list = table.columns.map(({ name, type }) =>
    asText(type) === type ? identifier(name) : `cast(${identifier(name)} as ${type}) as ${identifier(name)}`,
  )
  return {
    sql: `select ${list.join(', ')} from read_json(${literal(real)}, format = 'newline_delimited', records = true, maximum_object_size = ${most}, columns = {${types.join(', ')}})`,
    file: { ...file, real, modified_ns: null },
  }
}

/** Returns the type with bytes as texts. JSON holds no bytes, and the engine reads them from texts by a cast alone. */
function asText(type: string): string {
  return type.replace(/"(?:[^"]|"")*"|\bBLOB\b/g, (part) => (part === 'BLOB' ? 'VARCHAR' : part))
}

class Lines {
  readonly #handle: FileHandle
  readonly #most: number
  readonly #file: SourceFile
  #text = ''
  #bytes = 0
  /** The length of the longest line, in characters. */
  longest = 0

  constructor(handle: FileHandle, most: number, file: SourceFile) {
    this.#handle = handle
    this.#most = most
    this.#file = file
  }

  async add(line: string): Promise<void> {
    this.longest = Math.max(this.longest, line.length)
    this.#text += line
    if (this.#text.length > PIECE_CHARACTERS) await this.#flush()
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#text)
    this.#text = ''
    this.#bytes += bytes.length
    if (this.#bytes > this.#most)
      throw new NoRoom(
        `${JSON.stringify(this.#file.path)} cannot be read: its rows have more than ${this.#most} bytes as text, which is all that this run may still write to disk.`,
      )
    await this.#handle.write(bytes)
  }

  async end(): Promise<void> {
    try {
      await this.#flush()
    } finally {
      await this.#handle.close()
    }
  }
}

/** Returns bytes as the engine writes a BLOB. */
export function blobText(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += `\\x${byte.toString(16).toUpperCase().padStart(2, '0')}`
  return text
}

/** Writes NaN and infinities as text, because JSON cannot hold them. */
export function numberJson(value: number): number | string {
  return Number.isFinite(value) ? value : String(value)
}

/** Returns a whole number with a point before its last `scale` digits. */
export function decimalText(unscaled: bigint, scale: number): string {
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0')
  const at = digits.length - scale
  const text = scale === 0 ? digits : `${digits.slice(0, at)}.${digits.slice(at)}`
  return unscaled < 0n ? `-${text}` : text
}

const floorDivided = (value: bigint, by: bigint): bigint => (value - (((value % by) + by) % by)) / by

/** Returns a moment, counted from 1970 in steps of which a second has `per`, as the engine reads it. */
export function momentText(count: bigint, per: bigint): string {
  const seconds = floorDivided(count, per)
  const rest = count - seconds * per
  const digits = String(per).length - 1
  const fraction = digits === 0 ? '' : `.${rest.toString().padStart(digits, '0')}`
  const days = floorDivided(seconds, 86_400n)
  return `${dayText(days)} ${clockText(seconds - days * 86_400n)}${fraction}`
}

/** Returns a day, counted from 1970. Years before 1 are no years of ISO 8601; the engine writes them with "(BC)". */
export function dayText(days: bigint): string {
  const at = new Date(Number(days) * 86_400_000)
  const year = at.getUTCFullYear()
  const shown = String(year > 0 ? year : 1 - year).padStart(4, '0')
  const text = `${shown}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`
  return year > 0 ? text : `${text} (BC)`
}

/** Returns a time of day, counted from midnight. */
export function timeText(count: bigint, per: bigint): string {
  const seconds = count / per
  const digits = String(per).length - 1
  return `${clockText(seconds)}${digits === 0 ? '' : `.${(count - seconds * per).toString().padStart(digits, '0')}`}`
}

const two = (value: number | bigint): string => String(value).padStart(2, '0')

const clockText = (seconds: bigint): string =>
  `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}:${two(seconds % 60n)}`

/** Returns the type of a struct with these fields. */
export const fieldType = (fields: readonly { name: string; type: string }[]): string =>
  `STRUCT(${fields.map(({ name, type }) => `${identifier(name)} ${type}`).join(', ')})`
