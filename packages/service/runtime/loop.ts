/**
 * The loop of the worker, the scheduler and the dispatcher. It claims due items, works on up to `concurrency` at a time, and
 * claims again when woken, when a slot is free, or after `pollMs`. A lost wake costs latency, never work. After an abort it
 * claims no more and waits for the work under way.
 */
import type { Clock } from '@assay/model/clock'

export interface LoopOptions<Item> {
  concurrency: number
  /** The longest wait in milliseconds between two claims while idle. */
  pollMs: number
  clock: Clock
  /** Claims at most `limit` items. Fewer mean that no more are due now. */
  claim(limit: number): Promise<Item[]>
  work(item: Item): Promise<void>
  /** Calls `wake` when there may be more items. Returns the function that ends it. */
  subscribe(wake: () => void): () => void
  /** Called with the error of a claim or of work. The loop waits `pollMs` and continues. */
  onError(error: unknown): void
}

/** A claim that first gives back what is in doubt. */
export interface DoubtingClaim<Item> {
  (limit: number): Promise<Item[]>
  /** Makes the next call give back the items that the store holds for this node and the node does not know. */
  doubt(): void
}

/**
 * Makes a claim that releases unknown items first. A claim that fails may have succeeded although its answer was lost, so the
 * next call gives those items back before it claims.
 */
export function doubting<Item>(
  claim: (limit: number) => Promise<Item[]>,
  giveBack: () => Promise<unknown>,
): DoubtingClaim<Item> {
  let doubts = 0
  const claimSafely = async (limit: number): Promise<Item[]> => {
    if (doubts > 0) {
      const known = doubts
      await giveBack()
      doubts -= known
    }
    doubts += 1
    const items = await claim(limit)
    doubts -= 1
    return items
  }
  return Object.assign(claimSafely, {
    doubt: () => {
      doubts += 1
    },
  })
}

export async function runLoop<Item>(options: LoopOptions<Item>, signal: AbortSignal): Promise<void> {
  const underWay = new Set<Promise<void>>()
  let woken = true
  let wakeUp: () => void = () => undefined
  const wake = (): void => {
    woken = true
    wakeUp()
  }
  const unsubscribe = options.subscribe(wake)
  signal.addEventListener('abort', wake, { once: true })
  const start = (item: Item): void => {
    const task: Promise<void> = options
      .work(item)
      .catch(options.onError)
      .finally(() => {
        underWay.delete(task)
        wake()
      })
    underWay.add(task)
  }
  while (!signal.aborted) {
    const free = options.concurrency - underWay.size
    woken = false
    if (free > 0) {
      try {
        const items = await options.claim(free)
        for (const item of items) start(item)
        if (items.length === free) woken = woken || underWay.size < options.concurrency
      } catch (error) {
        options.onError(error)
        await options.clock.sleep(options.pollMs, signal)
        continue
      }
    }
    if (woken || signal.aborted) continue
    const stopSleep = new AbortController()
    await new Promise<void>((resolve) => {
      wakeUp = resolve
      void options.clock.sleep(options.pollMs, stopSleep.signal).then(resolve)
    })
    stopSleep.abort()
    wakeUp = () => undefined
  }
  unsubscribe()
  await Promise.all(underWay)
}
