/** The columns of the ledger. */
import type { OutgoingCount } from '@assay/model/outgoing'
import { Table } from '../table.ts'

export interface OutgoingRow extends OutgoingCount {
  workspace_id: string
}

export const OUTGOING = new Table<OutgoingRow>('outgoing', ['workspace_id', 'day', 'kind'], {
  workspace_id: 'text',
  day: 'text',
  kind: 'text',
  count: 'bigint',
  refused: 'bigint',
  bytes: 'bigint',
})
