/**
 * Retention, by small batches: what has ended, or was never begun, and is older than it need be kept. Nodes that prune at once pass over
 * what another deletes, and rows are locked before it is asked again whether anything still needs them.
 */

import { iso } from '@assay/model/clock'
import type { JobStatus } from '@assay/model/job'
import type { Pruned } from '../contract/retention.ts'
import type { Input } from '../store.ts'
import { OUT_OF_INDEXES, type Transaction } from './connection.ts'
import { emptyClosed } from './erasure.ts'
import { removeJobs } from './jobs.ts'

/** By the database's clock. A length that reaches before all time keeps everything. */
function before(tx: Transaction, ms: number): string {
  return iso(Math.max(0, Date.parse(tx.now) - ms))
}

/**
 * Out of the index of states, by when it was created: what ended before a time was created before it. No event tells of a
 * draft, so none tells that it is gone; one that is run at this moment is passed over.
 */
async function pruneJobs(
  tx: Transaction,
  states: readonly JobStatus[],
  before: string,
  limit: number,
): Promise<number> {
  const old = await tx.all<{ assignment_id: string }>(
    `SELECT old.assignment_id FROM workspaces CROSS JOIN unnest($3::text[]) AS wanted (status)
     CROSS JOIN LATERAL (
       SELECT assignment_id FROM jobs
       WHERE jobs.workspace_id = workspaces.workspace_id AND job_status = wanted.status
         AND job_status <> 'active' AND job_status <> 'executing' AND created_at < $1
         AND coalesce(finished_at, created_at) < $1
       ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED) AS old
     LIMIT $2`,
    before,
    limit,
    states,
  )
  if (old.length > 0)
    await removeJobs(
      tx,
      old.map(({ assignment_id }) => assignment_id),
    )
  return old.length
}

const NOT_WAITED_FOR = `NOT EXISTS (SELECT 1 FROM deliveries WHERE event_seq = events.seq AND status = 'pending')`

/** With their deliveries; an event that a webhook still waits for stays. */
async function pruneEvents(tx: Transaction, before: string, limit: number): Promise<number> {
  const old = await tx.all<{ seq: number }>(
    `SELECT old.seq FROM workspaces CROSS JOIN LATERAL (
       SELECT seq FROM events
       WHERE events.workspace_id = workspaces.workspace_id AND timestamp < $1 AND ${NOT_WAITED_FOR}
       ORDER BY timestamp LIMIT $2 FOR UPDATE SKIP LOCKED) AS old
     LIMIT $2`,
    before,
    limit,
  )
  if (old.length === 0) return 0
  const free = await tx.all<{ seq: number }>(
    `SELECT seq FROM events WHERE seq = ANY ($1) AND ${NOT_WAITED_FOR}`,
    old.map(({ seq }) => seq),
  )
  const seqs = free.map(({ seq }) => seq)
  await tx.run('DELETE FROM deliveries WHERE event_seq = ANY ($1)', seqs)
  return tx.run('DELETE FROM events WHERE seq = ANY ($1)', seqs)
}

/** Out of an index whatever the number of deliveries that are kept: webhook by webhook, end by end. (`IN` may be asked once for each row.) */
function pruneDeliveries(tx: Transaction, before: string, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM deliveries WHERE delivery_id = ANY (ARRAY (
       SELECT old.delivery_id FROM webhooks CROSS JOIN unnest(ARRAY['delivered', 'failed', 'canceled']) AS ended (status)
       CROSS JOIN LATERAL (
         SELECT delivery_id FROM deliveries
         WHERE deliveries.webhook_id = webhooks.webhook_id AND deliveries.status = ended.status AND created_at < $1
         ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED) AS old
       LIMIT $2))`,
    before,
    limit,
  )
}

/** Locked so that no job can come to refer to one (createJob takes a lock, too), then asked again. */
async function pruneVersions(tx: Transaction, limit: number): Promise<number> {
  // Asked for each version. (Of all at once, as by NOT EXISTS, it is found by reading every job.)
  const unused = `(SELECT 1 FROM jobs WHERE jobs.template_id = template_versions.template_id
    AND jobs.template_version = template_versions.version LIMIT 1) IS NULL`
  const found = await tx.all<{ template_id: string; version: string }>(
    `SELECT template_id, version FROM template_versions WHERE ${unused} LIMIT $1 FOR UPDATE SKIP LOCKED`,
    limit,
  )
  return tx.run(
    `DELETE FROM template_versions WHERE ${unused}
     AND (template_id, version) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
    found.map(({ template_id }) => template_id),
    found.map(({ version }) => version),
  )
}

/** What else is older: rows by the table, their key, and which are. */
const OTHERS: { table: string; condition: string }[] = [
  { table: 'tokens', condition: 'expires_at < $1' },
  { table: 'links', condition: 'expires_at < $1' },
  { table: 'narratives', condition: 'created_at < $1' },
  {
    table: 'idempotency_keys',
    condition: `$1::timestamptz IS NOT NULL AND started_at <= clock_timestamp() - interval '24 hours'`,
  },
  { table: 'allowances', condition: '$1::timestamptz IS NOT NULL AND full_at < clock_timestamp()' },
  { table: 'attempt_counts', condition: 'hour < $1' },
  { table: 'recoveries', condition: `status = 'completed' AND created_at < $1` },
]

export async function prune(tx: Transaction, input: Input<'prune'>): Promise<Pruned> {
  const { keep, limit } = input
  await tx.run(OUT_OF_INDEXES)
  const events_before = before(tx, keep.events_ms)
  const jobs = await pruneJobs(tx, ['completed', 'canceled'], before(tx, keep.jobs_ms), limit)
  const drafts = await pruneJobs(tx, ['draft'], before(tx, keep.drafts_ms), limit)
  const events = await pruneEvents(tx, events_before, limit)
  const deliveries = await pruneDeliveries(tx, before(tx, keep.deliveries_ms), limit)
  let other = (await emptyClosed(tx, limit)) + (await pruneVersions(tx, limit))
  for (const { table, condition } of OTHERS)
    other += await tx.run(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY (
         SELECT ctid FROM ${table} WHERE ${condition} LIMIT $2 FOR UPDATE SKIP LOCKED))`,
      events_before,
      limit,
    )
  return { jobs, drafts, events, deliveries, other }
}
