/** Idempotency keys: the first answer is kept for a day; a key left open by a dead process is taken over. */
import { iso } from '@assay/model/clock'
import type { IdempotencyKey, IdempotencyStart, Input } from '../store.ts'
import type { Connection } from './connection.ts'

export const KEEP_KEYS_MS = 86_400_000
/** A request that has been under way for so long has lost its process. */
const UNDER_WAY_MS = 60_000

/** In place of the node: a fault of ours was answered. What was asked for may have been made: a repeat keeps the id. */
const REOPENED = ''

interface KeyRow {
  body_hash: string
  id: string
  node_id: string
  started_at: string
  answer: string | null
}

function values(key: IdempotencyKey): [string, string, string, string] {
  return [key.workspace_id, key.method, key.path, key.key]
}

const OF_KEY = 'WHERE workspace_id = ? AND method = ? AND path = ? AND key = ?'

function begin(
  connection: Connection,
  input: Input<'startIdempotent'>,
  id: string,
  at: string,
): IdempotencyStart {
  connection.run(
    `INSERT OR REPLACE INTO idempotency_keys (workspace_id, method, path, key, body_hash, id, node_id, started_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ...values(input),
    input.body_hash,
    id,
    input.node_id,
    at,
  )
  return { state: 'new', id }
}

export function startIdempotent(connection: Connection, input: Input<'startIdempotent'>): IdempotencyStart {
  const now = connection.clock.now()
  const row = connection.one<KeyRow>(`SELECT * FROM idempotency_keys ${OF_KEY}`, ...values(input))
  if (!row || row.started_at <= iso(now - KEEP_KEYS_MS)) return begin(connection, input, input.id, iso(now))
  if (row.body_hash !== input.body_hash)
    return row.node_id === REOPENED ? begin(connection, input, input.id, iso(now)) : { state: 'mismatch' }
  if (row.answer !== null) return { state: 'replay', answer: row.answer }
  // One process holds the home: another node's key is that of a process which has ended.
  if (row.node_id === input.node_id && row.started_at > iso(now - UNDER_WAY_MS))
    return { state: 'in_progress', retry_after: 1 }
  return begin(connection, input, row.id, iso(now))
}

export function endIdempotent(connection: Connection, input: Input<'endIdempotent'>): void {
  if (input.answer === null)
    connection.run(
      `UPDATE idempotency_keys SET node_id = ? ${OF_KEY} AND answer IS NULL`,
      REOPENED,
      ...values(input),
    )
  else connection.run(`UPDATE idempotency_keys SET answer = ? ${OF_KEY}`, input.answer, ...values(input))
}
