/** Retention, by small batches: what has ended, or was never begun, and is older than it need be kept. */
import { iso } from '@assay/model/clock'
import type { Pruned } from '../contract/retention.ts'
import { KEEP_KEYS_MS } from '../nouns/idempotency.ts'
import type { Input } from '../store.ts'
import type { Connection } from './connection.ts'
import { emptyClosed } from './erasure.ts'
import { removeDraft, removeJob } from './jobs.ts'

/** A length that reaches before all time keeps everything. */
const before = (now: number, ms: number): string => iso(Math.max(0, now - ms))

/** Out of the index of states, by when it was created: what ended before a time was created before it. */
function pruneJobs(connection: Connection, before: string, limit: number): number {
  const old = connection.all<{ assignment_id: string }>(
    `SELECT assignment_id FROM workspaces CROSS JOIN jobs USING (workspace_id)
     WHERE job_status IN ('completed', 'canceled') AND jobs.created_at < ? AND finished_at < ? LIMIT ?`,
    before,
    before,
    limit,
  )
  for (const { assignment_id } of old) removeJob(connection, assignment_id)
  return old.length
}

/** No event tells of a draft, so none tells that it is gone. */
function pruneDrafts(connection: Connection, before: string, limit: number): number {
  const old = connection.all<{ assignment_id: string; workspace_id: string }>(
    `SELECT assignment_id, workspace_id FROM workspaces CROSS JOIN jobs USING (workspace_id)
     WHERE job_status = 'draft' AND jobs.created_at < ? LIMIT ?`,
    before,
    limit,
  )
  for (const draft of old) removeDraft(connection, draft)
  return old.length
}

/** With their deliveries; an event that a webhook still waits for stays. */
function pruneEvents(connection: Connection, before: string, limit: number): number {
  const old = connection.all<{ seq: number }>(
    `SELECT seq FROM events WHERE timestamp < ? AND NOT EXISTS (
       SELECT 1 FROM deliveries WHERE event_seq = events.seq AND status = 'pending')
     ORDER BY timestamp LIMIT ?`,
    before,
    limit,
  )
  for (const { seq } of old) {
    connection.run('DELETE FROM deliveries WHERE event_seq = ?', seq)
    connection.run('DELETE FROM events WHERE seq = ?', seq)
  }
  return old.length
}

/** Out of an index whatever the number of deliveries that are kept: webhook by webhook, end by end. */
function pruneDeliveries(connection: Connection, before: string, limit: number): number {
  return connection.run(
    `DELETE FROM deliveries WHERE delivery_id IN (
       SELECT delivery_id FROM webhooks CROSS JOIN deliveries USING (webhook_id)
       WHERE deliveries.status IN ('delivered', 'failed', 'canceled') AND deliveries.created_at < ? LIMIT ?)`,
    before,
    limit,
  )
}

export function prune(connection: Connection, input: Input<'prune'>): Pruned {
  const { keep, limit } = input
  const now = connection.clock.now()
  const events_before = before(now, keep.events_ms)
  const jobs = pruneJobs(connection, before(now, keep.jobs_ms), limit)
  const drafts = pruneDrafts(connection, before(now, keep.drafts_ms), limit)
  const events = pruneEvents(connection, events_before, limit)
  const deliveries = pruneDeliveries(connection, before(now, keep.deliveries_ms), limit)
  const older = (table: string, column: string, before: string): number =>
    connection.run(
      `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${column} < ? LIMIT ?)`,
      before,
      limit,
    )
  const keys = connection.run(
    `DELETE FROM idempotency_keys WHERE (workspace_id, method, path, key) IN
       (SELECT workspace_id, method, path, key FROM idempotency_keys WHERE started_at <= ? LIMIT ?)`,
    before(now, KEEP_KEYS_MS),
    limit,
  )
  const counts = connection.run(
    `DELETE FROM attempt_counts WHERE (webhook_id, hour, bucket) IN
       (SELECT webhook_id, hour, bucket FROM attempt_counts WHERE hour < ? LIMIT ?)`,
    events_before,
    limit,
  )
  const recoveries = connection.run(
    `DELETE FROM recoveries WHERE rowid IN
       (SELECT rowid FROM recoveries WHERE status = 'completed' AND created_at < ? LIMIT ?)`,
    events_before,
    limit,
  )
  const versions = connection.run(
    `DELETE FROM template_versions WHERE rowid IN
       (SELECT rowid FROM template_versions WHERE NOT EXISTS (
          SELECT 1 FROM jobs WHERE jobs.template_version = template_versions.version
            AND jobs.template_id = template_versions.template_id) LIMIT ?)`,
    limit,
  )
  const allowances = connection.run(
    'DELETE FROM allowances WHERE key IN (SELECT key FROM allowances WHERE full_at < ? LIMIT ?)',
    iso(now),
    limit,
  )
  const other =
    emptyClosed(connection, limit) +
    keys +
    counts +
    recoveries +
    versions +
    older('tokens', 'expires_at', events_before) +
    allowances +
    older('links', 'expires_at', events_before) +
    older('narratives', 'created_at', events_before)
  return { jobs, drafts, events, deliveries, other }
}
