/**
 * The contract of a kind of connection that reads queries. A kind is a folder with one implementation, listed in kinds.ts.
 * It reads while the engine is still open and before any SQL of a template runs; query.ts loads the rows and enforces the
 * limits. Errors that a reader of the template can cause or mend are SourceErrors, without secrets.
 */
import type { OpenConnection } from '@assay/model/connection'
import type { DuckDBType } from '@duckdb/node-api'
import type { BoundQuery, QueryDialect } from '../language/remote-query.ts'
import type { Answer } from '../sufficient/ask.ts'
import type { Roots } from './roots.ts'
import type { BatchColumn } from './rows/columns.ts'
import type { SourceError } from './source.ts'

export interface RemoteColumn {
  name: string
  /** The type of the values as they are written into the engine. */
  type: DuckDBType
  /** The type of the table's column if it differs: `json` for text. */
  declared?: string
  /** Returns the final type after the last batch, if the database does not know it before its values. */
  settle?: () => DuckDBType
  /** Numbers written as text that become the narrowest DECIMAL(38, s), else DOUBLE, after the last batch. */
  numeric?: boolean
}

/** Rows by column. The column objects are reused for the next batch. */
export interface ColumnBatch {
  rows: number
  /** The bytes of the values as received. */
  bytes: number
  columns: readonly BatchColumn[]
}

/** All rows of a query as a Parquet file, which the engine reads from its place on disk. */
export interface RowsFile {
  file: string
  bytes: number
  /** Returns the error for a file that the engine cannot read. `reason`: that of the engine. */
  explain(reason: string): SourceError
}

/**
 * Says that a value contradicts the type guessed from the first ones. schema() and read() start again, with that
 * knowledge.
 */
export class Misjudged extends Error {}

/** One running query. */
export type Reader = BatchReader | FileReader

interface AnyReader {
  schema(): Promise<RemoteColumn[]>
  /**
   * Resolves to the names of the columns of text that the database compares by their bytes and gives as they are, so
   * that it may group by the column itself. Called after schema().
   */
  plainTexts?(): Promise<string[]>
  /** Ends the query if it still runs, and the connection. Never rejects. */
  close(): Promise<void>
}

/** A reader for a database that writes Parquet itself. */
export interface FileReader extends AnyReader {
  /**
   * Resolves to the rows of a small answer and their bytes, without a file. Resolves to null if a value needs the file.
   * It takes the place of schema() and fetch().
   */
  answer?(
    signal: AbortSignal,
    vet: (bytes: number) => void,
  ): Promise<{ rows: Answer[]; bytes: number } | null>
  /**
   * Resolves to the rows, in order, in a file of the job's folder. `vet` is called as bytes arrive. If `signal` is
   * aborted it rejects, and the database is told to stop.
   */
  fetch(signal: AbortSignal, vet: (bytes: number) => void | Promise<void>): Promise<RowsFile>
}

export interface BatchReader extends AnyReader {
  /**
   * Gives the rows, in order. A batch is fetched when the caller asks for it, so that memory stays bounded. If
   * `signal` is aborted it rejects, and the database is told to stop. Rejects with Misjudged at most once.
   */
  read(signal: AbortSignal): AsyncIterable<ColumnBatch>
}

export interface ProbeOptions {
  connection: OpenConnection
  /** The time zone in which the database reads times without a zone. */
  time_zone: string
  roots: Roots
  /** The milliseconds until the query must end. */
  timeout_ms: number
  signal: AbortSignal
}

export interface OpenOptions extends ProbeOptions {
  query: BoundQuery
  /**
   * A query of the cut column, which shows its type, for a query that cuts moments into days of `time_zone`; else
   * null.
   */
  cut: string | null
  /** A folder for this job alone; not created yet. */
  temp_folder: string
  /** True if only the columns are needed. The query is not run. */
  peek: boolean
  /** What this kind learned about the connection for earlier statements of one source; absent for a single statement. */
  learned?: Map<string, unknown>
}

export interface Kind {
  dialect: QueryDialect
  open(options: OpenOptions): Promise<Reader>
  /** Connects, asks for the version and disconnects. */
  probe(options: ProbeOptions): Promise<Probe>
}

export interface Probe {
  /** The name and version of the server, such as "PostgreSQL 16.2". */
  server: string
  /** A sentence that says what keeps queries from writing. */
  read_only: string
}
