/** The columns of token buckets. */
import { Table } from '../table.ts'

/** The tokens in a bucket at a time. */
export interface AllowanceRow {
  key: string
  tokens: number
  at: string
  /** The time at which the bucket is full. The row can be deleted then. */
  full_at: string
}

export const ALLOWANCES = new Table<AllowanceRow>('allowances', ['key'], {
  key: 'text',
  tokens: 'real',
  at: 'time',
  full_at: 'time',
})
