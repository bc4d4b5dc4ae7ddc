/** The ledger: counts of what left each workspace by day, and the rules of what may leave. */
import { OPEN_RULES, type OutgoingCount, type OutgoingRules } from '@assay/model/outgoing'
import type { OutgoingNow } from '../../contract/workspaces/outgoing.ts'
import type { Reader, Routine, Transaction, Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { WORKSPACES } from '../../tables/workspaces/accounts.ts'
import { OUTGOING } from '../../tables/workspaces/outgoing.ts'
import { releaseHeld } from '../webhooks/states.ts'

const SHOWN = OUTGOING.except('workspace_id')
// The join ignores a workspace that is gone.
const ADD = OUTGOING.sql(
  `INSERT INTO outgoing (workspace_id, day, kind, count, refused, bytes)
   SELECT workspace_id, CAST(:day AS text), CAST(:kind AS text), CAST(:count AS bigint), CAST(:refused AS bigint), CAST(:bytes AS bigint)
   FROM workspaces WHERE workspace_id = :workspace_id
   ON CONFLICT (workspace_id, day, kind) DO UPDATE SET count = outgoing.count + excluded.count,
     refused = outgoing.refused + excluded.refused, bytes = outgoing.bytes + excluded.bytes`,
)
const RULES = WORKSPACES.select('WHERE workspace_id = ANY (:workspace_ids) AND deleted_at IS NULL', [
  'workspace_id',
  'outgoing',
])
const LOCK_RULES = WORKSPACES.select(`${by('workspace_id')} AND deleted_at IS NULL FOR NO KEY UPDATE`, [
  'outgoing',
])
const WRITE_RULES = WORKSPACES.update(['outgoing'], by('workspace_id'))
const OF_DAY = OUTGOING.select('WHERE workspace_id = ANY (:workspace_ids) AND day = :day')
const SINCE = OUTGOING.select(
  'WHERE workspace_id = :workspace_id AND day >= :since ORDER BY day DESC, kind',
  SHOWN,
)
function keyOf({ workspace_id, day, kind }: Input<'countOutgoing'>[number]): string {
  return `${workspace_id} ${day} ${kind}`
}

/** Adds to the counts. It locks in the order of keys, so that nodes that write at once do not wait for each other. */
export function* countOutgoing(tx: Writer, counts: Input<'countOutgoing'>): Routine<void> {
  for (const count of counts.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) yield* tx.run(ADD, count)
}

export function* readOutgoing(from: Reader, input: Input<'readOutgoing'>): Routine<OutgoingNow[]> {
  const rules = yield* from.all(RULES, input)
  const counts = yield* from.all(OF_DAY, input)
  const of = Map.groupBy(counts, ({ workspace_id }) => workspace_id)
  return rules.map(({ workspace_id, outgoing }) => ({
    workspace_id,
    rules: { ...OPEN_RULES, ...outgoing },
    counts: (of.get(workspace_id) ?? []).map((row) => OUTGOING.pick(row, SHOWN)),
  }))
}

export function listOutgoing(from: Reader, input: Input<'listOutgoing'>): Routine<OutgoingCount[]> {
  return from.all(SINCE, input)
}

export function* lockRules(tx: Writer, workspace_id: string): Routine<OutgoingRules | null> {
  const found = yield* tx.find(LOCK_RULES, { workspace_id })
  return found ? { ...OPEN_RULES, ...found.outgoing } : null
}

export function* changeOutgoing(
  tx: Transaction,
  { workspace_id, patch }: Input<'changeOutgoing'>,
): Routine<OutgoingRules | null> {
  const found = yield* lockRules(tx, workspace_id)
  if (!found) return null
  const outgoing = { ...found, ...patch }
  yield* tx.run(WRITE_RULES, { workspace_id, outgoing })
  if (outgoing.stopped === null) yield* releaseHeld(tx, workspace_id)
  return outgoing
}
