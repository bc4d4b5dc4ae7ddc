/** What was made for an insight, kept while there is room: the least recently used goes first. Equal requests at once share one making. */

const MOST_ENTRIES = 64
const MOST_CHARACTERS = 32_000_000

export interface Made<T> {
  value: T
  /** Characters. */
  size: number
  /** Milliseconds for which it may be kept; 0: only for who asks while it is made. */
  keep_ms: number
}

export interface Kept<T> {
  /** Where `make` rejects, everybody who asked meanwhile is told, and nothing is kept. */
  of(key: string, make: () => Promise<Made<T>>): Promise<T>
}

interface Entry<T> {
  value: Promise<T>
  size: number
  /** Of `monotonic`. */
  until: number
}

export function createKept<T>(monotonic: () => number): Kept<T> {
  const kept = new Map<string, Entry<T>>()
  let total = 0

  const drop = (key: string): void => {
    total -= kept.get(key)?.size ?? 0
    kept.delete(key)
  }
  const makeRoom = (): void => {
    for (const oldest of kept.keys()) {
      if (kept.size <= MOST_ENTRIES && total <= MOST_CHARACTERS) return
      drop(oldest)
    }
  }
  const settle = (key: string, entry: Entry<T>, { size, keep_ms }: Made<T>): void => {
    // It may have had to make room meanwhile.
    if (kept.get(key) !== entry) return
    if (keep_ms === 0) {
      drop(key)
      return
    }
    entry.until = monotonic() + keep_ms
    entry.size = size
    total += size
    makeRoom()
  }
  return {
    of(key, make) {
      const known = kept.get(key)
      if (known && known.until > monotonic()) {
        kept.delete(key)
        kept.set(key, known)
        return known.value
      }
      drop(key)
      const made = make()
      const entry: Entry<T> = {
        value: made.then(({ value }) => value),
        size: 0,
        until: Number.POSITIVE_INFINITY,
      }
      kept.set(key, entry)
      made.then(
        (done) => settle(key, entry, done),
        () => kept.get(key) === entry && drop(key),
      )
      makeRoom()
      return entry.value
    },
  }
}
