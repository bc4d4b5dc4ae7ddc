/** The metrics of a workspace. */
import { AppError } from '@assay/model/errors'
import { METRICS_MOST, type StoredMetric } from '../../contract/workspaces/metrics.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { METRICS } from '../../tables/workspaces/metrics.ts'
import { endDrafts } from '../accounts/kept-drafts.ts'
import { dropKeptDays } from '../jobs/kept-days.ts'
import { LOCK_WORKSPACE } from '../workspace-lock.ts'

const OF_ID = by('workspace_id', 'metric_id')
const FIND = METRICS.select(OF_ID)
const HOLD = METRICS.select(`${OF_ID} FOR UPDATE`)
const FIND_SOME = METRICS.select(
  'WHERE workspace_id = :workspace_id AND metric_id = ANY (:metric_ids) ORDER BY metric_id',
)
const LIST = METRICS.select(
  'WHERE workspace_id = :workspace_id AND metric_id > :after ORDER BY metric_id LIMIT :limit',
)
const WRITE = METRICS.upsert()
const DELETE = METRICS.delete(OF_ID)
const LENGTH = METRICS.sql<{ length: number }>(
  `SELECT CAST(coalesce(sum(length(source)), 0) AS integer) AS length FROM metrics
   WHERE workspace_id = :workspace_id AND metric_id <> :metric_id`,
)

interface Key {
  workspace_id: string
  metric_id: string
}

export function* putMetric(tx: Writer, input: Input<'putMetric'>): Routine<'new' | 'replaced'> {
  const metric: StoredMetric = { ...input, updated_at: tx.now }
  yield* tx.find(LOCK_WORKSPACE, metric)
  const others = (yield* tx.find(LENGTH, metric))?.length ?? 0
  if (others + metric.source.length > METRICS_MOST)
    throw new AppError(
      'conflict',
      `The metrics of the workspace would have ${others + metric.source.length} characters together; at most ${METRICS_MOST} are kept: delete what is not used, or keep metrics as files beside templates.`,
    )
  const before = yield* tx.find(FIND, metric)
  yield* tx.run(WRITE, metric)
  yield* endDrafts(tx, { ...input, kind: 'metric', name: input.metric_id })
  return before ? 'replaced' : 'new'
}

export function* getMetric(from: Reader, key: Key): Routine<StoredMetric | null> {
  return (yield* from.find(FIND, key)) ?? null
}

/** Locks the metric until the transaction ends. */
export function* lockMetric(tx: Writer, key: Key): Routine<StoredMetric | null> {
  return (yield* tx.find(HOLD, key)) ?? null
}

export function listMetrics(from: Reader, query: Input<'listMetrics'>): Routine<StoredMetric[]> {
  return from.all(LIST, query)
}

export function findMetrics(from: Reader, input: Input<'findMetrics'>): Routine<StoredMetric[]> {
  return from.all(FIND_SOME, input)
}

export function* deleteMetric(tx: Writer, key: Key): Routine<boolean> {
  if ((yield* tx.run(DELETE, key)) === 0) return false
  yield* dropKeptDays(tx, { workspace_id: key.workspace_id, metrics: [key.metric_id] })
  return true
}
