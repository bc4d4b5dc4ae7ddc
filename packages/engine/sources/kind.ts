/**
 * What a kind of connection is: one file each, listed in kinds.ts. A kind reads while the engine is still open to the
 * world and before any SQL of a template is run; load.ts puts what it reads into the engine and holds it to its limits.
 * Errors that a reader may cause or mend are SourceErrors, in a sentence without secrets.
 */

import type { OpenConnection } from '@assay/model/connection'
import type { DuckDBType } from '@duckdb/node-api'
import type { BoundQuery, QueryDialect } from '../language/remote-query.ts'
import type { Roots } from './roots.ts'
import type { BatchColumn } from './rows/columns.ts'

export interface RemoteColumn {
  name: string
  /** As which it is written into the engine. */
  type: DuckDBType
  /** The type of the table's column, where it is another that takes it as it is: json for text. */
  declared?: string
  /** What its values turned out to be: asked after the last batch where the database itself does not know before. */
  settle?: () => DuckDBType
}

/**
 * Some rows, column by column. A value is what the vector of the column's type takes; null is null. It is the reader's again
 * when the next is asked for.
 */
export interface Batch {
  rows: number
  /** Of the values as they came. */
  bytes: number
  columns: readonly BatchColumn[]
}

/** A column is not what its first values were: all is read again, from schema() on, which now knows. */
export class Misjudged extends Error {}

/** One query under way. */
export interface Reader {
  schema(): Promise<RemoteColumn[]>
  /**
   * The rows, in order. The next batch is fetched when it is asked for, so that what is slow to write is not piled up.
   * Where `signal` is aborted it rejects, and the database is told to stop. Rejects with Misjudged at most once.
   */
  read(signal: AbortSignal): AsyncIterable<Batch>
  /** Ends what is still under way there, and the connection. Never rejects. */
  close(): Promise<void>
}

export interface OpenOptions {
  connection: OpenConnection
  query: BoundQuery
  /** Of the template: in it the database reads times without a zone. */
  time_zone: string
  roots: Roots
  /** Milliseconds until the query must have ended. */
  timeout_ms: number
  signal: AbortSignal
  /** Only the columns are asked for: the query must not be run. */
  peek: boolean
}

export type SessionOptions = Omit<OpenOptions, 'query' | 'peek'>

export interface Kind {
  dialect: QueryDialect
  open(options: OpenOptions): Promise<Reader>
  /** Connects, asks for the version, and goes. Says what holds the session back from writing. */
  probe(options: SessionOptions): Promise<Probe>
}

export interface Probe {
  /** "PostgreSQL 16.2" */
  server: string
  /** In a sentence: what keeps queries from writing here. */
  read_only: string
}
