/**
 * Token buckets by key, in this process: each node counts for itself. A full bucket is as good as none, so the map stays as
 * small as the number of keys that were busy a moment ago.
 */
import type { Clock } from '@assay/model/clock'

import type { Allowance } from '@assay/store/contract/allowances'

export interface Rate {
  burst: number
  perSecond: number
}

export interface Limiter {
  /** At the limiter's rate, or at one of the key's own. */
  take(key: string, rate?: Rate): Allowance
}

const MOST_KEYS = 10_000
/** How many stay of a map that grew too large: a flood of keys looks through all of them once for each that go, not for each request. */
const KEPT_KEYS = 9_000

export function createLimiter(clock: Clock, common: Rate): Limiter {
  const buckets = new Map<string, { tokens: number; at: number; rate: Rate }>()

  const level = (key: string, rate: Rate): number => {
    const bucket = buckets.get(key)
    if (!bucket) return rate.burst
    return Math.min(rate.burst, bucket.tokens + ((clock.monotonic() - bucket.at) / 1000) * rate.perSecond)
  }
  const set = (key: string, tokens: number, rate: Rate): void => {
    buckets.delete(key)
    if (tokens >= rate.burst) return
    buckets.set(key, { tokens, at: clock.monotonic(), rate })
    if (buckets.size <= MOST_KEYS) return
    for (const [old, bucket] of buckets) if (level(old, bucket.rate) >= bucket.rate.burst) buckets.delete(old)
    // Those that were not asked for longest.
    for (const old of buckets.keys()) {
      if (buckets.size <= KEPT_KEYS) break
      buckets.delete(old)
    }
  }

  return {
    take(key, rate = common) {
      const { burst, perSecond } = rate
      const tokens = level(key, rate)
      const allowed = tokens >= 1
      const left = allowed ? tokens - 1 : tokens
      set(key, left, rate)
      const reset = allowed ? (burst - left) / perSecond : (1 - left) / perSecond
      return { allowed, limit: burst, remaining: Math.floor(left), reset: Math.max(1, Math.ceil(reset)) }
    },
  }
}
