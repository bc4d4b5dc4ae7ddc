/**
 * The lease of this node. Leases belong to nodes, not to jobs: one row, renewed every 10 s for 30 s, carries all that
 * the node runs. A node that cannot renew stops its own work by its monotonic clock before another can own it, and
 * a node that was reaped (its row is gone) stops everything and registers anew.
 */
import { AppError } from '../errors.ts'
import type { Progress } from '../job.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Service } from '../runtime/service.ts'
import type { Lease, Store } from '../store/store.ts'
import type { StopReason } from './outcome.ts'

const LEASE_MS = 30_000
const RENEW_MS = 10_000
const RETRY_MS = 1000
/** Work ends this long before the lease does: a child that does not listen is killed within a second. */
const MARGIN_MS = 5000

/** An attempt that this node runs. */
export interface Hold {
  lease: Lease
  workspace_id: string
  /** Aborted when the attempt must stop; `reason` says why. */
  signal: AbortSignal
  reason: StopReason | null
  /** Not yet written to the store: who writes it takes it. */
  progress: Progress | null
  stop(reason: StopReason): void
}

export interface NodeLease extends Service {
  /** Before anything is claimed: the store gives jobs to registered nodes only. */
  register(): Promise<void>
  /** Whether the lease surely holds: nothing is claimed without it. */
  holds(): boolean
  hold(lease: Lease, workspace_id: string): Hold
  held(assignment_id: string): Hold | undefined
  drop(hold: Hold): void
}

export interface LeaseOptions {
  store: Store
  clock: Clock
  log: Logger
  node: { node_id: string; name: string; roles: string[]; version: string }
}

function createHold(lease: Lease, workspace_id: string): Hold {
  const control = new AbortController()
  return {
    lease,
    workspace_id,
    signal: control.signal,
    reason: null,
    progress: null,
    stop(reason) {
      this.reason ??= reason
      control.abort()
    },
  }
}

export function createLease({ store, clock, log, node }: LeaseOptions): NodeLease {
  const holds = new Map<string, Hold>()
  let until = Number.NEGATIVE_INFINITY

  const stopAll = (reason: StopReason): void => {
    for (const hold of holds.values()) hold.stop(reason)
  }
  const extend = (asked: number): void => {
    until = Math.max(until, asked + LEASE_MS)
  }

  async function register(): Promise<void> {
    const asked = clock.monotonic()
    await store.registerNode({ ...node, lease_ms: LEASE_MS })
    extend(asked)
  }

  /** Counts from before the question: the store's lease cannot end earlier than ours. */
  async function renew(): Promise<void> {
    const asked = clock.monotonic()
    const held = [...holds.values()].map((hold) => {
      const progress = hold.progress
      hold.progress = null
      return { assignment_id: hold.lease.assignment_id, attempt: hold.lease.attempt, progress }
    })
    const renewal = await store.renewNode({ node_id: node.node_id, lease_ms: LEASE_MS, held })
    extend(asked)
    for (const { assignment_id, attempt } of renewal.stop) {
      const hold = holds.get(assignment_id)
      if (hold?.lease.attempt === attempt) hold.stop('taken')
    }
  }

  async function renewOrRegister(): Promise<boolean> {
    try {
      await renew()
      return true
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'conflict')) {
        log.warn({ node_id: node.node_id, err: error }, 'the lease could not be renewed')
        return false
      }
    }
    log.error(
      { node_id: node.node_id, jobs: holds.size },
      'this node was given up by the others, it starts anew',
    )
    until = Number.NEGATIVE_INFINITY
    stopAll('taken')
    return register().then(
      () => true,
      () => false,
    )
  }

  /** An answer that never comes (a half-open connection) is given up after a renewal's time and asked for again. */
  async function keepRenewing(signal: AbortSignal): Promise<void> {
    let wait = RENEW_MS
    while (!signal.aborted) {
      await clock.sleep(wait, signal)
      if (signal.aborted) return
      const answered = new AbortController()
      const renewed = await Promise.race([
        renewOrRegister(),
        clock.sleep(RENEW_MS, answered.signal).then(() => false),
      ])
      answered.abort()
      wait = renewed ? RENEW_MS : RETRY_MS
    }
  }

  async function watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const left = until - MARGIN_MS - clock.monotonic()
      if (left <= 0 && holds.size > 0) stopAll('lapsed')
      await clock.sleep(left > 0 ? left : RETRY_MS, signal)
    }
  }

  return {
    name: 'lease',
    register,
    holds: () => clock.monotonic() < until - MARGIN_MS,
    hold(lease, workspace_id) {
      const hold = createHold(lease, workspace_id)
      holds.set(lease.assignment_id, hold)
      return hold
    },
    held: (assignment_id) => holds.get(assignment_id),
    drop(hold) {
      if (holds.get(hold.lease.assignment_id) === hold) holds.delete(hold.lease.assignment_id)
    },
    async run(signal) {
      await Promise.all([keepRenewing(signal), watch(signal)])
      await store.removeNode(node.node_id).catch((error: unknown) => {
        log.warn(
          { node_id: node.node_id, err: error },
          'the node could not sign off: its lease runs out instead',
        )
      })
    },
  }
}
