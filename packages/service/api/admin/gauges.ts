/**
 * Sets the gauges of the store and of this node when /metrics is read. The store is counted at most once in five seconds. After
 * a second and a half without its answer the other metrics are answered without its counts.
 */
import { readdir, stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import type { Pool } from '@assay/engine/run/pool'
import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { UNFINISHED } from '@assay/model/job'
import type { Counts, Store } from '@assay/store/store'
import type { Config } from '../../config/config.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { OpenRequests } from '../http/open-requests.ts'

const KEPT_MS = 5000
const PATIENCE_MS = 1500
/** Most workspaces with series of their own. The others are counted together. */
const WORKSPACES_MOST = 20
const OTHERS = '(others)'

/** The state of the node's lease. */
export interface NodeHealth {
  /** Milliseconds until the lease ends. */
  left(): number
  /** Why the last renewal failed; null: it succeeded. */
  trouble(): string | null
  /** Milliseconds by which the clock of the machine is ahead of the store's. */
  skewMs(): number
}

interface GaugeDependencies {
  metrics: Metrics
  store: Pick<Store, 'counts' | 'connections' | 'databaseBytes'>
  clock: Clock
  log: Logger
  lease?: NodeHealth
  home?: string
  spill?: string
  pool: Pick<Pool, 'stats'> | null
  open: OpenRequests
  config: Pick<
    Config,
    | 'maxQueued'
    | 'maxRunning'
    | 'maxProcessorSeconds'
    | 'maxDrafts'
    | 'maxStreams'
    | 'maxSpill'
    | 'workspaceSpill'
    | 'workspaceStored'
    | 'filesQuota'
  >
}

export interface Disk {
  free_bytes: number
  total_bytes: number
}

/** Measures the disk of a folder. Returns null if the disk cannot be read. */
export async function diskOf(folder: string): Promise<Disk | null> {
  const found = await statfs(folder).catch(() => null)
  return found && { free_bytes: found.bavail * found.bsize, total_bytes: found.blocks * found.bsize }
}

/** Waits for the work. Rejects with `store_unavailable` after PATIENCE_MS. */
export async function soon<T>(clock: Clock, work: Promise<T>): Promise<T> {
  const done = new AbortController()
  const late = clock.sleep(PATIENCE_MS, done.signal).then(() => {
    throw new AppError('store_unavailable', `The store did not answer within ${PATIENCE_MS / 1000} seconds.`)
  })
  late.catch(() => undefined)
  work.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    done.abort()
  }
}

type Row = Counts['jobs'][number]

/** Returns a function that names a workspace: those with the highest counts by themselves, all others as one. */
function namedOf(counts: Iterable<readonly [string, number]>): (workspace_id: string) => string {
  const most = [...counts].toSorted((a, b) => b[1] - a[1]).slice(0, WORKSPACES_MOST)
  const names = new Set(most.map(([name]) => name))
  return (workspace_id) => (names.has(workspace_id) ? workspace_id : OTHERS)
}

function setJobs({ metrics, clock }: GaugeDependencies, rows: Row[]): void {
  const age = (at: string | null): number =>
    at === null ? 0 : Math.max(0, (clock.now() - Date.parse(at)) / 1000)
  const totals = new Map<string, number>()
  for (const { workspace_id, count } of rows)
    totals.set(workspace_id, (totals.get(workspace_id) ?? 0) + count)
  const shown = namedOf(totals)
  const oldest = new Map<string, number>()
  metrics.jobs.reset()
  metrics.workspaceJobs.reset()
  metrics.workspaceOldestQueued.reset()
  for (const job_status of UNFINISHED) metrics.jobs.set({ job_status }, 0)
  for (const { workspace_id: id, job_status, count, oldest_at } of rows) {
    const workspace_id = shown(id)
    metrics.jobs.inc({ job_status }, count)
    metrics.workspaceJobs.inc({ workspace_id, job_status }, count)
    if (job_status === 'queued')
      oldest.set(workspace_id, Math.max(oldest.get(workspace_id) ?? 0, age(oldest_at)))
  }
  for (const [workspace_id, seconds] of oldest) metrics.workspaceOldestQueued.set({ workspace_id }, seconds)
  metrics.oldestQueued.set(Math.max(0, ...oldest.values()))
}

function setStored({ metrics }: GaugeDependencies, rows: Counts['stored']): void {
  const shown = namedOf(rows.map(({ workspace_id, bytes }) => [workspace_id, bytes] as const))
  const shares = new Map<string, number>()
  metrics.workspaceStored.reset()
  metrics.workspaceStoredShare.reset()
  for (const { workspace_id: id, bytes, most } of rows) {
    const workspace_id = shown(id)
    metrics.workspaceStored.inc({ workspace_id }, bytes)
    if (most !== null) shares.set(workspace_id, Math.max(shares.get(workspace_id) ?? 0, bytes / most))
  }
  for (const [workspace_id, share] of shares) metrics.workspaceStoredShare.set({ workspace_id }, share)
}

