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
  /** Of a ratio: its denominators are noise, and so is one event of its counts. */
  ratio: { event: number | null } | null
}
