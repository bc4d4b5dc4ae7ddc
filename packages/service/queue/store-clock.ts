/**
 * The clock of a node, set by that of the store. Each renewal of the lease returns the time of the store, and the
 * monotonic clock continues from there. So signatures and times agree on all nodes, whatever the clocks of their
 * machines show. Without such an answer (SQLite uses the machine's clock) it is the machine's clock.
 */
import type { Clock } from '@assay/model/clock'
import type { Logger } from '../runtime/log.ts'

/**
 * The most milliseconds by which the machine of a ready node may be off. Certificates, keys of buckets and sign-in
 * providers need the right time too.
 */
export const SKEW_MOST_MS = 60_000
/** The milliseconds from which the log reports that a machine is off. */
const SKEW_TOLD_MS = 2000
/**
 * The longest time in milliseconds of an answer that sets the clock once the time is known. A slower answer is too
 * inexact.
 */
const TRIP_MOST_MS = 1000

export interface StoreClock extends Clock {
  /**
   * Sets the clock by `now`, the store's time in an answer. `asked`: the monotonic time at which the request was
   * sent.
   */
  follow(now: string, asked: number): void
  /** Milliseconds by which the clock of the machine is ahead of the store's. */
  skewMs(): number
}

/** Words a difference of clocks, such as "3 min behind". */
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
