/**
 * Writes the outcomes of attempts to the store, many in one commit. Outcomes that the store refuses together are written one
 * by one; a delivery whose own outcome is refused is released and sent again. While the store cannot be reached, outcomes
 * wait in memory, because the claims of a living node never run out.
 */

import type { Clock } from '@assay/model/clock'
import type { AttemptOutcome, ClaimedDelivery, Store } from '@assay/store/store'
import type { Logger } from '../runtime/log.ts'
import { whileStoreIsAway } from '../runtime/store-retry.ts'

/**
 * The most unwritten outcomes for each slot of the dispatcher. Beyond it the store is behind or cannot be reached.
 */
const UNWRITTEN_TIMES = 4
/** The most outcomes in one commit. */
const GROUP_MOST = 500
/** The least and most milliseconds between two groups. The pause is twice as long as the last commit took. */
const GATHER_MS = { least: 5, most: 50 }
/** Milliseconds before a delivery whose outcome was refused is released. */
const REFUSED_WAIT_MS = 5000

export interface RecorderOptions {
  store: Store
  clock: Clock
  log: Logger
  /** The slots of the dispatcher. */
  concurrency: number
}

interface Ended {
  claimed: ClaimedDelivery
  outcome: AttemptOutcome
}

/** Runs the work at a monotonic time, or soon if that time has passed. Returns the function that cancels it. */
function soonest(at: number, work: () => void): () => void {
  const ms = at - performance.now()
  if (ms > 0) {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  }
  const immediate = setImmediate(work)
  return () => clearImmediate(immediate)
}

export class Recorder {
  readonly #options: RecorderOptions
  /** Aborted when the recorder must no longer wait for a store that cannot be reached. */
  readonly #giveUp: AbortSignal
  /** The ids of claimed deliveries whose outcome is not written. */
  readonly #open = new Set<string>()
  readonly #writing = new Set<Promise<void>>()
  #gathered: Ended[] = []
  #flushed = Promise.withResolvers<void>()
  #cancelFlush: (() => void) | null = null
  #flushedAt = Number.NEGATIVE_INFINITY
  #gatherMs = GATHER_MS.least
  #unwritten = 0
  #room = Promise.withResolvers<void>()

  constructor(options: RecorderOptions, giveUp: AbortSignal) {
    this.#options = options
    this.#giveUp = giveUp
  }

  claimed(deliveries: readonly ClaimedDelivery[]): void {
    for (const { delivery_id } of deliveries) this.#open.add(delivery_id)
  }

  openIds(): string[] {
    return [...this.#open]
  }

  record(claimed: ClaimedDelivery, outcome: AttemptOutcome): void {
    this.#gathered.push({ claimed, outcome })
    this.#cancelFlush ??= soonest(this.#flushedAt + this.#gatherMs, () => this.#flush())
  }

  /**
   * Releases deliveries as if they had not been claimed. `held`: the reason why the rules of the workspace hold them
   * back.
   */
  release(deliveries: readonly ClaimedDelivery[], held?: string): void {
    this.#watch(this.#release(deliveries, held), deliveries)
  }

  /** Resolves once every recorded outcome is with the store, so that the next claim goes into the same commit. */
  given(): Promise<void> {
    return this.#gathered.length === 0 ? Promise.resolve() : this.#flushed.promise
  }

  hasRoom(): boolean {
    return this.#unwritten < UNWRITTEN_TIMES * this.#options.concurrency
  }

  /** Resolves when there may be room again. */
  room(): Promise<void> {
    return this.#room.promise
  }

  async end(): Promise<void> {
    this.#flush()
    await Promise.all(this.#writing)
  }

  #flush(): void {
    this.#cancelFlush?.()
    this.#cancelFlush = null
    this.#flushedAt = performance.now()
    const all = this.#gathered
    this.#gathered = []
    for (let from = 0; from < all.length; from += GROUP_MOST) {
      const group = all.slice(from, from + GROUP_MOST)
      this.#watch(
        this.#writeGroup(group),
        group.map(({ claimed }) => claimed),
      )
    }
    this.#flushed.resolve()
    this.#flushed = Promise.withResolvers()
  }

  #watch(written: Promise<unknown>, deliveries: readonly ClaimedDelivery[]): void {
    this.#unwritten += deliveries.length
    const watched: Promise<void> = written
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'a delivery could not be settled'))
      .then(() => {
        for (const { delivery_id } of deliveries) this.#open.delete(delivery_id)
        this.#unwritten -= deliveries.length
        this.#writing.delete(watched)
        this.#room.resolve()
        this.#room = Promise.withResolvers()
      })
    this.#writing.add(watched)
  }

  #retrying<T>(write: () => Promise<T>): Promise<T> {
    return whileStoreIsAway(write, { clock: this.#options.clock, giveUp: this.#giveUp })
  }

  async #writeGroup(group: readonly Ended[]): Promise<void> {
    const { store } = this.#options
    const began = performance.now()
    try {
      await this.#retrying(() => store.recordAttempts(group.map(({ outcome }) => outcome)))
      const tookMs = performance.now() - began
      this.#gatherMs = Math.min(Math.max(2 * tookMs, GATHER_MS.least), GATHER_MS.most)
    } catch {
      await Promise.all(group.map((ended) => this.#writeOne(ended)))
    }
  }

  /** Writes one outcome. If the store refuses it, which is a fault of this program, the delivery is released after a pause. */
  async #writeOne({ claimed, outcome }: Ended): Promise<void> {
    const { store, log, clock } = this.#options
    try {
      await this.#retrying(() => store.recordAttempt(outcome))
    } catch (error) {
      const { delivery_id } = claimed
      log.error({ delivery_id, err: error }, 'an attempt could not be recorded, it will be repeated')
      await clock.sleep(REFUSED_WAIT_MS, this.#giveUp)
      await this.#release([claimed])
    }
  }

  #release(deliveries: readonly ClaimedDelivery[], held?: string): Promise<void> {
    const claims = deliveries.map(({ delivery_id, attempt, node_id }) => ({
      delivery_id,
      attempt,
      node_id,
      held,
    }))
    return this.#retrying(() => this.#options.store.releaseDeliveries(claims))
  }
}
