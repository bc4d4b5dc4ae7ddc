/**
 * How many deliveries a slot of a webhook is given at a time, learned from what became of its runs: a receiver that
 * answers at once gets longer ones (fewer claims and commits for each delivery), one that is slow or fails gets one at a
 * time. So what is claimed and not yet sent is what goes out within a second.
 */

/** Deliveries. */
const RUN_MOST = 128
/**
 * Milliseconds that a run is to take: so many commits a second are few, and what is claimed and not yet sent is little to
 * keep (a claim that is held for longer is moved twice by the collection of garbage).
 */
const AIM_MS = 200
/** A run is so many times as long as the one before at most. */
const GROWTH_MOST = 8
/** Milliseconds after which nothing more of a run is sent: the rest goes back. */
export const RUN_MS = 1000
const WEBHOOKS_MOST = 10_000

export interface RunEnd {
  webhook_id: string
  /** What it was given. */
  length: number
  /** All were delivered, within RUN_MS. */
  whole: boolean
  elapsedMs: number
}

export interface Runs {
  /** For `claimDeliveries`. */
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
      // A run that was shorter than it might have been says nothing of a longer one.
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
