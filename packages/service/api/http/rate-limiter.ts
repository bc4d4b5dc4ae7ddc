/** Token buckets by key, in this process: each node counts for itself. */
import type { Clock } from '@assay/model/clock'
import type { Allowance } from '@assay/store/contract/allowances'
import { LRUCache } from 'lru-cache'

export interface Rate {
  burst: number
  perSecond: number
}

export interface RateLimiter {
  /** Takes one token of the key's bucket. `rate` replaces the limiter's rate for this key. */
  take(key: string, rate?: Rate): Allowance
}

/** The most keys with a bucket. The key that was used longest ago is dropped first. */
const MOST_KEYS = 10_000

export function createRateLimiter(clock: Clock, common: Rate): RateLimiter {
  const buckets = new LRUCache<string, { tokens: number; at: number }>({ max: MOST_KEYS })
  return {
    take(key, rate = common) {
      const { burst, perSecond } = rate
      const now = clock.monotonic()
      const bucket = buckets.get(key) ?? { tokens: burst, at: now }
      const tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond)
      const allowed = tokens >= 1
      const left = allowed ? tokens - 1 : tokens
      buckets.set(key, { tokens: left, at: now })
      const reset = allowed ? (burst - left) / perSecond : (1 - left) / perSecond
      return { allowed, limit: burst, remaining: Math.floor(left), reset: Math.max(1, Math.ceil(reset)) }
    },
  }
}
