/** The parts of SQL that each database writes in its own way. Each database has one file; engines.ts lists them. */
import type { Grain } from '@assay/model/metric'
import type { Phrases } from './phrases.ts'

export interface Dialect extends Phrases {
  identifier(name: string): string
  text(value: string): string
  /** Writes a finite number as a double. */
  number(value: number): string
  /** Writes the start of the step that holds the time, as a date, or as a timestamp for hours. */
  step(time: string, grain: Grain): string
  /** Writes a number as a double, and a value that is no number as null. */
  double(value: string): string
  /** Tells whether a double is neither null, nor infinite, nor NaN. */
  finite(value: string): string
  /** Writes the integer part of a double below 2^53, as an integer of 64 bits. */
  whole(value: string): string
  /** Writes a text that is compared byte by byte. */
  bytes(value: string): string
  /** Writes a value as text, if Assay reads its type as text. */
  shown(value: string): string
  /** Writes the value of the row before, in the order of `by`; null for the first row. */
  previous(value: string, by: string): string
  /** Writes the sum of integers as text. It does not overflow below 2^63. */
  digits(value: string): string
  /** Writes the sum of integers below 2^61 as text, in one part or in two, of which the last has 30 bits. */
  broad(value: string): string
  /** Writes an integer of 64 bits whose sum does not overflow. */
  wide(value: string): string
  /**
   * The end of an inner SELECT that makes the planner compute its columns once, not at each place that reads them. It
   * is empty for MySQL, which would keep the rows on disk.
   */
  once: string
  /** Whether a column holds values of its type only, so that the sum of whole numbers or decimals is exact. */
  strict: boolean
}

/** Returns a double in the form that reads back as the same double. */
export const exponential = (value: number): string => value.toExponential()

export const lagged = (value: string, by: string): string => `lag(${value}) over (order by ${by})`

export const doubled = (name: string): string => `"${name.replaceAll('"', '""')}"`
export const backticked = (name: string): string => `\`${name.replaceAll('`', '``')}\``
export const plainText = (value: string): string => `'${value.replaceAll("'", "''")}'`
export const escapedText = (value: string): string =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
