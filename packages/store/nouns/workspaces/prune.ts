/**
 * Retention in small batches: deletes objects that have ended, or never began, and are old enough. Nodes that prune
 * at once skip each other's rows. A row is locked before the check that nothing needs it. Indexes find old rows
 * workspace by workspace, webhook by webhook.
 */
import { iso } from '@assay/model/clock'
import { ENDED } from '@assay/model/delivery'
import { FINAL, type JobStatus } from '@assay/model/job'
import type { Pruned } from '../../contract/workspaces/retention.ts'
import type { Routine, Transaction } from '../../rows.ts'
import { both, listed, type Statement, statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { KEPT_SERIES } from '../../tables/jobs/kept-days.ts'
import { ATTEMPT_COUNTS, RECOVERIES } from '../../tables/webhooks/recoveries.ts'
import { TOKENS } from '../../tables/workspaces/accounts.ts'
import { ALLOWANCES } from '../../tables/workspaces/allowances.ts'
import { IDEMPOTENCY_KEYS } from '../../tables/workspaces/idempotency-keys.ts'
import { COLLECTION_LINKS, LINKS } from '../../tables/workspaces/links.ts'
import { NARRATIVES } from '../../tables/workspaces/narratives.ts'
import { SIGN_INS } from '../../tables/workspaces/sign-ins.ts'
import { removeDrafts, removeJobs } from '../jobs/jobs.ts'
import { emptyClosed } from './erasure.ts'
import { KEEP_KEYS_MS } from './idempotency.ts'

interface OldJob {
  assignment_id: string
  workspace_id: string
}

/** Finds old jobs by the index of states and creation times: a job that ended before a time was created before it. */
function oldJobs(states: readonly JobStatus[]): Statement<OldJob> {
  const list = listed(states)
  return statement({
    sqlite: `SELECT assignment_id, workspace_id FROM workspaces CROSS JOIN jobs USING (workspace_id)
      WHERE job_status IN (${list}) AND jobs.created_at < :before AND coalesce(finished_at, jobs.created_at) < :before
      LIMIT :limit`,
    postgres: `SELECT old.assignment_id, old.workspace_id
      FROM workspaces CROSS JOIN unnest(ARRAY[${list}]) AS wanted (status)
      CROSS JOIN LATERAL (
        SELECT assignment_id, workspace_id FROM jobs
        WHERE jobs.workspace_id = workspaces.workspace_id AND job_status = wanted.status
          AND owner IS NULL AND created_at < :before
          AND coalesce(finished_at, created_at) < :before
        ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED) AS old
      LIMIT :limit`,
  })
}
const OLD_JOBS = oldJobs(FINAL)
// A draft has no events, so its deletion has none.
const OLD_DRAFTS = oldJobs(['draft'])

const NOT_WAITED_FOR = `NOT EXISTS (SELECT 1 FROM deliveries WHERE event_seq = events.seq AND status = 'pending')`
const OLD_EVENTS = statement<{ seq: number }>({
  sqlite: `SELECT seq FROM events WHERE timestamp < :before AND ${NOT_WAITED_FOR} ORDER BY timestamp LIMIT :limit`,
  postgres: `SELECT old.seq FROM workspaces CROSS JOIN LATERAL (
      SELECT seq FROM events
      WHERE events.workspace_id = workspaces.workspace_id AND timestamp < :before AND ${NOT_WAITED_FOR}
      ORDER BY timestamp LIMIT :limit FOR UPDATE SKIP LOCKED) AS old
    LIMIT :limit`,
})
const STILL_FREE = statement<{ seq: number }>(
  `SELECT seq FROM events WHERE seq = ANY (:seqs) AND ${NOT_WAITED_FOR}`,
)

const OLD_DELIVERIES = statement({
  sqlite: `DELETE FROM deliveries WHERE delivery_id IN (
      SELECT delivery_id FROM webhooks CROSS JOIN deliveries USING (webhook_id)
      WHERE deliveries.status IN (${listed(ENDED)}) AND deliveries.created_at < :before LIMIT :limit)`,
  postgres: `DELETE FROM deliveries WHERE delivery_id = ANY (ARRAY (
      SELECT old.delivery_id FROM webhooks
      CROSS JOIN unnest(ARRAY[${listed(ENDED)}]) AS ended (status)
      CROSS JOIN LATERAL (
        SELECT delivery_id FROM deliveries
        WHERE deliveries.webhook_id = webhooks.webhook_id AND deliveries.status = ended.status AND created_at < :before
        ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED) AS old
      LIMIT :limit))`,
})

// Checks one version at a time. With NOT EXISTS, PostgreSQL would check all at once and read every job.
const noneOf = (
  also: string,
): string => `(SELECT 1 FROM jobs WHERE jobs.template_id = template_versions.template_id
  AND jobs.template_version = template_versions.version ${also} LIMIT 1) IS NULL`
const UNUSED = {
  sqlite: noneOf(''),
  // The index of versions leaves out held jobs, so a query of their own looks for them.
  postgres: `${noneOf('AND owner IS NULL')} AND ${noneOf('AND owner IS NOT NULL')}`,
}
const LOCK_VERSIONS = statement<{ template_id: string; version: string }>(
  both(
    (database) =>
      `SELECT template_id, version FROM template_versions WHERE ${UNUSED[database]} LIMIT :limit FOR UPDATE SKIP LOCKED`,
  ),
)
const DELETE_VERSIONS = statement({
  sqlite: `DELETE FROM template_versions WHERE ${UNUSED.sqlite} AND (template_id, version) IN (
      SELECT value ->> 'template_id', value ->> 'version' FROM json_each(:found) AS given)`,
  postgres: `DELETE FROM template_versions WHERE ${UNUSED.postgres} AND (template_id, version) IN (
      SELECT template_id, version FROM json_to_recordset(:found::json) AS given (template_id text, version text))`,
})

/** The other kinds of old rows. */
const OTHERS = [
  // A client may still refresh the expired token of a grant, so that token stays.
  TOKENS.deleteSome(
    `WHERE expires_at < :before
       AND NOT EXISTS (SELECT 1 FROM grants WHERE grants.token_id = tokens.token_id AND ends_at > :now)`,
    'FOR UPDATE SKIP LOCKED',
  ),
  SIGN_INS.deleteSome('WHERE idle_ends_at < :before', 'FOR UPDATE SKIP LOCKED'),
  LINKS.deleteSome('WHERE expires_at < :before', 'FOR UPDATE SKIP LOCKED'),
  COLLECTION_LINKS.deleteSome('WHERE expires_at < :before', 'FOR UPDATE SKIP LOCKED'),
  KEPT_SERIES.deleteSome('WHERE used_at < :before', 'FOR UPDATE SKIP LOCKED'),
  NARRATIVES.deleteSome('WHERE created_at < :before', 'FOR UPDATE SKIP LOCKED'),
  IDEMPOTENCY_KEYS.deleteSome('WHERE started_at <= :keys_before', 'FOR UPDATE SKIP LOCKED'),
  ALLOWANCES.deleteSome('WHERE full_at < :now', 'FOR UPDATE SKIP LOCKED'),
  ATTEMPT_COUNTS.deleteSome('WHERE hour < :before', 'FOR UPDATE SKIP LOCKED'),
  RECOVERIES.deleteSome(`WHERE status = 'completed' AND created_at < :before`, 'FOR UPDATE SKIP LOCKED'),
]

// Another transaction may hold some deliveries, such as the deletion of their webhook. These stay, with their event.
const DELETE_THEIR_DELIVERIES = statement({
  sqlite: 'DELETE FROM deliveries WHERE event_seq = ANY (:seqs)',
  postgres: `DELETE FROM deliveries WHERE delivery_id = ANY (ARRAY (
    SELECT delivery_id FROM deliveries WHERE event_seq = ANY (:seqs) FOR UPDATE SKIP LOCKED))`,
})
const DELETE_EVENTS = statement(
  'DELETE FROM events WHERE seq = ANY (:seqs) AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event_seq = events.seq)',
)

/** Deletes events with their deliveries. An event with a pending delivery stays. */
function* pruneEvents(tx: Transaction, before: string, limit: number): Routine<number> {
  const old = yield* tx.all(OLD_EVENTS, { before, limit })
  if (old.length === 0) return 0
  const free = yield* tx.all(STILL_FREE, { seqs: old.map(({ seq }) => seq) })
  const seqs = free.map(({ seq }) => seq)
  yield* tx.run(DELETE_THEIR_DELIVERIES, { seqs })
  return yield* tx.run(DELETE_EVENTS, { seqs })
}

/**
 * Deletes versions without a job. It locks them so that no new job refers to one (createJob takes the same lock), and
 * then checks again.
 */
function* pruneVersions(tx: Transaction, limit: number): Routine<number> {
  const found = yield* tx.all(LOCK_VERSIONS, { limit })
  return found.length === 0 ? 0 : yield* tx.run(DELETE_VERSIONS, { found: JSON.stringify(found) })
}

interface Pruning extends Omit<Input<'prune'>, 'kinds'> {
  /** Returns the time `ms` milliseconds before now. A length beyond all time keeps everything. */
  before(ms: number): string
}

type Prune = (tx: Transaction, pruning: Pruning) => Routine<number>

/**
 * Prunes each kind in a transaction of its own, so that nodes that prune at once never hold rows of one kind while
 * they wait for those of another.
 */
const KINDS: Record<keyof Pruned, Prune> = {
  *jobs(tx, { keep, limit, before }) {
    const ended = yield* tx.all(OLD_JOBS, { before: before(keep.jobs_ms), limit })
    yield* removeJobs(
      tx,
      ended.map(({ assignment_id }) => assignment_id),
    )
    return ended.length
  },
  *drafts(tx, { keep, limit, before }) {
    const drafts = yield* tx.all(OLD_DRAFTS, { before: before(keep.drafts_ms), limit })
    yield* removeDrafts(tx, drafts)
    return drafts.length
  },
  events: (tx, { keep, limit, before }) => pruneEvents(tx, before(keep.events_ms), limit),
  deliveries: (tx, { keep, limit, before }) =>
    tx.run(OLD_DELIVERIES, { before: before(keep.deliveries_ms), limit }),
  workspaces: (tx, { limit }) => emptyClosed(tx, limit),
  *other(tx, { keep, limit, before }) {
    let other = yield* pruneVersions(tx, limit)
    const values = { before: before(keep.events_ms), keys_before: before(KEEP_KEYS_MS), most: limit }
    for (const deleteSome of OTHERS) other += yield* tx.run(deleteSome, values)
    return other
  },
}

export async function prune(
  write: <Result>(work: (tx: Transaction) => Routine<Result>) => Promise<Result>,
  { kinds = Object.keys(KINDS) as (keyof Pruned)[], ...input }: Input<'prune'>,
): Promise<Pruned> {
  const pruned: Pruned = { jobs: 0, drafts: 0, events: 0, deliveries: 0, workspaces: 0, other: 0 }
  for (const kind of kinds)
    pruned[kind] = await write(function* pruning(tx) {
      yield* tx.native.useIndexes()
      const before = (ms: number): string => iso(Math.max(0, Date.parse(tx.now) - ms))
      return yield* KINDS[kind](tx, { ...input, before })
    })
  return pruned
}
