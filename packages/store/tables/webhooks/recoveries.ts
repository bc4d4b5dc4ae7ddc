/** The columns of recoveries, and of the counts behind a webhook's statistics. */
import type { Recovery } from '@assay/model/delivery'
import type { EventType } from '@assay/model/event'
import { Table } from '../table.ts'

/**
 * The place of a recovery, and its end. SQLite walks by `seq` alone, up to `to_seq`. The numbers of PostgreSQL do not
 * rise with the times, so it walks by (timestamp, seq), up to before `until`.
 */
export interface Position {
  next_seq: number
  to_seq: number
  next_at: string
  until: string
}

export interface RecoveryRow extends Recovery, Position {
  workspace_id: string
  include_unsent: boolean
  event_types: EventType[] | null
}

export const RECOVERIES = new Table<RecoveryRow>(
  'recoveries',
  ['recovery_id'],
  {
    recovery_id: 'text',
    workspace_id: 'text',
    webhook_id: 'text',
    include_unsent: 'boolean',
    event_types: 'json?',
    next_seq: 'bigint',
    to_seq: 'bigint',
    next_at: 'time',
    until: 'time',
    status: 'text',
    done: 'integer',
    count: 'integer',
    created_at: 'time',
  },
  { only: { sqlite: ['to_seq'], postgres: ['next_at', 'until'] } },
)

export interface AttemptCountRow {
  webhook_id: string
  hour: string
  /** The bucket of the latency (model/delivery.ts); -1 for an attempt that failed. */
  bucket: number
  count: number
}

export const ATTEMPT_COUNTS = new Table<AttemptCountRow>('attempt_counts', ['webhook_id', 'hour', 'bucket'], {
  webhook_id: 'text',
  hour: 'time',
  bucket: 'integer',
  count: 'integer',
})
