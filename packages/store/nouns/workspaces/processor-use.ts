/** The processor time of workspaces by hour (UTC), and the check of its cap. */
import { hourOf, processorSpent } from '../../caps.ts'
import type { WorkspaceUse } from '../../contract/jobs/processor-use.ts'
import type { Reader, Routine, Transaction, Writer } from '../../rows.ts'
import { statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { PROCESSOR_USE } from '../../tables/workspaces/processor-use.ts'
import { storedIn } from '../jobs/counts.ts'

// The join ignores a workspace that is gone.
const ADD = PROCESSOR_USE.sql(
  `INSERT INTO processor_use (workspace_id, hour, ms)
   SELECT workspace_id, CAST(:hour AS text), CAST(:ms AS bigint) FROM workspaces WHERE workspace_id = :workspace_id
   ON CONFLICT (workspace_id, hour) DO UPDATE SET ms = processor_use.ms + excluded.ms`,
)
const USED = PROCESSOR_USE.sql<WorkspaceUse>(
  `SELECT workspaces.workspace_id, max_processor_seconds, max_spill_bytes, coalesce(ms, 0) AS ms, ${storedIn('workspaces')} AS stored_bytes
   FROM workspaces LEFT JOIN processor_use
     ON processor_use.workspace_id = workspaces.workspace_id AND hour = :hour
   WHERE workspaces.workspace_id = ANY (:workspace_ids) AND deleted_at IS NULL`,
)

/** Returns the SQL condition that the workspace of a row of `table` has used up its processor seconds of the hour. */
export function spentBy(table: string, hour = ':hour'): string {
  return `EXISTS (SELECT 1 FROM processor_use AS used JOIN workspaces AS own ON own.workspace_id = used.workspace_id
    WHERE used.workspace_id = ${table}.workspace_id AND used.hour = ${hour}
      AND used.ms >= 1000 * CAST(coalesce(own.max_processor_seconds, :max_processor_seconds) AS bigint))`
}

const REACHED = statement<{ reached: number }>(
  `SELECT coalesce(max_processor_seconds, :max_processor_seconds) AS reached FROM workspaces
   WHERE workspace_id = :workspace_id AND ${spentBy('workspaces')}`,
)

/** Returns the parameters of `spentBy`. */
export function spendingNow({ caps, now }: Pick<Transaction, 'caps' | 'now'>) {
  return { hour: hourOf(now), max_processor_seconds: caps.max_processor_seconds }
}

/** Throws `workspace_busy` if the workspace has used up its processor seconds of this hour. */
export function* admitWork(tx: Transaction, workspace_id: string): Routine<void> {
  const found = yield* tx.find(REACHED, { workspace_id, ...spendingNow(tx) })
  if (found) throw processorSpent(found.reached, tx.now)
}

/** Adds to the counts. It locks in the order of keys, so that nodes that write at once do not wait for each other. */
export function* countProcessorUse(tx: Writer, counts: Input<'countProcessorUse'>): Routine<void> {
  const keyOf = ({ workspace_id, hour }: (typeof counts)[number]): string => `${workspace_id} ${hour}`
  for (const count of counts.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) yield* tx.run(ADD, count)
}

export function readProcessorUse(from: Reader, input: Input<'readProcessorUse'>): Routine<WorkspaceUse[]> {
  return from.all(USED, input)
}
