/**
 * Token buckets by key, in this process: each node counts for itself. A full bucket is as good as none, so the map stays as
 * small as the number of keys that were busy a moment ago.
 */
import type { Clock } from '../runtime/clock.ts'

export interface Allowance {
  allowed: boolean
  limit: number
  remaining: number
  /** Seconds until one more is allowed (when refused), else until the bucket is full. */
  reset: number
}

export interface Limiter {
  take(key: string): Allowance
  /** Gives back what was taken: it did not count after all. */
  giveBack(key: string): void
}

const MOST_KEYS = 10_000

export function createLimiter(
  clock: Clock,
  { burst, perSecond }: { burst: number; perSecond: number },
): Limiter {
  const buckets = new Map<string, { tokens: number; at: number }>()

  const level = (key: string): number => {
    const bucket = buckets.get(key)
    if (!bucket) return burst
    return Math.min(burst, bucket.tokens + ((clock.monotonic() - bucket.at) / 1000) * perSecond)
  }
  const set = (key: string, tokens: number): void => {
    buckets.delete(key)
    if (tokens >= burst) return
    buckets.set(key, { tokens, at: clock.monotonic() })
    if (buckets.size <= MOST_KEYS) return
    for (const old of buckets.keys()) {
      if (buckets.size <= MOST_KEYS / 2) break
      if (level(old) >= burst || buckets.size > MOST_KEYS) buckets.delete(old)
    }
  }

  return {
    take(key) {
      const tokens = level(key)
      const allowed = tokens >= 1
      const left = allowed ? tokens - 1 : tokens
      set(key, left)
      const reset = allowed ? (burst - left) / perSecond : (1 - left) / perSecond
      return { allowed, limit: burst, remaining: Math.floor(left), reset: Math.max(1, Math.ceil(reset)) }
    },
    giveBack(key) {
      set(key, level(key) + 1)
    },
  }
}
