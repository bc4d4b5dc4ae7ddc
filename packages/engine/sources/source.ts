/** What the kinds of sources share: the result of attaching a source, its errors, and the use of a connection. */
import type { OpenConnection } from '@assay/model/connection'
import type { FoundColumn } from '@assay/model/dialect'
import type { Column, SourceLineage } from '@assay/model/insight'
import type { Values } from '../dialects/print-tree.ts'
import type { Answer, Asked, DayCount } from '../sufficient/ask.ts'

/** A source whose rows are in the engine, under its name, as a table or as a view over `paths`. */
export interface Attached {
  columns: Column[]
  lineage: SourceLineage
  /** The columns of a text that are not read as plain values, or whose reading is in doubt. */
  readings?: readonly FoundColumn[]
  /** The questions to the database, if the rows stay there; otherwise absent. */
  asked?: AskedThere
  /** A sentence about kept rows of the source that are in doubt. */
  doubt?: string
  /** The files that its view reads, which stay readable after the engine is sealed. */
  paths: string[]
  /** Rejects with SourceError if a file that the view reads has changed since it was attached. */
  verify(): Promise<void>
}

export interface AskedThere extends Asked {
  connection: string
  kind: string
  /** Returns the statements since the last call, and the rows and bytes that were fetched. */
  takeStatements(): Statements
  /**
   * Runs a SELECT that a method wrote over the relation, in the SQL of the database. Rejects with NotAsked if the
   * database cannot express it.
   */
  query(sql: string, values: Values, columns: readonly Column[]): Promise<Answer[]>
  /**
   * Fetches the rows into the table of the source, within the limits of the connection. `what` names the block that
   * reads them, in words.
   */
  bring(what: string): Promise<void>
  /** All days of columns of dates with their rows, as far as an analysis has asked for them. */
  days: Map<string, readonly DayCount[]>
}

export interface Statements {
  sql: string[]
  rows: number
  bytes: number
}

export interface AcquiredConnection {
  connection: OpenConnection
  release(): void
}

/** Gets the connection of this name. Rejects with SourceError if there is none, or if it is refused. */
export type Acquire = (name: string, signal: AbortSignal) => Promise<AcquiredConnection>

/**
 * Says that the source cannot be read. The job ends as `source_unavailable` with this message, which holds no absolute
 * path.
 */
export class SourceError extends Error {}

/**
 * Says that the database refused the query over a connection. `reason`: its words, and a hint. `timedOut`: whether the
 * query ran into its time limit.
 */
export class QueryRefused extends SourceError {
  readonly timedOut: boolean

  constructor({ name }: Pick<OpenConnection, 'name'>, reason: string, timedOut = false) {
    super(`The query over the connection "${name}" was refused: ${reason}`)
    this.timedOut = timedOut
  }
}

export function sameName(column: string): SourceError {
  return new SourceError(`The query gives two columns named ${JSON.stringify(column)}: name each with "as".`)
}

/**
 * Returns the error of a connection that broke off before the last row. `reason` is a sentence without its full stop.
 */
export function brokeOff({ name }: Pick<OpenConnection, 'name'>, reason: string): SourceError {
  return new SourceError(`The connection "${name}" broke off: ${reason}.`)
}

/** Says that the parent asked to stop. */
export class Stopped extends Error {}
