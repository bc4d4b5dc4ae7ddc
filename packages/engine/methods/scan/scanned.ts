/** What a scan reads. */
import type { ReadSeries } from '../../series/read.ts'
import type { LeafRows } from '../drivers/leaf-rows.ts'

export interface Scanned {
  /** The whole: the values of all rows of a time, added up. */
  whole: ReadSeries
  rows: LeafRows
  /** The leaf of each row, and the step of the whole's grid; -1 where the step is left out. */
  leaf: Int32Array
  step: Int32Array
  /** By attribute, for each leaf. */
  codes: Int32Array[]
  n: number
  /** Rows without a time or a finite value. */
  left: number
  /** Combinations with rows without a finite value at a time, and what share of their rows these are; code -1 of a value that no other row has. */
  lacking: { step: number; codes: number[]; share: number }[]
  /** What one event is in the values, or in the parts of a ratio; null where they are no counts. */
  event: number | null
  /** Whether it is a ratio: then its denominators are noise. */
  ratio: boolean
}
