/**
 * A cache of what is made for an insight. Requests for the same key at the same time share one call of `make`. Requests
 * with `apart` share a call of their own, because it can be refused for other reasons. The result of either serves
 * both.
 */
import { LRUCache } from 'lru-cache'

const MOST_ENTRIES = 64
const MOST_CHARACTERS = 32_000_000

export interface Made<T> {
  value: T
  /** The size of the value in characters. */
  size: number
  /**
   * Milliseconds for which the value may be cached. 0 shares it only among those that wait now; Infinity keeps it
   * while there is room.
   */
  keep_ms: number
}

export interface SharedCache<T> {
  /** Returns the cached value of the key; undefined if there is none. */
  get(key: string): T | undefined
  /** Returns the call of `make` that is under way for the key; undefined if there is none. */
  coming(key: string, apart?: boolean): Promise<T> | undefined
  /** The cached value, or what `make` resolves. Rejects for every caller that waits if `make` rejects. */
  of(key: string, make: () => Promise<Made<T>>, apart?: boolean): Promise<T>
}

/** `monotonic`: milliseconds that only rise. */
export function createSharedCache<T>(monotonic: () => number): SharedCache<T> {
  const kept = new LRUCache<string, Made<T>, () => Promise<Made<T>>>({
    max: MOST_ENTRIES,
    maxSize: MOST_CHARACTERS,
    sizeCalculation: ({ size }) => Math.max(1, size),
    // The library treats a time of 0 as no time, so the clock begins at 1.
    perf: { now: () => monotonic() + 1 },
    ttlResolution: 0,
    ttl: 1,
    ignoreFetchAbort: true,
    async fetchMethod(_key, _stale, { context: make, options }) {
      const made = await make()
      // The library keeps a value until more than its time has passed, and keeps it for ever with a time of 0.
      options.ttl = Number.isFinite(made.keep_ms) ? Math.max(1, made.keep_ms - 1) : 0
      return made
    },
  })
  const apartOf = (key: string): string => `apart ${key}`
  const get = (key: string): Made<T> | undefined => kept.get(key) ?? kept.get(apartOf(key))
  const coming = new Map<string, Promise<T>>()
  const ownOf = (key: string, apart: boolean): string => (apart ? apartOf(key) : key)

  async function begin(own: string, make: () => Promise<Made<T>>): Promise<T> {
    try {
      const { value, keep_ms } = (await kept.fetch(own, { context: make }))!
      if (keep_ms === 0) kept.delete(own)
      return value
    } finally {
      coming.delete(own)
    }
  }

  return {
    get: (key) => get(key)?.value,
    coming: (key, apart = false) => coming.get(ownOf(key, apart)),
    async of(key, make, apart = false) {
      const known = get(key)
      if (known) return known.value
      const own = ownOf(key, apart)
      const made = coming.get(own) ?? begin(own, make)
      coming.set(own, made)
      return made
    },
  }
}
