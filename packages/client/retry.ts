/** Decides whether a repeat may help, and how long a request waits before it. */

/** The statuses of passing failures: too slow, too many requests, and a service or a proxy that is away for a while. */
const PASSING: readonly number[] = [408, 429, 502, 503, 504]
const FIRST_WAIT_MS = 400
const LONGEST_WAIT_MS = 10_000
/** The longest wait in milliseconds that a service may ask for. If it asks for more, the call throws at once. */
const LONGEST_ASKED_MS = 60_000

export const passes = (status: number, code: string): boolean =>
  PASSING.includes(status) || code === 'idempotency_in_progress'

/**
 * Returns the milliseconds that a `Retry-After` asks for (RFC 9110, section 10.2.3): seconds, or a date. A date is
 * counted from the answer's own `Date`, because the clock of this machine may be wrong. Returns null if the header
 * says neither.
 */
export function askedWait(headers: Headers): number | null {
  const text = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const until = Date.parse(text)
  if (Number.isNaN(until)) return null
  const answered = Date.parse(headers.get('date') ?? '')
  return Math.max(0, until - (Number.isNaN(answered) ? Date.now() : answered))
}

/**
 * Returns the milliseconds before repeat number `retry` (from 0): what the service asks for, and a random time
 * between 0 and a bound that doubles ("full jitter": Brooker, Exponential Backoff and Jitter, AWS Architecture Blog,
 * 2015). Returns null if the service asks for too long.
 */
export function waitBefore(retry: number, asked: number | null): number | null {
  if (asked !== null && asked > LONGEST_ASKED_MS) return null
  return (asked ?? 0) + Math.random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** retry)
}

/** Waits `ms` milliseconds. Rejects with the signal's reason once it is aborted. */
export function pause(signal: AbortSignal | undefined, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal!.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
