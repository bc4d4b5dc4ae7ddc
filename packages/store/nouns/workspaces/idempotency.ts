/** Idempotency keys. The first answer is kept for a day, and a key that a dead process left open is taken over. */
import { iso } from '@assay/model/clock'
import type { IdempotencyStart } from '../../contract/workspaces/idempotency.ts'
import type { Routine, Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { IDEMPOTENCY_KEYS, type IdempotencyRow } from '../../tables/workspaces/idempotency-keys.ts'

export const KEEP_KEYS_MS = 86_400_000
/** Milliseconds after which the process of an open request counts as dead. */
const UNDER_WAY_MS = 60_000

/** The value in place of the node after a 5xx. The object may exist, so a repeat keeps the id. */
const REOPENED = ''

const OF_KEY = by('workspace_id', 'method', 'path', 'key')
const INSERT = IDEMPOTENCY_KEYS.insert(IDEMPOTENCY_KEYS.columns, 'ON CONFLICT DO NOTHING')
const BEGIN_ANEW = IDEMPOTENCY_KEYS.update(['body_hash', 'id', 'node_id', 'started_at', 'answer'], OF_KEY)
const REOPEN = IDEMPOTENCY_KEYS.update(['node_id'], `${OF_KEY} AND answer IS NULL`)
const ANSWER = IDEMPOTENCY_KEYS.update(['answer'], OF_KEY)
// On SQLite one process holds the home, so every other node has ended.
const LOCK = IDEMPOTENCY_KEYS.sql<IdempotencyRow & { is_alive: boolean | number }>({
  sqlite: `SELECT *, node_id = :asking_node AS is_alive FROM idempotency_keys ${OF_KEY}`,
  postgres: `SELECT *, node_id = :asking_node OR EXISTS (SELECT 1 FROM nodes
      WHERE nodes.node_id = idempotency_keys.node_id AND lease_until > :now) AS is_alive
    FROM idempotency_keys ${OF_KEY} FOR UPDATE`,
})

/** Looks the key up. Of several calls at once one inserts the key. The others wait for its commit and find the row. */
export function* startIdempotent(tx: Writer, input: Input<'startIdempotent'>): Routine<IdempotencyStart> {
  const row: IdempotencyRow = { ...input, started_at: tx.now, answer: null }
  if ((yield* tx.run(INSERT, row)) > 0) return { state: 'new', id: input.id }
  const known = yield* tx.find(LOCK, { ...input, asking_node: input.node_id })
  // The key was deleted between the two statements. The client asks again.
  if (!known) return { state: 'in_progress', retry_after: 1 }
  const now = Date.parse(tx.now)
  const isReopened = known.node_id === REOPENED
  const isExpired = known.started_at <= iso(now - KEEP_KEYS_MS)
  const isSame = known.body_hash === input.body_hash
  if (!isExpired && !isSame && !isReopened) return { state: 'mismatch' }
  if (!isExpired && isSame) {
    if (known.answer !== null) return { state: 'replay', answer: known.answer }
    if (known.is_alive && known.started_at > iso(now - UNDER_WAY_MS))
      return { state: 'in_progress', retry_after: 1 }
  }
  const id = isSame && !isExpired ? known.id : input.id
  yield* tx.run(BEGIN_ANEW, { ...row, id })
  return { state: 'new', id }
}

export function* endIdempotent(tx: Writer, { answer, ...key }: Input<'endIdempotent'>): Routine<void> {
  if (answer === null) yield* tx.run(REOPEN, { ...key, node_id: REOPENED })
  else yield* tx.run(ANSWER, { ...key, answer })
}
