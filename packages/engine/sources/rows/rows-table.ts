/**
 * Writes the rows of a query into a table of the engine. A table that turns out to be large continues on disk
 * (large-tables.ts), and its name becomes a view, so that memory stays bounded.
 */
import { type DuckDBAppender, DuckDBDataChunk } from '@duckdb/node-api'
import { type Engine, execute, identifier } from '../../duckdb/duckdb.ts'
import type { ColumnBatch, RemoteColumn } from '../kind.ts'
import { appendRows } from './columns.ts'
import { LARGE, largeTable, openLarge, type TableRoom, trimLarge } from './large-tables.ts'

/** The received bytes from which on a table is large. */
const LARGE_BYTES = 16_000_000
/** The received bytes between two checks of the room on disk. */
const LOOK_BYTES = 64_000_000
export class RowsTable {
  readonly #engine: Engine
  readonly #name: string
  readonly #columns: readonly RemoteColumn[]
  readonly #room: TableRoom
  readonly #chunk: DuckDBDataChunk
  #appender: DuckDBAppender
  #large = false
  #bytes = 0
  #looked = 0

  private constructor(
    engine: Engine,
    name: string,
    columns: readonly RemoteColumn[],
    room: TableRoom,
    appender: DuckDBAppender,
  ) {
    this.#engine = engine
    this.#name = name
    this.#columns = columns
    this.#room = room
    this.#chunk = DuckDBDataChunk.create(columns.map(({ type }) => type))
    this.#appender = appender
  }

  /** Opens the writer. `name`: that of an existing, empty table. */
  static async open(engine: Engine, name: string, columns: readonly RemoteColumn[], room: TableRoom) {
    return new RowsTable(engine, name, columns, room, await engine.connection.createAppender(name))
  }

  /** Writes a batch. Rejects with NoRoom if the disk of the job is full. */
  async write({ rows, bytes, columns }: ColumnBatch): Promise<void> {
    this.#bytes += bytes
    if (!this.#large && this.#bytes > LARGE_BYTES) await this.#enlarge()
    if (this.#bytes - this.#looked > LOOK_BYTES) await this.#look()
    appendRows(this.#appender, this.#chunk, rows, columns)
  }

  get #table(): string {
    return this.#large ? largeTable(this.#name) : identifier(this.#name)
  }

  async #enlarge(): Promise<void> {
    const { connection } = this.#engine
    this.#appender.closeSync()
    const small = this.#table
    await openLarge(this.#engine, this.#room)
    this.#large = true
    await execute(this.#engine, `create table ${this.#table} as from ${small}`)
    await execute(this.#engine, `drop table ${small}`)
    this.#appender = await connection.createAppender(this.#name, 'main', LARGE)
  }

  async #look(): Promise<void> {
    this.#looked = this.#bytes
    if (this.#large) await trimLarge(this.#engine, this.#room)
  }

  /** Gives each column the type that its values turned out to have, and the table its name. */
  async finish(): Promise<void> {
    this.#appender.closeSync()
    const settled = this.#columns.map(({ name, type, declared, settle }) => ({
      name: identifier(name),
      type: settle?.().toString() ?? declared ?? type.toString(),
      loose: settle !== undefined,
    }))
    if (this.#large) {
      // Changing the type of a column in place would load it into memory as a whole.
      const list = settled.map(({ name, type, loose }) =>
        loose ? `cast(${name} as ${type}) as ${name}` : name,
      )
      await execute(this.#engine, `checkpoint ${identifier(LARGE)}`)
      await execute(
        this.#engine,
        `create view ${identifier(this.#name)} as select ${list.join(', ')} from ${this.#table}`,
      )
      await this.#look()
      return
    }
    for (const { name, type, loose } of settled)
      if (loose) await execute(this.#engine, `alter table ${this.#table} alter column ${name} type ${type}`)
  }

  async drop(): Promise<void> {
    this.#appender.closeSync()
    await execute(this.#engine, `drop table ${this.#table}`)
  }
}
