/**
 * Decides how many deliveries a slot of a webhook gets at a time, from the results of its runs. A receiver that answers
 * at once gets longer runs, with fewer claims and commits for each delivery. A slow or failing receiver gets one
 * delivery at a time. So claimed deliveries are sent within about a second.
 */

/** The most deliveries of one run. */
const RUN_MOST = 128
/**
 * The target time of a run in milliseconds. It needs few commits a second, and few claimed deliveries wait in memory
 * (the garbage collector moves longer-lived claims twice).
 */
const AIM_MS = 200
/** The most times by which a run is longer than the one before. */
const GROWTH_MOST = 8
/** Milliseconds after which the rest of a run is released unsent. */
export const RUN_MS = 1000
const WEBHOOKS_MOST = 10_000

export interface RunEnd {
  webhook_id: string
  /** The number of deliveries that the run was given. */
  length: number
  /** True if all deliveries succeeded within RUN_MS. */
  whole: boolean
  elapsedMs: number
}

export interface Runs {
  /** The lengths of the next runs, for `claimDeliveries`. */
  lengths: ReadonlyMap<string, number>
  ended(run: RunEnd): void
}

export function createRuns(): Runs {
  const lengths = new Map<string, number>()
  return {
    lengths,
    ended({ webhook_id, length, whole, elapsedMs }) {
      const present = lengths.get(webhook_id) ?? 1
      const fits = Math.floor((length * AIM_MS) / Math.max(elapsedMs, 1))
      // A run that was shorter than allowed says nothing about a longer one.
      const untold = length < present && elapsedMs <= AIM_MS
      const longer = untold ? present : Math.min(fits, present * GROWTH_MOST, RUN_MOST)
      const next = whole ? longer : 1
      if (next <= 1) lengths.delete(webhook_id)
      else {
        if (lengths.size >= WEBHOOKS_MOST && !lengths.has(webhook_id)) lengths.clear()
        lengths.set(webhook_id, next)
      }
    },
  }
}
