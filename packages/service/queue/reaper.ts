/**
 * The reaper, on every node. It queues the work of nodes whose lease ran out again, deletes rows past their retention in
 * small batches, and has their room used again. Any number of reapers may run at once.
 */
import { type Clock, iso } from '@assay/model/clock'
import type { Pruned, Retention } from '@assay/store/contract/retention'
import type { Store } from '@assay/store/store'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { Service } from '../runtime/service.ts'

/** The share of the lease between two looks: 5 s of 30 s. */
const REAP = 1 / 6
const PRUNE_MS = 60_000
const PRUNE_BATCH = 50
/**
 * How many times as long as a batch the pause after it is, and the least milliseconds. SQLite writes in the process
 * that answers requests, so deletion takes a tenth of the time there. PostgreSQL has processes of its own, and answers
 * as fast beside a third.
 */
const PAUSES = { sqlite: 9, postgres: 2 }
const PRUNE_PAUSE_MS = 20

export interface ReaperOptions {
  store: Store
  /** This node, which is never reaped. */
  node_id: string
  clock: Clock
  log: Logger
  keep: Retention
  keepAuditMs: number
  leaseMs: number
  metrics: Pick<Metrics, 'retention' | 'rowsDeleted'>
}

const pauseAfter = ({ clock, store }: ReaperOptions, begun: number): number =>
  Math.max(PRUNE_PAUSE_MS, PAUSES[store.kind] * (clock.monotonic() - begun))

/**
 * Deletes old rows batch by batch. Only kinds with a full batch get another. Resolves with false after a minute, if rows
 * may be left: then it is the turn of all kinds again.
 */
async function prune(options: ReaperOptions, signal: AbortSignal): Promise<boolean> {
  const { store, clock, log, keep, metrics } = options
  const total: Pruned = { jobs: 0, drafts: 0, events: 0, deliveries: 0, workspaces: 0, other: 0 }
  const until = clock.monotonic() + PRUNE_MS
  let kinds = Object.keys(total) as (keyof Pruned)[]
  while (kinds.length > 0 && !signal.aborted && clock.monotonic() < until) {
    const begun = clock.monotonic()
    const pruned = await store.prune({ keep, limit: PRUNE_BATCH, kinds })
    for (const kind of kinds) {
      total[kind] += pruned[kind]
      if (pruned[kind] > 0) metrics.rowsDeleted.inc({ kind }, pruned[kind])
    }
    // A batch of a workspace ends with the table, so after any row there may be another table.
    kinds = kinds.filter((kind) => pruned[kind] >= (kind === 'workspaces' ? 1 : PRUNE_BATCH))
    if (kinds.length > 0) await clock.sleep(pauseAfter(options, begun), signal)
  }
  if (Object.values(total).some((count) => count > 0)) log.info(total, 'old rows were deleted')
  return kinds.length === 0
}

async function pruneAudit(options: ReaperOptions, signal: AbortSignal): Promise<void> {
  const { store, clock, log, keepAuditMs, metrics } = options
  const before = iso(clock.now() - keepAuditMs)
  let total = 0
  while (!signal.aborted) {
    const begun = clock.monotonic()
    const pruned = await store.pruneAudit({ before, limit: PRUNE_BATCH })
    total += pruned
    if (pruned < PRUNE_BATCH) break
    await clock.sleep(pauseAfter(options, begun), signal)
  }
  if (total > 0) metrics.rowsDeleted.inc({ kind: 'audit' }, total)
  if (total > 0) log.info({ records: total }, 'old records of the audit trail were deleted')
}

export function createReaper(options: ReaperOptions): Service {
  const { store, clock, log, metrics, keep } = options
  const lasting = {
    jobs: keep.jobs_ms,
    drafts: keep.drafts_ms,
    events: keep.events_ms,
    deliveries: keep.deliveries_ms,
    audit: options.keepAuditMs,
  }
  for (const [kind, ms] of Object.entries(lasting)) metrics.retention.set({ kind }, ms / 1000)

  async function reap(): Promise<void> {
    const reaped = await store.reapNodes({ all: false, but: options.node_id })
    if (reaped.nodes > 0) log.warn(reaped, 'nodes were lost: their work is queued again')
  }

  async function reaping(signal: AbortSignal): Promise<void> {
    let away = false
    while (!signal.aborted) {
      await clock.sleep(options.leaseMs * REAP * (0.8 + 0.4 * Math.random()), signal)
      if (signal.aborted) return
      try {
        // During an outage of the store no node could renew its lease, so the first round after it reaps none.
        if (away) await store.ping()
        else await reap()
        away = false
      } catch (error) {
        away = true
        log.warn({ err: error }, 'lost nodes could not be cleared')
      }
    }
  }

  async function tidying(signal: AbortSignal): Promise<void> {
    let done = true
    while (!signal.aborted) {
      if (done) await clock.sleep(PRUNE_MS, signal)
      if (signal.aborted) return
      done = true
      try {
        done = await prune(options, signal)
        await pruneAudit(options, signal)
        const tables = await store.reclaim()
        if (tables.length > 0) log.info({ tables }, 'tables were vacuumed, because autovacuum is off')
      } catch (error) {
        log.warn({ err: error }, 'old rows could not be cleared')
      }
    }
  }

  return {
    name: 'reaper',
    // Millions of old rows take many minutes, and no lost node waits for them.
    run: async (signal) => void (await Promise.all([reaping(signal), tidying(signal)])),
  }
}
