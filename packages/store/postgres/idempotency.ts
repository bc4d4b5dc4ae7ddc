/** Idempotency keys: the first answer is kept for a day; a key left open by a dead process is taken over. */
import type { IdempotencyKey, IdempotencyStart, Input } from '../store.ts'
import type { Transaction } from './connection.ts'

const OF_KEY = 'WHERE workspace_id = $1 AND method = $2 AND path = $3 AND key = $4'

function values(key: IdempotencyKey): [string, string, string, string] {
  return [key.workspace_id, key.method, key.path, key.key]
}

interface KeyRow {
  body_hash: string
  id: string
  answer: string | null
  expired: boolean
  abandoned: boolean
  reopened: boolean
}

/** In place of the node: a fault of ours was answered. What was asked for may have been made: a repeat keeps the id. */
const REOPENED = ''

/**
 * A request that has been under way for a minute has lost its process; so has one of a node whose lease has ended.
 * (On SQLite every other node is a process that has ended.)
 */
const FIND = `
  SELECT body_hash, id, answer, started_at <= clock_timestamp() - interval '24 hours' AS expired,
    started_at <= clock_timestamp() - interval '60 s' OR (node_id <> $5 AND NOT EXISTS (
      SELECT 1 FROM nodes WHERE nodes.node_id = idempotency_keys.node_id AND lease_until > clock_timestamp()))
      AS abandoned,
    node_id = '${REOPENED}' AS reopened
  FROM idempotency_keys ${OF_KEY} FOR UPDATE`

async function begin(
  tx: Transaction,
  input: Input<'startIdempotent'>,
  id: string,
): Promise<IdempotencyStart> {
  await tx.run(
    `UPDATE idempotency_keys SET body_hash = $5, id = $6, node_id = $7, started_at = clock_timestamp(), answer = NULL
     ${OF_KEY}`,
    ...values(input),
    input.body_hash,
    id,
    input.node_id,
  )
  return { state: 'new', id }
}

/** Of those that come at once one inserts the key; the others wait for its commit and find the row. */
export async function startIdempotent(
  tx: Transaction,
  input: Input<'startIdempotent'>,
): Promise<IdempotencyStart> {
  const inserted = await tx.run(
    `INSERT INTO idempotency_keys (workspace_id, method, path, key, body_hash, id, node_id, started_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp()) ON CONFLICT DO NOTHING`,
    ...values(input),
    input.body_hash,
    input.id,
    input.node_id,
  )
  if (inserted > 0) return { state: 'new', id: input.id }
  const row = await tx.one<KeyRow>(FIND, ...values(input), input.node_id)
  // It was forgotten between the two statements: the client asks again.
  if (!row) return { state: 'in_progress', retry_after: 1 }
  if (row.expired) return begin(tx, input, input.id)
  if (row.body_hash !== input.body_hash)
    return row.reopened ? begin(tx, input, input.id) : { state: 'mismatch' }
  if (row.answer !== null) return { state: 'replay', answer: row.answer }
  return row.abandoned ? begin(tx, input, row.id) : { state: 'in_progress', retry_after: 1 }
}

export async function endIdempotent(tx: Transaction, input: Input<'endIdempotent'>): Promise<void> {
  if (input.answer === null)
    await tx.run(
      `UPDATE idempotency_keys SET node_id = $5 ${OF_KEY} AND answer IS NULL`,
      ...values(input),
      REOPENED,
    )
  else await tx.run(`UPDATE idempotency_keys SET answer = $5 ${OF_KEY}`, ...values(input), input.answer)
}
