/**
 * Defines where the statistics of days are kept: by the parent of an analysis process, for its workspace. Without a
 * keeper each run reads everything.
 */
import type { PartitionRules } from '@assay/model/metric'
import type { BoundQuery } from '../language/remote-query.ts'
import { timeInWords } from '../verdicts/times.ts'
import type { Shape } from './statistics.ts'

/** How a day is asked for again: the query, its time zone, and how its answer is read. */
export interface Recipe {
  source: string
  connection: string
  zone: string
  cut: string | null
  query: BoundQuery
  shape: Shape
  rules: PartitionRules
  /** Asks for the days with rows that were marked since a day; null if no rows are marked. */
  changed: BoundQuery | null
}

/**
 * What is kept of a series. Its key consists of the recipe, the rules and the place of the database, so another
 * definition is another series.
 */
export interface KeptSeries {
  /** The first of all days; null if nobody asked for it. */
  first: string | null
  /**
   * The time of the last look. Rows that were marked before it are also marked in what is kept. Null if nothing is
   * kept.
   */
  looked_at: string | null
  /** The finding of the audit, as a sentence. */
  doubt: string | null
  /** The rows of each day, as text. */
  days: Readonly<Record<string, string>>
  /**
   * The number of other series of the metric that have kept days, given if this one has none; null if days are never
   * kept here.
   */
  others?: number | null
}

export const NOTHING_KEPT: KeptSeries = { first: null, looked_at: null, doubt: null, days: {} }

/** Returns the sentence about a series after a day of it was read again and had other rows. */
export const differing = (day: string, audited_at: string): string =>
  `an audit of ${timeInWords(audited_at.slice(0, 10))} found that the rows of ${timeInWords(day)} have changed since they were read, although its source promises that they do not. Other days may have changed, too. A run with "full" reads all days again.`

export interface KeptDays {
  key: string
  metric: string
  recipe: Recipe
  first: string | null
  /** The start of the run that read the days. Days that a later run has read stay. */
  read_at: string
  /**
   * The `looked_at` of the series that the run found, if the run has looked for rows that were marked since and has
   * given all their days. Null if it has not.
   */
  looked_since: string | null
  days: Readonly<Record<string, string>>
}

export interface PartitionKeeper {
  /** Finds the days from `from` to before `until`. */
  find(wanted: { key: string; metric: string; from: string; until: string }): Promise<KeptSeries>
  /** Returns null if the days were kept, or a sentence that says why not. */
  keep(days: KeptDays): Promise<string | null>
}

/** A day that is read again, to compare it. */
export interface AuditedDay {
  recipe: Recipe
  day: string
  /** The rows of the day, as they are kept. */
  kept: string
  /** The time of the last look. Rows that were marked before it are also marked in what is kept. */
  looked_at: string
}
