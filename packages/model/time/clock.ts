/** A clock: time as a parameter, so that tests can set it. `now` is wall time, `monotonic` never goes back; milliseconds. */

export interface Clock {
  now(): number
  monotonic(): number
  /** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep(ms, signal) {
    if (signal?.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal?.addEventListener('abort', end)
    })
  },
}

/** A clock that stands still until `advance` moves it. It then wakes the sleepers in the order in which they are due. */
export class FakeClock implements Clock {
  #now: number
  #elapsed = 0
  readonly #sleepers = new Set<{ until: number; wake: () => void }>()

  constructor(start = Date.parse('2026-01-01T00:00:00.000Z')) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#elapsed
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const sleeper = { until: this.#elapsed + ms, wake: resolve }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', () => {
        this.#sleepers.delete(sleeper)
        resolve()
      })
    })
  }

  advance(ms: number): void {
    this.#now += ms
    this.#elapsed += ms
    const due = [...this.#sleepers].filter((sleeper) => sleeper.until <= this.#elapsed)
    for (const sleeper of due.toSorted((a, b) => a.until - b.until)) {
      this.#sleepers.delete(sleeper)
      sleeper.wake()
    }
  }

  /** The number of sleepers. Tests wait for it before they advance the clock. */
  get sleeping(): number {
    return this.#sleepers.size
  }
}

let last = Number.NaN
let lastText = ''

/**
 * Returns the time as RFC 3339 UTC with milliseconds. The last text is kept, because a busy service asks for the same
 * millisecond many times.
 */
export function iso(ms: number): string {
  if (ms === last) return lastText
  lastText = new Date(ms).toISOString()
  last = ms
  return lastText
}
