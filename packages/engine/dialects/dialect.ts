/** How an engine writes what the others write otherwise. One file an engine; engines.ts lists them. */
import type { Grain } from '@assay/model/metric'
import type { Phrases } from './phrases.ts'

export interface Dialect extends Phrases {
  identifier(name: string): string
  text(value: string): string
  /** A finite number as a double. */
  number(value: number): string
  /** The first moment of the step that holds the time, as a date (an hour: as a timestamp). */
  step(time: string, grain: Grain): string
  /** A number as a double; null of what is no number. */
  double(value: string): string
  /** Whether a double is neither null, nor infinite, nor NaN. */
  finite(value: string): string
  /** The integer part of a double below 2^53, as an integer of 64 bits. */
  whole(value: string): string
  /** A text, compared byte by byte. */
  bytes(value: string): string
  /** A value whose type is text here, as text. */
  shown(value: string): string
  /** The value of the row before, by the order of `by`; null of the first. */
  previous(value: string, by: string): string
  /** The sum of integers, as text: it does not overflow below 2^63. */
  digits(value: string): string
  /**
   * The end of an inner SELECT whose columns are computed once, where the planner would write them out wherever they are read. MySQL would
   * keep the rows on disk: there they are computed as often as they are read.
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
