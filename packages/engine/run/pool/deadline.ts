/**
 * The deadline of one task. It passes after some time by the clock, unless the process has had less processor time
 * and wants more. The task then continues until it has had that time, at most until a second, later limit.
 */
import type { Clock } from '@assay/model/clock'

/** An explicit reason of aborts. Without one V8 captures a stack trace for each abort. */
const OVER = 'over'

interface Watched {
  clock: Clock
  /** Returns the milliseconds of processor time of the process so far; null if unknown. */
  usedMs(): number | null
  /** Tells whether the process works or waits for the processor, and for nothing else. */
  wants(): boolean
  /** Called once when the deadline passes, with its milliseconds. */
  onLate(timeout_ms: number): void
}

/** Counts from its creation. It has no limit until `set` is called. */
export class Deadline {
  readonly #watched: Watched
  readonly #began: number
  readonly #usedBefore: number | null
  #ends: number
  #waiting = new AbortController()

  constructor(watched: Watched) {
    this.#watched = watched
    this.#began = watched.clock.monotonic()
    this.#usedBefore = watched.usedMs()
    this.#ends = this.#began
  }

  /** Replaces the limit. `starvedMs` is the limit by the clock for a process that is kept from working. */
  set(timeoutMs: number, starvedMs = timeoutMs): void {
    const { clock, onLate } = this.#watched
    this.clear()
    const { signal } = (this.#waiting = new AbortController())
    const ends = this.#began + starvedMs
    this.#ends = ends
    const wait = async (until: number): Promise<void> => {
      await clock.sleep(Math.max(0, until - clock.monotonic()), signal)
      if (signal.aborted) return
      const now = clock.monotonic()
      const more = Math.min(this.#wanting(timeoutMs), ends - now)
      if (more > 0) return wait(now + more)
      onLate(timeoutMs)
    }
    void wait(this.#began + timeoutMs)
  }

  /** Returns the milliseconds by the clock until the last limit. */
  left(): number {
    return Math.max(0, this.#ends - this.#watched.clock.monotonic())
  }

  /** Ends the wait, so that the deadline does not pass any more. */
  clear(): void {
    this.#waiting.abort(OVER)
  }

  /**
   * Returns the milliseconds of processor time that the task still lacks of `timeoutMs`; 0 if it waits for something
   * else.
   */
  #wanting(timeoutMs: number): number {
    const used = this.#watched.usedMs()
    if (used === null || this.#usedBefore === null || !this.#watched.wants()) return 0
    return timeoutMs - (used - this.#usedBefore)
  }
}
