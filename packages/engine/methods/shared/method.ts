/**
 * The contract of a method, which an analysis block names as `method`. Each method is one file, listed in catalog.ts.
 */

import type { Cell, Column, Doubt, Outcome } from '@assay/model/insight'
import type { MetricInfo } from '@assay/model/metric'
import type { TSchema } from 'typebox'
import type { Asked, DayCount } from '../../sufficient/ask.ts'
import type { News } from '../../values/news.ts'
import type { Meanings } from '../../verdicts/measure.ts'
import type { Fields } from './fields.ts'

/**
 * The rows that a method works on: a relation in DuckDB. Heavy work is SQL over `relation`; a method brings to
 * JavaScript only what it needs, and says in its docstring how much that is.
 */
export interface Relation {
  /** A quoted identifier: use it after FROM. */
  relation: string
  columns: Column[]
  /**
   * Runs one SELECT written by the method (trusted; names quoted with `quote`). Values are bound by name: `$name`.
   * Rows are objects by column; integers within 2^53 and doubles are numbers (NaN and infinities as they are).
   */
  query(
    sql: string,
    values?: Record<string, string | number | boolean | null>,
  ): Promise<Record<string, Cell>[]>
  /** The rows in a database, for a method that computes there (`asks`). `relation` is then empty. */
  there?: Asked
  /** Whether the rows have no order of their own, because `query` runs in a database. */
  unordered?: boolean
  /** Whether that database holds only values of its type in a column (Dialect.strict). */
  strict?: boolean
  /** Notes all days of a column of dates in that database, and their rows, so that they need not be asked for again. */
  noteDays?(column: string, days: readonly DayCount[]): void
}

/** Quotes a column's name for SQL. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/**
 * A fault of the template that appears only when it runs, for example a column that is no number. The job fails with
 * this sentence.
 */
export class MethodError extends Error {}

export type Either = readonly (readonly string[])[]

export interface Method {
  name: string
  /** JSON Schema of the options, closed (`additionalProperties: false`); checked before `run`, defaults filled in. */
  options: TSchema
  /** Groups of options of which exactly one is given: `[['value'], ['numerator', 'denominator']]`. */
  either?: readonly Either[]
  /**
   * Returns the columns that these options name. Each must exist, and be a number if `numeric` is set. An option `time`
   * takes a date, a timestamp or a number, an option `success` a boolean or a number.
   */
  columns(options: Record<string, unknown>): { option: string; column: string; numeric: boolean }[]
  /** The fields of the outcome beside summary, n, method and notes. */
  fields: Fields
  /** What counts as new for `new` in a template. */
  news?: News
  /**
   * Whether the method reports the failed tests of each metric itself. Otherwise they count against its whole outcome.
   */
  judges_metrics?: boolean
  /** Tells whether a database computes what these options need, so that no row is fetched. */
  asks?(options: Record<string, unknown>): boolean
  /**
   * Tells whether its own SQL may run in a database, printed in that database's SQL (dialects/print-tree.ts). If the
   * database cannot run it, the rows are fetched.
   */
  prints?(options: Record<string, unknown>): boolean
  run(table: Relation, options: Record<string, unknown>, context: MethodContext): Promise<Outcome>
  /** The method for a list in `by`: it gives one outcome over the segments of all these columns. */
  scan?: Scan
}

export interface Scan {
  /** The fields of such an outcome beside summary, n, method and notes. */
  fields: Fields
  run(table: Relation, options: ScanOptions, context: MethodContext): Promise<Outcome>
}

/** The method's own options, and how many columns a segment may combine. */
export type ScanOptions = Record<string, unknown> & { by: string[]; depth: number }

export interface MethodContext {
  /** The job's start, RFC 3339. A method never asks another clock. */
  now: string
  time_zone: string
  /** The name of the block, for sentences. */
  block: string
  /** What the template says of its columns. */
  meanings: Meanings
  /** The metrics that the relation was computed from, each with the tests that failed. */
  metrics: readonly { info: MetricInfo; doubts: readonly Doubt[] }[]
  /** Returns another source or block by its name; null if it has not run. */
  relation(name: string): Relation | null
  /** Returns the first and last days of the data behind the relation. */
  extent(): Promise<Extent>
}

/** The ends of the data at which they may be cut off, in days since 1970-01-01. */
export interface Extent {
  /** The template's periods: the first day, and the day after the last. */
  periods: { start: number; end: number }[]
  /**
   * The date and timestamp columns behind the relation that the SQL in between names. Each has its first and last day,
   * and the number of days after the last one within which the next row is due, by the gaps between days with rows.
   * `hours` holds, for times of the day, the minute after midnight at which the data begin on the first day and end on
   * the last; null if that day is whole. `lastStep` is the last step of `minutes` minutes.
   */
  columns: {
    first: number
    last: number
    due: number
    hours?: { from: number | null; until: number | null }
    lastStep?(minutes: number): Promise<LastStep | null>
  }[]
}

/** The end of data that stop within an hour or another step shorter than a day. */
export interface LastStep {
  /** The start of the step on the clock of the template's zone, in milliseconds since 1970. */
  start: number
  /** The time of the last row, as "14:20"; null if the step is whole. */
  until: string | null
}
