/**
 * The loop of both stations: claim what is due, work on up to `concurrency` at a time, claim again when woken, when a
 * slot is free, or after `pollMs`. A lost wake costs latency, never work. When the signal is aborted it claims no
 * more and waits for what is under way.
 */
import type { Clock } from '@assay/model/clock'

export interface LoopOptions<Item> {
  concurrency: number
  /** The longest wait between two claims while idle. */
  pollMs: number
  clock: Clock
  /** Takes at most `limit`; fewer than `limit` means that no more is due now. */
  claim(limit: number): Promise<Item[]>
  work(item: Item): Promise<void>
  /** Calls `wake` when there may be more; returns how to stop. */
  subscribe(wake: () => void): () => void
  /** A failed claim or work: logged by the owner. The loop waits `pollMs` and goes on. */
  onError(error: unknown): void
}

/**
 * A claim that fails may have been made all the same: its answer was lost. Nothing more is claimed until what it took,
 * and nobody knows of, is given back.
 */
export function doubting<Item>(
  claim: (limit: number) => Promise<Item[]>,
  giveBack: () => Promise<unknown>,
): (limit: number) => Promise<Item[]> {
  let inDoubt = false
  return async (limit) => {
    if (inDoubt) await giveBack()
    inDoubt = true
    const items = await claim(limit)
    inDoubt = false
    return items
  }
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
