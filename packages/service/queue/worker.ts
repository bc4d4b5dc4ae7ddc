/**
 * The worker: claims queued jobs and runs each in the sandbox, `concurrency` at a time. A cancel reaches it at once by a
 * hint, and without the hint at the next renewal of the lease. When the service stops, it claims no more; running jobs may
 * finish within the drain time and are then given back without a loss.
 */
import type { Pool } from '@assay/engine/run/pool'
import type { Clock } from '@assay/model/clock'
import type { FileAccess } from '@assay/model/file'
import type { TemplateSource } from '@assay/model/template'
import type { ClaimedJob, Hint, Lease, Store } from '@assay/store/store'
import { LRUCache } from 'lru-cache'
import type { ConnectionRegistry } from '../connections/connection-registry.ts'
import type { Logger } from '../runtime/log.ts'
import { doubting, runLoop } from '../runtime/loop.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { Service } from '../runtime/service.ts'
import type { Traces } from '../runtime/traces.ts'
import { createTemplateReader } from '../templates/template-reader.ts'
import { type AttemptOptions, runAttempt } from './attempt.ts'
import type { Hold, NodeLease } from './lease.ts'

const POLL_MS = 1000
const VERSIONS_KEPT = 100

export interface WorkerOptions {
  store: Store
  pool: Pool
  lease: NodeLease
  sample: Record<string, string>
  data: string | null
  connections: Pick<ConnectionRegistry, 'accessFor'>
  files?: FileAccess
  keeperOf?: NonNullable<AttemptOptions['keeperOf']>
  node_id: string
  concurrency: number
  drainMs: number
  clock: Clock
  log: Logger
  metrics: Metrics
  traces?: Traces | null
}

/** Caches the versions of templates. A version never changes. */
function versionCache(store: Store) {
  const kept = new LRUCache<string, TemplateSource>({ max: VERSIONS_KEPT })
  return async (wanted: { template_id: string; version: string }): Promise<TemplateSource | null> => {
    const key = `${wanted.template_id}@${wanted.version}`
    const found = kept.get(key) ?? (await store.getTemplateVersion(wanted))
    if (found) kept.set(key, found)
    return found
  }
}

/** Reads the template of an attempt. The job was accepted, so its workspace's later use of budgets cannot refuse it. */
function readingOf({ store, pool }: WorkerOptions) {
  return { source: versionCache(store), templates: createTemplateReader(pool, { patient: true }) }
}

/**
 * Reads the job and stops the attempt if this node has lost it. It reads, because a hint says only that the job may
 * have changed.
 */
async function checkHold(hold: Hold, store: Store): Promise<void> {
  const { assignment_id, attempt } = hold.lease
  const job = await store.getJob({ workspace_id: hold.workspace_id, assignment_id })
  const ours =
    job && job.attempt === attempt && (job.job_status === 'active' || job.job_status === 'executing')
  if (!ours) hold.stop('taken')
}

async function claim(options: WorkerOptions, limit: number): Promise<ClaimedJob[]> {
  const { store, node_id, clock, metrics } = options
  const claimed = await store.claimJobs({ node_id, limit })
  metrics.jobsClaimed.inc(claimed.length)
  for (const { job } of claimed) {
    if (job.queued_at) metrics.jobWait.observe(Math.max(0, clock.now() - Date.parse(job.queued_at)) / 1000)
  }
  return claimed
}

function listen({ store, lease, log }: WorkerOptions, hint: Hint, wake: () => void): void {
  if (hint.topic === 'jobs') wake()
  if (hint.topic !== 'job') return
  const hold = lease.held(hint.assignment_id)
  if (hold && !hold.signal.aborted) {
    checkHold(hold, store).catch((error: unknown) =>
      log.debug({ err: error }, 'a hint could not be followed'),
    )
  }
}

/** Lets running jobs continue for the drain time and then stops them. */
async function drain(
  { clock, log, drainMs }: WorkerOptions,
  running: ReadonlySet<Hold>,
  signal: AbortSignal,
  drained: AbortController,
  finished: AbortSignal,
): Promise<void> {
  if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  if (running.size > 0)
    log.info({ jobs: running.size, drain_ms: drainMs }, 'the node drains: running jobs may finish')
  await clock.sleep(drainMs, finished)
  drained.abort()
  for (const hold of running) hold.stop('draining')
}

export function createWorker(options: WorkerOptions): Service {
  const { store, lease, node_id, clock, log } = options
  const running = new Set<Hold>()
  /** The outcomes that are being written. Nothing is claimed while there are more of them than slots. */
  const settling = new Set<Promise<void>>()
  /** The claimed jobs whose outcome is not written yet. */
  const open = new Set<Lease>()
  const reading = readingOf(options)
  const claimSafely = doubting(
    (limit) => claim(options, limit),
    () => store.giveBackUnknown({ node_id, jobs: [...open] }),
  )
  const mayClaim = (): boolean => lease.holds() && settling.size <= options.concurrency

  /** Logs an error of the store about one job, which is given back before the next claim. */
  function unsettled({ assignment_id, attempt }: Lease, error: unknown): void {
    log.error(
      { assignment_id, attempt, err: error },
      'an attempt could not be settled, its job is given back',
    )
    claimSafely.doubt()
  }

  async function work(claimed: ClaimedJob, giveUp: AbortSignal): Promise<void> {
    const { assignment_id, attempt, workspace_id } = claimed.job
    const hold = lease.hold({ assignment_id, attempt, node_id }, workspace_id)
    running.add(hold)
    open.add(hold.lease)
    if (giveUp.aborted) hold.stop('draining')
    try {
      const settle = await runAttempt(claimed, hold, { ...options, ...reading, giveUp })
      const settled: Promise<void> = settle()
        .catch((error: unknown) => unsettled(hold.lease, error))
        .finally(() => {
          open.delete(hold.lease)
          settling.delete(settled)
        })
      settling.add(settled)
    } catch (error) {
      unsettled(hold.lease, error)
    } finally {
      running.delete(hold)
      lease.drop(hold)
    }
  }

  return {
    name: 'worker',
    async run(signal) {
      const drained = new AbortController()
      const finished = new AbortController()
      const loop = runLoop<ClaimedJob>(
        {
          concurrency: options.concurrency,
          pollMs: POLL_MS,
          clock,
          claim: async (limit) => (mayClaim() ? claimSafely(limit) : []),
          work: (claimed) => work(claimed, drained.signal),
          subscribe: (wake) => store.subscribe((hint) => listen(options, hint, wake)),
          onError: (error) => log.warn({ err: error }, 'jobs could not be claimed'),
        },
        signal,
      )
      void drain(options, running, signal, drained, finished.signal)
      await loop
      await Promise.all(settling)
      finished.abort()
    },
  }
}
