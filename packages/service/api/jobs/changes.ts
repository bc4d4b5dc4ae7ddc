/**
 * Waits for changes of jobs and deliveries by the store's hints. A waiter also looks once a second, because a hint can be
 * lost. The API has one subscription to hints.
 */
import type { Clock } from '@assay/model/clock'
import type { Hint, Store } from '@assay/store/store'

const LOOK_MS = 1000
/** The most seconds that a request may ask to wait. */
export const WAIT_MOST = 60
/** The longest wait in seconds. Common proxies give up after 60. */
export const ANSWERED_BY = 50

export interface Waiting {
  /** Resolves at the next hint, when the time is up, or when the wait is stopped. */
  changed: Promise<void>
  stop(): void
}

export interface Changes {
  /** Waits for a hint about the key for at most `ms` milliseconds. Call it before you read the row. */
  wait(key: string, ms: number, signal: AbortSignal): Waiting
  /**
   * Calls `look` now, at each hint and each second, until it gives a value. Undefined after `ms` milliseconds, or if the
   * signal is aborted.
   */
  until<T>(
    key: string,
    look: () => Promise<T | undefined>,
    ms: number,
    signal: AbortSignal,
  ): Promise<T | undefined>
  close(): void
}

export const jobKey = (assignment_id: string): string => `job ${assignment_id}`
/** Returns the key of all events of a workspace. No hint has this key, so a waiter looks once a second. */
export const eventsKey = (workspace_id: string): string => `events ${workspace_id}`
export const deliveryKey = (delivery_id: string): string => `delivery ${delivery_id}`

function keyOf(hint: Hint): string | null {
  if (hint.topic === 'job') return jobKey(hint.assignment_id)
  return hint.topic === 'delivery' ? deliveryKey(hint.delivery_id) : null
}

export function createChanges(store: Pick<Store, 'subscribe'>, clock: Clock): Changes {
  const waiting = new Map<string, Set<() => void>>()
  const unsubscribe = store.subscribe((hint) => {
    const key = keyOf(hint)
    for (const wake of (key === null ? undefined : waiting.get(key)) ?? []) wake()
  })

  function wait(key: string, ms: number, signal: AbortSignal): Waiting {
    const control = new AbortController()
    const stop = (): void => control.abort()
    const set = waiting.get(key) ?? new Set()
    waiting.set(key, set)
    set.add(stop)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const changed = clock.sleep(ms, control.signal).finally(() => {
      signal.removeEventListener('abort', stop)
      set.delete(stop)
      if (set.size === 0 && waiting.get(key) === set) waiting.delete(key)
    })
    return { changed, stop }
  }

  return {
    wait,
    async until(key, look, ms, signal) {
      const end = clock.monotonic() + ms
      for (;;) {
        const left = Math.max(0, end - clock.monotonic())
        const { changed, stop } = wait(key, Math.min(LOOK_MS, left), signal)
        try {
          const found = await look()
          if (found !== undefined || left === 0 || signal.aborted) return found
          await changed
        } finally {
          stop()
        }
      }
    },
    close: unsubscribe,
  }
}
