/** The columns of idempotency keys. */
import type { IdempotencyKey } from '../../contract/workspaces/idempotency.ts'
import { Table } from '../table.ts'

export interface IdempotencyRow extends IdempotencyKey {
  body_hash: string
  id: string
  /** The node that works on the request. Empty after a 5xx: a repeat begins again. */
  node_id: string
  started_at: string
  answer: string | null
}

export const IDEMPOTENCY_KEYS = new Table<IdempotencyRow>(
  'idempotency_keys',
  ['workspace_id', 'method', 'path', 'key'],
  {
    workspace_id: 'text',
    method: 'text',
    path: 'text',
    key: 'text',
    body_hash: 'text',
    id: 'text',
    node_id: 'text',
    started_at: 'time',
    answer: 'text?',
  },
)
