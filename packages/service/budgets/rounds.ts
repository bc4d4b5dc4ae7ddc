/**
 * Rounds of writing and reading, one after the other. All requests that arrive during a round share the next one, so
 * that many counts and questions cost one transaction.
 */
import type { Clock } from '@assay/model/clock'

const SOON_MS = 1000

export class Rounds {
  readonly #clock: Clock
  readonly #round: (wanted: string[]) => Promise<void>
  #wanted = new Set<string>()
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | null = null
  #timer: Promise<void> | null = null
  readonly #closing = new AbortController()

  /** `round` does one round for the requested workspaces. It rejects if the store cannot be reached. */
  constructor(clock: Clock, round: (wanted: string[]) => Promise<void>) {
    this.#clock = clock
    this.#round = round
  }

  /** Requests a workspace in a round that begins after this call. Settles with that round. */
  ask(workspace_id?: string): Promise<void> {
    if (workspace_id !== undefined) this.#wanted.add(workspace_id)
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = null
        const wanted = [...this.#wanted]
        this.#wanted = new Set()
        this.#running = this.#round(wanted)
        return this.#running
      })
    return this.#next
  }

  /** Starts a round within a second, to write new counts. */
  soon(): void {
    this.#timer ??= this.#askLater()
  }

  async #askLater(): Promise<void> {
    await this.#clock.sleep(SOON_MS, this.#closing.signal)
    this.#timer = null
    if (!this.#closing.signal.aborted) await this.ask().catch(() => undefined)
  }

  /** Runs a last round for the remaining counts. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#timer
    await this.ask()
  }
}
