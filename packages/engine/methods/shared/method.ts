/** What a method is: an analysis block's `method`. One file a method, listed in catalog.ts. */

import type { Cell, Column, Doubt, Outcome } from '@assay/model/insight'
import type { MetricInfo } from '@assay/model/metric'
import type { TSchema } from 'typebox'
import type { Asked } from '../../sufficient/ask.ts'
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
  /** The rows are in a database, for a method that says it asks there: `relation` is then empty. */
  there?: Asked
  /** The rows have no order of their own, since `query` asks a database. */
  unordered?: boolean
}

/** Quotes a column's name for SQL. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A fault of the template that shows when it runs, e.g. a column that is no number. The job fails with this sentence. */
export class MethodError extends Error {}

export type Either = readonly (readonly string[])[]

export interface Method {
  name: string
  /** JSON Schema of the options, closed (`additionalProperties: false`); checked before `run`, defaults filled in. */
  options: TSchema
  /** Groups of options of which exactly one is given: `[['value'], ['numerator', 'denominator']]`. */
  either?: readonly Either[]
  /**
   * The columns that these options name: each must exist, and be a number where `numeric`. An option `time` takes a date, a
   * timestamp or a number, an option `success` a boolean or a number.
   */
  columns(options: Record<string, unknown>): { option: string; column: string; numeric: boolean }[]
  /** What the outcome holds beside summary, n, method and notes. */
  fields: Fields
  /** What counts as a finding, for `new` in a template. */
  news?: News
  /** The method tells the failed tests of metrics itself, one by one; else they stand against its whole outcome. */
  judges_metrics?: boolean
  /** Whether it asks a database for what these options need, so that no row has to come here. */
  asks?(options: Record<string, unknown>): boolean
  /**
   * Whether its own SQL may be asked of a database, printed in the SQL of that (dialects/print-tree.ts). What an engine cannot run
   * brings the rows here.
   */
  prints?(options: Record<string, unknown>): boolean
  run(table: Relation, options: Record<string, unknown>, context: MethodContext): Promise<Outcome>
  /** What the method does where `by` is a list: one outcome over the segments of all these columns. */
  scan?: Scan
}

export interface Scan {
  /** What such an outcome holds beside summary, n, method and notes. */
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
  /** The metrics behind the relation, each with the tests that failed. */
  metrics: readonly { info: MetricInfo; doubts: readonly Doubt[] }[]
  /** Another source or block by its name, as far as it has run. */
  relation(name: string): Relation | null
  /** The days between which the data behind the relation lie. */
  extent(): Promise<Extent>
}

/** Where data may have been cut off, in days since 1970-01-01. */
export interface Extent {
  /** The template's periods: the first day, and the day after the last. */
  periods: { start: number; end: number }[]
  /**
   * The date and timestamp columns of the sources and blocks behind the relation that the SQL between names: first and last day, and how
   * many days after the last one the next row is due at the latest, by the gaps between the days with rows. `hours`: of times of the day, the
   * minute after midnight at which the data begin on the first day and end on the last; null where that day is whole. `lastStep`: the
   * last of the day's steps of so many minutes.
   */
  columns: {
    first: number
    last: number
    due: number
    hours?: { from: number | null; until: number | null }
    lastStep?(minutes: number): Promise<LastStep | null>
  }[]
}

/** Where the data end within an hour or another step of less than a day. */
export interface LastStep {
  /** On the clock of the template's zone, in milliseconds since 1970. */
  start: number
  /** The time of the last row, as "14:20"; null where the step is whole. */
  until: string | null
}
