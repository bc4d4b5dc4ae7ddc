/**
 * Waiting for a change: by the store's hints, with a look each second besides, because a hint can be lost. One
 * subscription for the whole API.
 */
import type { Clock } from '../runtime/clock.ts'
import type { Hint, Store } from '../store/store.ts'

const LOOK_MS = 1000

export interface Hints {
  /** Resolves at the next hint about the key, after `ms` at most, or when the signal is aborted. Begin before you look. */
  next(key: string, ms: number, signal: AbortSignal): Promise<void>
  /**
   * Looks now, at each hint and each second, until `look` gives a value; undefined once `ms` have passed or the signal
   * was aborted.
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
export const deliveryKey = (delivery_id: string): string => `delivery ${delivery_id}`

function keyOf(hint: Hint): string | null {
  if (hint.topic === 'job') return jobKey(hint.assignment_id)
  return hint.topic === 'delivery' ? deliveryKey(hint.delivery_id) : null
}

export function createHints(store: Pick<Store, 'subscribe'>, clock: Clock): Hints {
  const waiting = new Map<string, Set<() => void>>()
  const unsubscribe = store.subscribe((hint) => {
    const key = keyOf(hint)
    for (const wake of (key === null ? undefined : waiting.get(key)) ?? []) wake()
  })

  function next(key: string, ms: number, signal: AbortSignal): Promise<void> {
    const control = new AbortController()
    const wake = (): void => control.abort()
    const set = waiting.get(key) ?? new Set()
    waiting.set(key, set)
    set.add(wake)
    signal.addEventListener('abort', wake, { once: true })
    if (signal.aborted) wake()
    return clock.sleep(ms, control.signal).finally(() => {
      signal.removeEventListener('abort', wake)
      set.delete(wake)
      if (set.size === 0 && waiting.get(key) === set) waiting.delete(key)
    })
  }

  return {
    next,
    async until(key, look, ms, signal) {
      const end = clock.monotonic() + ms
      for (;;) {
        const left = end - clock.monotonic()
        const round = new AbortController()
        const changed = next(
          key,
          Math.min(LOOK_MS, Math.max(0, left)),
          AbortSignal.any([signal, round.signal]),
        )
        const found = await look().catch((error: unknown) => {
          round.abort()
          throw error
        })
        if (found !== undefined || left <= 0 || signal.aborted) {
          round.abort()
          return found
        }
        await changed
      }
    },
    close: unsubscribe,
  }
}
