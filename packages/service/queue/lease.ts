/**
 * The lease of this node. Leases belong to nodes, not to jobs: one row, renewed after a third of its time, covers all work of the
 * node. A node that cannot renew its lease stops its work, by its monotonic clock, before another node can own it. A node
 * whose row was deleted stops everything and registers again.
 */

import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import type { Progress } from '@assay/model/job'
import type { Lease, Store } from '@assay/store/store'
import type { Logger } from '../runtime/log.ts'
import type { Service } from '../runtime/service.ts'
import type { StopReason } from './outcome.ts'

/**
 * The shares of the lease between two renewals, and between two tries after a failure. They are 10 s and 1 s of a
 * lease of 30 s.
 */
const RENEW = 1 / 3
const RETRY = 1 / 30
/**
 * The share of the lease before its end at which work stops. An analysis process that does not stop is killed within
 * a second.
 */
const MARGIN = 1 / 6
const MARGIN_LEAST_MS = 1000

/** An attempt that this node runs. */
export interface Hold {
  lease: Lease
  workspace_id: string
  /** The signal that stops the attempt. Its `reason` is a StopReason. */
  signal: AbortSignal
  reason: StopReason | null
  /** The progress that is not yet written; null if there is none. */
  progress: Progress | null
  /** The monotonic time at which the analysis began; null if it has not begun. */
  began: number | null
  stop(reason: StopReason): void
}

export interface NodeLease extends Service {
  /** Registers the node. The store gives jobs to registered nodes only. */
  register(): Promise<void>
  /** Tells whether the lease surely holds. Nothing is claimed without it. */
  holds(): boolean
  /** Milliseconds until the lease ends; negative after its end. */
  left(): number
  /** The sentence on why the last renewal failed; null if it succeeded. */
  trouble(): string | null
  hold(lease: Lease, workspace_id: string): Hold
  held(assignment_id: string): Hold | undefined
  drop(hold: Hold): void
}

export interface LeaseOptions {
  store: Store
  clock: Clock
  log: Logger
  node: { node_id: string; name: string; roles: string[]; version: string }
  /** Milliseconds from a renewal until other nodes may take this node's work; at least three seconds. */
  leaseMs: number
  /** Receives the store's time of each answer, and the monotonic time of the request. */
  follow?: (now: string, asked: number) => void
}

function createHold(lease: Lease, workspace_id: string): Hold {
  const control = new AbortController()
  return {
    lease,
    workspace_id,
    signal: control.signal,
    reason: null,
    progress: null,
    began: null,
    stop(reason) {
      this.reason ??= reason
      control.abort()
    },
  }
}

/** The state of a lease. `until`: the monotonic time at which it ends. */
interface State extends LeaseOptions {
  holds: Map<string, Hold>
  until: number
  trouble: string | null
}

function stopAll(state: State, reason: StopReason): void {
  for (const hold of state.holds.values()) hold.stop(reason)
}

/**
 * Extends the lease by `ask`, which resolves with the store's time. The lease counts from before the request, so that
 * it ends here no later than in the store.
 */
async function extending(state: State, ask: () => Promise<string>): Promise<void> {
  const asked = state.clock.monotonic()
  const now = await ask()
  state.follow?.(now, asked)
  state.until = Math.max(state.until, asked + state.leaseMs)
  if (state.trouble !== null) state.log.info({ node_id: state.node.node_id }, 'the lease is renewed again')
  state.trouble = null
}

function register(state: State): Promise<void> {
  return extending(
    state,
    async () => (await state.store.registerNode({ ...state.node, lease_ms: state.leaseMs })).now,
  )
}

async function renew(state: State): Promise<string> {
  const held = [...state.holds.values()].map((hold) => {
    const progress = hold.progress
    hold.progress = null
    return { assignment_id: hold.lease.assignment_id, attempt: hold.lease.attempt, progress }
  })
  const { node, leaseMs } = state
  const { now, stop } = await state.store.renewNode({ node_id: node.node_id, lease_ms: leaseMs, held })
  for (const { assignment_id, attempt } of stop) {
    const hold = state.holds.get(assignment_id)
    if (hold?.lease.attempt === attempt) hold.stop('taken')
  }
  return now
}

/** Renews the lease, or registers the node again if the others gave it up. Returns false if it failed. */
async function renewOrRegister(state: State): Promise<boolean> {
  const { log, node } = state
  try {
    await extending(state, () => renew(state))
    return true
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'conflict')) {
      log.warn({ node_id: node.node_id, err: error }, 'the lease could not be renewed')
      state.trouble = (error as Error).message
      return false
    }
  }
  log.error(
    { node_id: node.node_id, jobs: state.holds.size },
    'other nodes took over the work of this node: it registers again',
  )
  state.until = Number.NEGATIVE_INFINITY
  stopAll(state, 'taken')
  return register(state).then(
    () => true,
    () => false,
  )
}

/** Renews the lease until the signal is aborted. A renewal without an answer within a third of the lease is tried again. */
async function keepRenewing(state: State, signal: AbortSignal): Promise<void> {
  const { clock, leaseMs } = state
  let wait = leaseMs * RENEW
  while (!signal.aborted) {
    await clock.sleep(wait, signal)
    if (signal.aborted) return
    const answered = new AbortController()
    const renewed = await Promise.race([
      renewOrRegister(state),
      clock.sleep(leaseMs * RENEW, answered.signal).then(() => {
        if (!answered.signal.aborted) state.trouble = 'The store does not answer.'
        return false
      }),
    ])
    answered.abort()
    wait = leaseMs * (renewed ? RENEW : RETRY)
  }
}

const left = ({ until, leaseMs, clock }: State): number =>
  until - Math.max(leaseMs * MARGIN, MARGIN_LEAST_MS) - clock.monotonic()

async function watch(state: State, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const ms = left(state)
    if (ms <= 0) stopAll(state, 'lapsed')
    await state.clock.sleep(ms > 0 ? ms : state.leaseMs * RETRY, signal)
  }
}

export function createLease(options: LeaseOptions): NodeLease {
  const { store, log, node } = options
  const state: State = { ...options, holds: new Map(), until: Number.NEGATIVE_INFINITY, trouble: null }
  return {
    name: 'lease',
    register: () => register(state),
    holds: () => left(state) > 0,
    left: () => state.until - state.clock.monotonic(),
    trouble: () => state.trouble,
    hold(lease, workspace_id) {
      const hold = createHold(lease, workspace_id)
      state.holds.set(lease.assignment_id, hold)
      return hold
    },
    held: (assignment_id) => state.holds.get(assignment_id),
    drop(hold) {
      if (state.holds.get(hold.lease.assignment_id) === hold) state.holds.delete(hold.lease.assignment_id)
    },
    async run(signal) {
      await Promise.all([keepRenewing(state, signal), watch(state, signal)])
      await store.removeNode(node.node_id).catch((error: unknown) => {
        log.warn(
          { node_id: node.node_id, err: error },
          'the node could not remove its row: its lease runs out',
        )
      })
    },
  }
}
