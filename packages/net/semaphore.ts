/** A semaphore with permits by key. Callers without a permit wait in the order of their calls. */

/** Returns the permit. A second call does nothing. */
export type Release = () => void

interface Permits {
  held: number
  waiting: (() => void)[]
}

export class KeyedSemaphore {
  readonly #byKey = new Map<string, Permits>()

  /** Waits for one of the key's `most` permits. Returns null if `signal` was aborted before one was free. */
  async acquire(key: string, most: number, signal?: AbortSignal): Promise<Release | null> {
    const permits = this.#of(key)
    if (permits.held < most) permits.held += 1
    else if (!(await passedOn(permits, signal))) return null
    let isReleased = false
    return () => {
      if (!isReleased) this.#release(key, permits)
      isReleased = true
    }
  }

  /** Runs the work with a permit of the key. If one is free, the work begins within this call. */
  async run<T>(key: string, most: number, work: () => Promise<T>): Promise<T> {
    const permits = this.#of(key)
    if (permits.held < most) permits.held += 1
    else await passedOn(permits)
    try {
      return await work()
    } finally {
      this.#release(key, permits)
    }
  }

  #of(key: string): Permits {
    const permits = this.#byKey.get(key) ?? { held: 0, waiting: [] }
    this.#byKey.set(key, permits)
    return permits
  }

  /** Releases a permit, or passes it on to the next caller, which then holds it. */
  #release(key: string, permits: Permits): void {
    const next = permits.waiting.shift()
    if (next) return next()
    permits.held -= 1
    if (permits.held === 0) this.#byKey.delete(key)
  }
}

/** Waits for the permit of a holder that ends. Returns false if the signal was aborted first. */
function passedOn(permits: Permits, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const take = (): void => {
      signal?.removeEventListener('abort', giveUp)
      resolve(true)
    }
    const giveUp = (): void => {
      permits.waiting = permits.waiting.filter((other) => other !== take)
      resolve(false)
    }
    permits.waiting.push(take)
    signal?.addEventListener('abort', giveUp, { once: true })
    if (signal?.aborted) giveUp()
  })
}
