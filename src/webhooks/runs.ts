/**
 * How many deliveries a place of a webhook is given at a time, learned from what became of its runs: a receiver that
 * answers at once gets longer ones (fewer claims and commits for each delivery), one that is slow or fails gets one at a
 * time. So what is claimed and not yet sent is what goes out within a second.
 */

/** Deliveries. */
const RUN_MOST = 128
/** Milliseconds: a run that ends within these may be longer the next time, one that takes longer may not. */
const QUICK_MS = 200
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
      const quick = whole && elapsedMs <= QUICK_MS
      // A run that was shorter than it might have been says nothing of a longer one.
      const next = quick
        ? length >= present
          ? Math.min(present * 2, RUN_MOST)
          : present
        : whole
          ? present >> 1
          : 1
      if (next <= 1) lengths.delete(webhook_id)
      else {
        if (lengths.size >= WEBHOOKS_MOST && !lengths.has(webhook_id)) lengths.clear()
        lengths.set(webhook_id, next)
      }
    },
  }
}
