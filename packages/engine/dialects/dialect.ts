/** The parts of SQL that each database writes in its own way. Each database has one file; engines.ts lists them. */
import type { Grain } from '@assay/model/metric'
import type { Phrases } from './phrases.ts'

export interface Dialect extends Phrases {
  identifier(name: string): string
  text(value: string): string
  /** A finite number as a double. */
  number(value: number): string
  /** The start of the step that holds the time, as a date, or as a timestamp for hours. */
  step(time: string, grain: Grain): string
  /** A number as a double; null for a value that is no number. */
  double(value: string): string
  /** Whether a double is neither null, nor infinite, nor NaN. */
  finite(value: string): string
  /** The integer part of a double below 2^53, as an integer of 64 bits. */
  whole(value: string): string
  /** A text, compared byte by byte. */
  bytes(value: string): string
  /** A value as text, if Assay reads its type as text. */
  shown(value: string): string
  /** The value of the row before, in the order of `by`; null for the first row. */
  previous(value: string, by: string): string
  /** The sum of integers, as text: it does not overflow below 2^63. */
  digits(value: string): string
  /** An integer of 64 bits whose sum does not overflow. */
  wide(value: string): string
  /**
   * The end of an inner SELECT that makes the planner compute its columns once, not at each place that reads them. It
   * is empty for MySQL, which would keep the rows on disk.
   */
  once: string
}

/** A double in the form that reads back as the same double. */
export const exponential = (value: number): string => value.toExponential()

export const lagged = (value: string, by: string): string => `lag(${value}) over (order by ${by})`

export const doubled = (name: string): string => `"${name.replaceAll('"', '""')}"`
export const backticked = (name: string): string => `\`${name.replaceAll('`', '``')}\``
export const plainText = (value: string): string => `'${value.replaceAll("'", "''")}'`
export const escapedText = (value: string): string =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