function setStore(given: GaugeDependencies, counts: Counts): void {
  const { jobs, stored, deliveries, webhooks, held_event_at } = counts
  const { metrics, clock } = given
  const since = (at: string | null): number =>
    at === null ? 0 : Math.max(0, (clock.now() - Date.parse(at)) / 1000)
  setJobs(given, jobs)
  setStored(given, stored)
  metrics.deliveriesPending.set({ state: 'due' }, deliveries.due)
  metrics.deliveriesPending.set({ state: 'waiting' }, deliveries.waiting)
  metrics.deliveriesOldest.set(since(deliveries.oldest_at))
  metrics.eventsLag.set(since(held_event_at))
  metrics.webhooks.set({ state: 'failing' }, webhooks.failing)
  metrics.webhooks.set({ state: 'disabled' }, webhooks.disabled)
}

/** Removes the counts of the store from the metrics, because old counts would mislead. */
function clearStore({ metrics }: GaugeDependencies): void {
  for (const gauge of [
    'jobs',
    'workspaceJobs',
    'workspaceOldestQueued',
    'workspaceStored',
    'workspaceStoredShare',
    'deliveriesPending',
    'deliveriesOldest',
    'eventsLag',
    'storeBytes',
    'webhooks',
  ] as const)
    metrics[gauge].reset()
}

/** Returns the bytes of the files in a folder and in the folders below it. */
async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      stat(path.join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

function setShares({ metrics, pool, open, config }: GaugeDependencies): void {
  const { workspaceOpen, workspaceTasks, workspaceTaskSeconds, workspaceProcessorSeconds, caps } = metrics
  for (const gauge of [workspaceOpen, workspaceTasks, workspaceTaskSeconds, workspaceProcessorSeconds])
    gauge.reset()
  const ofOpen = namedOf(open.counts())
  for (const [id, count] of open.counts()) workspaceOpen.inc({ workspace_id: ofOpen(id) }, count)
  const none = new Map<string, number>()
  const { usage = [], worked = none, spent = none } = pool?.stats() ?? {}
  const ofWork = namedOf(worked)
  for (const { owner, queue, state, count } of usage)
    workspaceTasks.inc({ workspace_id: ofWork(owner), queue, state }, count)
  for (const [id, ms] of worked) workspaceTaskSeconds.inc({ workspace_id: ofWork(id) }, ms / 1000)
  for (const [id, ms] of spent) workspaceProcessorSeconds.inc({ workspace_id: ofWork(id) }, ms / 1000)
  const { maxQueued, maxRunning, maxProcessorSeconds, maxDrafts } = config
  const { maxStreams, maxSpill, workspaceSpill, workspaceStored, filesQuota } = config
  const all = {
    max_queued: maxQueued,
    max_running: maxRunning,
    max_processor_seconds: maxProcessorSeconds,
    max_drafts: maxDrafts,
    max_streams: maxStreams,
    max_spill: maxSpill,
    max_spill_bytes: workspaceSpill,
    max_stored_bytes: workspaceStored,
    max_files_bytes: filesQuota,
  }
  for (const [cap, value] of Object.entries(all)) if (value !== null) caps.set({ cap }, value)
}

async function setNode(given: GaugeDependencies): Promise<void> {
  const { metrics, store, lease, home, spill } = given
  setShares(given)
  if (spill !== undefined) metrics.spilled.set(await bytesIn(spill))
  const connections = store.connections()
  for (const [state, count] of Object.entries(connections ?? {}))
    metrics.storeConnections.set({ state }, count)
  if (lease) {
    metrics.leaseLeft.set(lease.left() / 1000)
    metrics.clockSkew.set(lease.skewMs() / 1000)
  }
  const disk = home === undefined ? null : await diskOf(home)
  if (disk) {
    metrics.diskFree.set(disk.free_bytes)
    metrics.diskSize.set(disk.total_bytes)
  }
}

/** Returns a function that brings the gauges up to date. */
export function createGauges(given: GaugeDependencies): () => Promise<void> {
  const { store, clock, log } = given
  let counted = Number.NEGATIVE_INFINITY
  let counting: Promise<void> | null = null

  async function count(): Promise<void> {
    try {
      const [counts, bytes] = await Promise.all([store.counts(), store.databaseBytes()])
      setStore(given, counts)
      given.metrics.storeBytes.set(bytes)
      counted = clock.monotonic()
    } catch (error) {
      clearStore(given)
      log.warn({ err: error }, 'the counts for the metrics could not be read')
    } finally {
      counting = null
    }
  }

  return async () => {
    await setNode(given)
    if (clock.monotonic() - counted < KEPT_MS) return
    counting ??= count()
    await soon(clock, counting).catch(() => clearStore(given))
  }
}
