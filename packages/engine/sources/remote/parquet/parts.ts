/**
 * Chooses which parts of Parquet files are fetched, by the columns in the names of folders, and by the statistics of
 * the row groups. The end of a file is fetched first. Parts that cannot hold rows that count are never requested.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { DownloadError, downloadRange, type FetchedRange } from '@assay/net/download'
import type { Guard } from '@assay/net/guard'
import { describeQuery, type Engine, literal, readTable } from '../../../duckdb/duckdb.ts'
import { partitionNames, partitionTypes } from '../../files/partition-names.ts'
import type { Ends, RowCondition } from '../../files/row-condition.ts'
import type { SourceFile } from '../../files/source-file.ts'
import type { RemoteFile } from '../remote-file.ts'
import { BadFooter, keepRowGroups } from './footer.ts'

/** The bytes of the end of a file that are requested at once. Most footers are smaller. */
const END_BYTES = 65_536
const TRAILER_BYTES = 8
const MARK = 'PAR1'
/** The most bytes of a footer that is read by itself, and of a file. Beyond them the whole file is fetched, within its limit. */
const FOOTER_MOST = 100_000_000
const TOTAL_MOST = 2 ** 40
/** The most bytes that are fetched at once, because they are in memory until they are written. */
const PIECE_BYTES = 64_000_000
/** The largest distance in bytes of two parts that are fetched as one. */
const GAP_BYTES = 65_536
/** Types whose statistics bound all values. Those of doubles leave out NaN. */
const BOUNDED = /^(U?(TINY|SMALL|BIG)INT|U?INTEGER|DECIMAL\(.*|DATE|TIME|TIMESTAMP.*|VARCHAR)$/

/** What was not fetched. */
export interface LeftOut {
  files: number
  row_groups: number
  bytes: number
}

interface Part {
  from: number
  until: number
}

interface Fetching {
  guard: Guard
  signal: AbortSignal
}

/** A file whose end has been fetched. */
interface Ending {
  footer: Buffer
  total: number
  etag: string | null
  modified_at: string
  /** The bytes that have come. */
  came: number
}

export class ParquetParts {
  readonly #engine: Engine
  readonly #condition: RowCondition
  /** True if only the columns are learned. */
  readonly #peek: boolean
  /** The columns with a declared type. Their values are compared in that type, which the statistics do not bound. */
  readonly #declared: ReadonlySet<string>
  readonly left: LeftOut = { files: 0, row_groups: 0, bytes: 0 }
  #types: Readonly<Record<string, string>> | null = null

  constructor(
    engine: Engine,
    { condition, peek, declared }: { condition: RowCondition; peek: boolean; declared: readonly string[] },
  ) {
    this.#engine = engine
    this.#condition = condition
    this.#peek = peek
    this.#declared = new Set(declared.map((name) => name.toLowerCase()))
  }

  /** Returns the types of the columns that stand in the names of all files; null if there are none. */
  get types(): Readonly<Record<string, string>> | null {
    return this.#types
  }

  /** Returns the files whose names do not exclude them. At least one stays, because it gives the columns. */
  async among<File extends { shown: string; bytes?: number }>(all: readonly File[]): Promise<File[]> {
    const names = all.map(({ shown }) => partitionNames(shown))
    this.#types = partitionTypes(names)
    if (this.#peek) return all.slice(0, 1)
    if (this.#types === null) return [...all]
    const lists = names.map((one, index) => {
      const values = Object.keys(this.#types!).map((column) => textOf(one[column] ?? null))
      return `(${[index, ...values].join(', ')})`
    })
    const columns = Object.keys(this.#types)
    const endsOf = (column: string): Ends | null => {
      const own = this.#partition(column)
      if (own === null) return null
      const value = `try_cast(p${columns.indexOf(own)} as ${this.#types![own]!})`
      return { low: value, high: value }
    }
    const heads = ['i', ...columns.map((_, index) => `p${index}`)].join(', ')
    const sql = `select i from (values ${lists.join(', ')}) r(${heads}) where ${this.#condition.mayHold(endsOf)} order by i`
    const { rows } = await readTable(this.#engine, sql, {}, all.length)
    const kept = rows.length > 0 ? rows.map(([index]) => all[Number(index)]!) : all.slice(0, 1)
    this.left.files += all.length - kept.length
    for (const { bytes = 0 } of all.filter((one) => !kept.includes(one))) this.left.bytes += bytes
    return kept
  }

  #partition(column: string): string | null {
    if (this.#declared.has(column.toLowerCase())) return null
    const names = Object.keys(this.#types ?? {})
    return names.find((name) => name.toLowerCase() === column.toLowerCase()) ?? null
  }

  /**
   * Fetches the parts that may hold rows that count, to the free path `into`. Resolves to null if the whole file must
   * be fetched. Throws DownloadError.
   */
  async fetch(
    file: RemoteFile,
    into: string,
    fetching: Fetching,
  ): Promise<(SourceFile & { came: number }) | null> {
    const ending = await this.#ending(file, fetching)
    if (ending === null) return null
    const { footer, total, etag, modified_at } = ending
    const handle = await open(into, 'wx', 0o600)
    try {
      await handle.truncate(total)
      await writeEnd(handle, footer, total)
      const groups = await this.#groups(into, file.shown)
      const kept = groups.filter(({ may }) => may)
      const shorter = keepRowGroups(footer, new Set(kept.map(({ group }) => group)))
      let { came } = ending
      for (const part of inPieces(joined(kept.flatMap(({ parts }) => parts)))) {
        if (came + part.until - part.from > file.most)
          throw new DownloadError(`is larger than ${file.most} bytes`)
        const fetched = await downloadRange(file, part, { ...fetching, etag })
        if (fetched === null) return null
        await handle.write(fetched.bytes, 0, fetched.bytes.length, part.from)
        came += fetched.bytes.length
      }
      const end = total - TRAILER_BYTES - footer.length
      await handle.truncate(end)
      await writeEnd(handle, shorter, end + shorter.length + TRAILER_BYTES)
      this.left.row_groups += groups.length - kept.length
      this.left.bytes += total - came
      return {
        path: file.shown,
        real: into,
        bytes: total,
        modified_at,
        modified_ns: null,
        fingerprint: `footer-sha256:${createHash('sha256').update(footer).digest('hex')}`,
        format: 'parquet',
        ...(etag === null ? {} : { etag }),
        came,
      }
    } catch (error) {
      // The whole file is fetched if it has no footer, or one that only the engine can read.
      if (error instanceof BadFooter) return null
      throw error
    } finally {
      await handle.close()
    }
  }

  async #ending(file: RemoteFile, fetching: Fetching): Promise<Ending | null> {
    // Not every server knows the last bytes of a file by their number.
    const { bytes } = file
    const end =
      bytes === undefined ? { last: END_BYTES } : { from: Math.max(0, bytes - END_BYTES), until: bytes }
    const last = await downloadRange(file, end, { ...fetching, etag: null })
    if (last === null || last.bytes.length < TRAILER_BYTES + MARK.length) return null
    const { total, modified_at } = last
    // A weak ETag cannot be used for a further request.
    const etag = last.etag?.startsWith('W/') ? null : last.etag
    if (last.bytes.toString('latin1', last.bytes.length - MARK.length) !== MARK) return null
    const length = last.bytes.readUInt32LE(last.bytes.length - TRAILER_BYTES)
    const from = total - TRAILER_BYTES - length
    if (from < MARK.length || length > Math.min(file.most, FOOTER_MOST) || total > TOTAL_MOST) return null
    const known = { total, etag, modified_at }
    if (from >= last.from) {
      const footer = last.bytes.subarray(from - last.from, from - last.from + length)
      return { ...known, footer, came: last.bytes.length }
    }
    const before = await downloadRange(file, { from, until: last.from }, { ...fetching, etag })
    return before && { ...known, ...together(before, last, length) }
  }

  /** Resolves to the row groups, whether each may hold rows that count, and the bytes of each. */
  async #groups(file: string, shown: string): Promise<{ group: number; may: boolean; parts: Part[] }[]> {
    const types = new Map(
      (
        await describeQuery(
          this.#engine,
          `select * from read_parquet(${literal(file)}, hive_partitioning = false)`,
        )
      ).map(({ name, database_type }) => [name.toLowerCase(), { name, type: database_type }]),
    )
    const partition = partitionNames(shown)
    const ends: string[] = []
    const endsOf = (column: string): Ends | null => {
      const own = this.#partition(column)
      if (own !== null) {
        const value = `try_cast(${textOf(partition[own] ?? null)} as ${this.#types![own]!})`
        return { low: value, high: value }
      }
      const found = types.get(column.toLowerCase())
      if (!found || !BOUNDED.test(found.type) || this.#declared.has(column.toLowerCase())) return null
      const at = ends.length / 2
      for (const [end, how] of [
        ['min', 'min'],
        ['max', 'max'],
      ] as const)
        ends.push(
          `${how}(stats_${end}_value) filter (path_in_schema = ${literal(found.name)}) as ${end}_${at}`,
        )
      // Bytes that are no text are written with a backslash.
      const cast = (end: string): string =>
        `case when not contains(${end}_${at}, '\\') then try_cast(${end}_${at} as ${found.type}) end`
      return { low: cast('min'), high: cast('max') }
    }
    const may = this.#peek ? 'false' : this.#condition.mayHold(endsOf)
    const sql = `select g, ${may} as may, parts from (
        select row_group_id as g, list([start, start + total_compressed_size]) ||
          coalesce(list([bloom_filter_offset, bloom_filter_offset + bloom_filter_length]) filter (bloom_filter_offset is not null), []) as parts${ends.map((one) => `, ${one}`).join('')}
        from (select *, least(data_page_offset, coalesce(nullif(dictionary_page_offset, 0), data_page_offset)) as start
          from parquet_metadata(${literal(file)})) group by row_group_id) order by g`
    const { rows } = await readTable(this.#engine, sql, {}, Number.POSITIVE_INFINITY, { floats: 'raw' })
    return rows.map(([group, holds, parts]) => ({
      group: Number(group),
      may: holds === true,
      parts: ((parts ?? []) as unknown[][]).map(partOf),
    }))
  }
}

/** Returns the part. Throws BadFooter if the footer does not give its length. */
function partOf([from, until]: readonly unknown[]): Part {
  if (from === null || until === null) throw new BadFooter('The footer does not tell where a part ends.')
  return { from: Number(from), until: Number(until) }
}

const textOf = (value: string | null): string => (value === null ? 'null' : literal(value))

function together(
  before: FetchedRange,
  last: FetchedRange,
  length: number,
): { footer: Buffer; came: number } {
  const whole = Buffer.concat([before.bytes, last.bytes])
  return { footer: whole.subarray(0, length), came: whole.length }
}

async function writeEnd(handle: FileHandle, footer: Buffer, total: number): Promise<void> {
  const trailer = Buffer.alloc(TRAILER_BYTES)
  trailer.writeUInt32LE(footer.length)
  trailer.write(MARK, 4, 'latin1')
  await handle.write(Buffer.from(MARK, 'latin1'), 0, MARK.length, 0)
  await handle.write(footer, 0, footer.length, total - TRAILER_BYTES - footer.length)
  await handle.write(trailer, 0, TRAILER_BYTES, total - TRAILER_BYTES)
}

/** Gives the parts piece by piece. A footer may claim any length, so a list of all pieces could be endless. */
function* inPieces(parts: readonly Part[]): Generator<Part> {
  for (const { from, until } of parts)
    for (let at = from; at < until; at += PIECE_BYTES)
      yield { from: at, until: Math.min(until, at + PIECE_BYTES) }
}

function joined(parts: readonly Part[]): Part[] {
  const found: Part[] = []
  for (const { from, until } of parts.toSorted((a, b) => a.from - b.from)) {
    const before = found.at(-1)
    if (before && from <= before.until + GAP_BYTES) before.until = Math.max(before.until, until)
    else found.push({ from, until })
  }
  return found
}
