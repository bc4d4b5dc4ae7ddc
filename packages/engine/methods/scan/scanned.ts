/** The data of a scan. */
import type { ReadSeries } from '../../series/read.ts'
import type { LeafRows } from '../drivers/leaf-rows.ts'

export interface Scanned {
  /** The whole: the sums of the values of all rows of a time. */
  whole: ReadSeries
  rows: LeafRows
  /** The leaf of each row, and the step of the whole's grid; -1 if the step is left out. */
  leaf: Int32Array
  step: Int32Array
  /** The codes of each leaf, by attribute. */
  codes: Int32Array[]
  n: number
  /** The number of rows without a time or a finite value. */
  left: number
  /**
   * The combinations that have rows without a finite value at a time, and the share of these among their rows. Code -1
   * is a value that no other row has.
   */
  lacking: { step: number; codes: number[]; share: number }[]
  /** The value of one event, in the values or in the parts of a ratio; null if they are no counts. */
  event: number | null
  /** Whether the measure is a ratio, whose denominators set the noise. */
  ratio: boolean
}
