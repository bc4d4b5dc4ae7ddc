/**
 * The sending state of a webhook: deliveries in flight, the next due time, rate and breaker. It determines when the
 * next delivery may be claimed. Pure; both stores use it. The webhook's row holds that time as `claim_at`, so a claim
 * reads few rows however many webhooks and deliveries wait.
 */
import { iso } from '@assay/model/clock'
import {
  breakerAfter,
  type Health,
  healthAfter,
  isOpen,
  MAX_IN_FLIGHT,
  type WebhookStatus,
} from '@assay/model/webhook'
import type { AttemptOutcome } from '../../store.ts'

export interface SendingState {
  status: WebhookStatus
  in_flight: number
  max_in_flight: number | null
  rate_per_second: number | null
  /** The earliest due time of its unclaimed deliveries; null if there are none. */
  due_at: string | null
  /** The time of its last claim. Webhooks that have waited longer come first. */
  last_claim_at: string | null
  /** The generic cell rate algorithm's theoretical arrival time (ITU-T I.371), in milliseconds. */
  rate_at: number | null
  failures: number
  open_until: string | null
  /** The time until which the rules of the workspace hold its deliveries back; null if they do not. */
  held_until: string | null
  held_reason: string | null
}

export const NOT_HELD = { held_until: null, held_reason: null }

/** Milliseconds until held deliveries are compared with the rules again. */
const HELD_MS = 60_000

/** The length of a burst in milliseconds: the requests of a quarter of a second may be sent at once. */
const BURST_MS = 250

function intervalMs(ratePerSecond: number): number {
  return 1000 / ratePerSecond
}

/** The last day with a year of four digits. The text of a later day would sort before that of an earlier one. */
const LATEST_MS = Date.UTC(9999, 11, 31)

function rateHold(state: SendingState): string | null {
  if (state.rate_per_second === null || state.rate_at === null) return null
  const burst = Math.max(0, BURST_MS - Math.max(0, intervalMs(state.rate_per_second)))
  return iso(Math.min(Math.max(0, Math.ceil(state.rate_at - burst)), LATEST_MS))
}

/** Returns the time from which the next delivery may be claimed. Null if something must change first. */
export function claimAt(state: SendingState): string | null {
  const most = isOpen(state) ? 1 : (state.max_in_flight ?? MAX_IN_FLIGHT)
  if (state.status !== 'enabled' || state.due_at === null || state.in_flight >= most) return null
  const { last_claim_at, open_until, held_until } = state
  const holds = [last_claim_at, rateHold(state), open_until, held_until].filter((hold) => hold !== null)
  return holds.reduce((latest, hold) => (hold > latest ? hold : latest), state.due_at)
}

/** Tells whether one of its slots may hold several deliveries: not while it fails, and not with a rate. */
export function mayRun(state: SendingState): boolean {
  return state.failures === 0 && state.rate_per_second === null
}

/** Milliseconds by which two correct times of one store may differ. */
const SKEW_MS = 1000

/**
 * Returns the state at `now` (milliseconds) without claims in the future. Such claims were written before the clock
 * was set back, and would hold up every delivery until their time.
 */
export function asOf<T extends SendingState>(state: T, now: number): T {
  const { last_claim_at, rate_at, rate_per_second, held_until } = state
  const latest = now + SKEW_MS
  const paced =
    rate_at === null || rate_per_second === null
      ? rate_at
      : Math.min(rate_at, latest + BURST_MS + intervalMs(rate_per_second))
  return {
    ...state,
    last_claim_at: last_claim_at !== null && last_claim_at > iso(latest) ? iso(now) : last_claim_at,
    rate_at: paced,
    held_until: held_until !== null && held_until > iso(latest + HELD_MS) ? iso(now) : held_until,
  }
}

/** Returns the state while the rules of the workspace hold deliveries back, from `now` (milliseconds) on. */
export function afterHold<T extends SendingState>(state: T, reason: string, now: number): T {
  return { ...state, held_until: iso(now + HELD_MS), held_reason: reason }
}

/** Returns the state after one delivery was claimed at `now` (milliseconds). The store sets `due_at`. */
export function afterClaim<T extends SendingState>(state: T, now: number): T {
  const { rate_per_second, rate_at } = state
  const paced = rate_per_second === null ? null : Math.max(now, rate_at ?? 0) + intervalMs(rate_per_second)
  return { ...state, in_flight: state.in_flight + 1, last_claim_at: iso(now), rate_at: paced }
}

/**
 * Returns the state of a webhook with a test. The test is due first, at the `due_at` of the result, and an open
 * breaker lets it pass as its probe. It waits only if the receiver asked to be left alone.
 */
export function dueFirst<T extends SendingState>(state: T, now: string): T & { due_at: string } {
  const before = state.due_at === null ? now : iso(Date.parse(state.due_at) - 1)
  return {
    ...state,
    due_at: before < now ? before : now,
    open_until: isOpen(state) ? null : state.open_until,
  }
}

/** The outcome of a settled delivery, for the state of its webhook. */
export interface Settled {
  outcome: AttemptOutcome
  /** The time of the next try; null if there is none. */
  due_at: string | null
  /** True if the slot is free again. */
  freed: boolean
}

/** Returns the webhook after these attempts, in their order, at `now` (milliseconds). */
export function afterAttempts<T extends SendingState & Health>(
  before: T,
  settled: readonly Settled[],
  now: number,
): T {
  const at = iso(now)
  const after = { ...before, ...NOT_HELD }
  for (const { outcome, due_at, freed } of settled) {
    if (freed) after.in_flight -= 1
    // No other delivery has begun to wait, so the earlier time wins.
    if (due_at !== null && (after.due_at === null || due_at < after.due_at)) after.due_at = due_at
    const works = outcome.next.status === 'delivered' || outcome.reached === true
    // After a series of successes a further success changes nothing. This is the usual case.
    if (works && after.failures === 0 && after.open_until === null && after.failing_since === null) continue
    Object.assign(after, breakerAfter(after, works, now, outcome.hold_ms))
    Object.assign(after, healthAfter(after, works, outcome.record.error, at))
  }
  return after
}
