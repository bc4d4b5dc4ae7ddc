/**
 * The answers of a database. They are small tables, read into the engine with the types that a source has, and taken
 * out of it again. All answers together stay within the bytes that the connection allows.
 */
import { randomUUID } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import path from 'node:path'
import type { OpenConnection } from '@assay/model/connection'
import { describeQuery, type Engine, execute, identifier, readRows } from '../duckdb/duckdb.ts'
import type { Answer } from '../sufficient/ask.ts'
import {
  type BatchReader,
  type FileReader,
  Misjudged,
  type OpenOptions,
  type Reader,
  type RemoteColumn,
} from './kind.ts'
import { createTable } from './rows/create-table.ts'
import type { TableRoom } from './rows/large-tables.ts'
import { viewRows } from './rows/rows-file.ts'
import { RowsTable } from './rows/rows-table.ts'
import { SourceError } from './source.ts'

/** A table of the engine, or a view of a file. */
interface Kept {
  name: string
  drop(): Promise<void>
}

type Answering = Pick<OpenOptions, 'signal' | 'connection'>

export class Answers {
  readonly #engine: Engine
  readonly #name: string
  readonly #room: TableRoom
  /** The path of the answer, if the database gives it as a file. */
  readonly #file: string
  #count = 0
  #rows = 0
  #bytes = 0

  /** Makes the store of answers. `name`: the source whose database answers. */
  constructor(engine: Engine, { name, room }: { name: string; room: TableRoom }) {
    this.#engine = engine
    this.#name = name
    this.#room = room
    this.#file = path.join(room.temp_folder, `${randomUUID()}.answer`)
  }

  /** Returns the paths that stay readable once the engine is sealed. */
  get paths(): string[] {
    return [this.#file]
  }

  /** Returns the rows and bytes that came since the last call. */
  takeCounts(): { rows: number; bytes: number } {
    const taken = { rows: this.#rows, bytes: this.#bytes }
    this.#rows = 0
    this.#bytes = 0
    return taken
  }

  /** Returns the rows of the query that the reader runs. */
  async of(reader: Reader, open: Answering): Promise<Answer[]> {
    const direct =
      'answer' in reader
        ? await reader.answer?.(open.signal, (bytes) => this.#vet(bytes, open.connection))
        : null
    if (direct) {
      this.#rows += direct.rows.length
      this.#bytes += direct.bytes
      return direct.rows
    }
    const { name, drop } = await this.kept(reader, open)
    try {
      return await this.#rowsOf(name)
    } finally {
      await drop()
    }
  }

  /** Returns the answer as a table of the engine. */
  async kept(reader: Reader, open: Answering): Promise<Kept> {
    const columns = await reader.schema()
    return 'fetch' in reader
      ? this.#keptFile(reader, columns, open)
      : this.#keptBatches(reader, columns, open)
  }

  #answerName(): string {
    this.#count += 1
    return `answer ${this.#count} of ${this.#name}`
  }

  /** Returns the answer as a file, at a path where the engine may read it once it is sealed. */
  async #keptFile(reader: FileReader, columns: readonly RemoteColumn[], open: Answering): Promise<Kept> {
    const fetched = await reader.fetch(open.signal, (bytes) => this.#vet(bytes, open.connection))
    this.#bytes += fetched.bytes
    const name = this.#answerName()
    await rename(fetched.file, this.#file)
    const away = (): Promise<void> => rm(this.#file, { force: true })
    try {
      await viewRows(this.#engine, name, columns, { ...fetched, file: this.#file })
    } catch (error) {
      await away()
      throw error
    }
    return {
      name,
      drop: async () => {
        await execute(this.#engine, `drop view ${identifier(name)}`)
        await away()
      },
    }
  }

  async #keptBatches(reader: BatchReader, columns: readonly RemoteColumn[], open: Answering): Promise<Kept> {
    const name = this.#answerName()
    await createTable(this.#engine, name, columns)
    const table = await RowsTable.open(this.#engine, name, columns, this.#room)
    let bytes = 0
    try {
      for await (const batch of reader.read(open.signal)) {
        bytes += batch.bytes
        this.#vet(bytes, open.connection)
        await table.write(batch)
      }
    } catch (error) {
      await table.drop()
      // The types are known now, and the query is run again.
      if (error instanceof Misjudged) return this.#keptBatches(reader, await reader.schema(), open)
      throw error
    }
    await table.finish()
    this.#bytes += bytes
    return { name, drop: () => execute(this.#engine, `drop table ${identifier(name)}`) }
  }

  #vet(bytes: number, { name, limits }: OpenConnection): void {
    if (bytes <= limits.bytes) return
    throw new SourceError(
      `What is asked over the connection "${name}" gives more than ${limits.bytes} bytes (its limits.bytes): group by something with fewer values, or raise the limit.`,
    )
  }

  async #rowsOf(name: string): Promise<Answer[]> {
    const described = await describeQuery(this.#engine, `select * from ${identifier(name)}`)
    // MySQL compares a text by its bytes if its type is bytes.
    const list = described.map(({ name: column, database_type }) =>
      database_type === 'BLOB'
        ? `decode(${identifier(column)}) as ${identifier(column)}`
        : identifier(column),
    )
    const sql = `select ${list.join(', ')} from ${identifier(name)}`
    const rows = await readRows(this.#engine, sql)
    this.#rows += rows.length
    return rows
  }
}
