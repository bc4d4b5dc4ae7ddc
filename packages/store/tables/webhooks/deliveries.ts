/** The columns of deliveries and their attempts. */
import type { AttemptRecord, Delivery } from '@assay/model/delivery'
import { Table } from '../table.ts'

export interface DeliveryRow extends Omit<Delivery, 'next_attempt_at'> {
  event_seq: number
  /** The time of its event, by which a recovery on PostgreSQL walks. */
  event_at: string
  due_at: string | null
  /** The node that sends it now; null if none does. */
  owner: string | null
  /** True if this attempt is the last, even if it fails. */
  last_try: boolean
  /** True if later deliveries of its run follow. It then does not count as in flight. */
  ahead: boolean
}

export const DELIVERIES = new Table<DeliveryRow>(
  'deliveries',
  ['delivery_id'],
  {
    delivery_id: 'text',
    workspace_id: 'text',
    webhook_id: 'text',
    event_seq: 'bigint',
    event_id: 'text',
    event_type: 'text',
    event_at: 'time',
    assignment_id: 'text?',
    status: 'text',
    due_at: 'time?',
    owner: 'text?',
    attempt_count: 'integer',
    last_try: 'boolean',
    ahead: 'boolean',
    created_at: 'time',
  },
  { only: { postgres: ['event_at'] } },
)

export interface AttemptRow {
  delivery_id: string
  number: number
  record: AttemptRecord
}

export const ATTEMPTS = new Table<AttemptRow>('attempts', ['delivery_id', 'number'], {
  delivery_id: 'text',
  number: 'integer',
  record: 'json',
})
