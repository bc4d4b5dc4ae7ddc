/** The columns of token buckets. */
import { Table } from '../table.ts'

/** What a token bucket held at a time. */
export interface AllowanceRow {
  key: string
  tokens: number
  at: string
  /** Its row says nothing from then on. */
  full_at: string
}

export const ALLOWANCES = new Table<AllowanceRow>('allowances', ['key'], {
  key: 'text',
  tokens: 'real',
  at: 'time',
  full_at: 'time',
})
