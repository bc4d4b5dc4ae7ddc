/**
 * The clock of a node, set by that of the store. Each renewal of the lease returns the time of the store, and the
 * monotonic clock continues from there. So signatures and times agree on all nodes, whatever the clocks of their
 * machines show. Without such an answer (SQLite uses the machine's clock) it is the machine's clock.
 */
import type { Clock } from '@assay/model/clock'
import type { Logger } from '../runtime/log.ts'

/**
 * A node whose machine is farther off is not ready, because certificates, keys of buckets and sign-in providers need
 * the right time, too.
 */
export const SKEW_MOST_MS = 60_000
/** The log reports a machine that is farther off. */
const SKEW_TOLD_MS = 2000
/** An answer that took longer is too inexact, so it is ignored once the time is known. */
const TRIP_MOST_MS = 1000

export interface StoreClock extends Clock {
  /** Takes `now`, the store's time in the answer to a request that was sent at `asked` of the monotonic clock. */
  follow(now: string, asked: number): void
  /** Milliseconds by which the clock of the machine is ahead of the store's. */
  skewMs(): number
}

/** "3 min behind": how far off a clock is. */
export function skewText(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000)
  const length = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
  return `${length} ${ms > 0 ? 'ahead of' : 'behind'}`
}

export function createStoreClock(machine: Clock, log: Logger): StoreClock {
  let told: { now: number; at: number } | null = null
  let isOff = false

  const now = (): number => (told === null ? machine.now() : told.now + machine.monotonic() - told.at)
  const skewMs = (): number => machine.now() - now()

  return {
    now: () => Math.round(now()),
    monotonic: () => machine.monotonic(),
    sleep: (ms, signal) => machine.sleep(ms, signal),
    skewMs,
    follow(answer, asked) {
      const trip = machine.monotonic() - asked
      if (told !== null && trip > TRIP_MOST_MS) return
      told = { now: Date.parse(answer), at: asked + trip / 2 }
      const wasOff = isOff
      isOff = Math.abs(skewMs()) > SKEW_TOLD_MS
      if (isOff && !wasOff)
        log.warn(
          { skew_ms: Math.round(skewMs()) },
          `the clock of this machine is ${skewText(skewMs())} that of the store, whose time counts`,
        )
      if (wasOff && !isOff) log.info({}, 'the clock of this machine is that of the store again')
    },
  }
}
