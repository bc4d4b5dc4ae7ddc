/**
 * Attempts on their way into the store. Their outcomes are gathered for some milliseconds and given together; what the store
 * will not take together is told one by one, and what it will not take at all is given back. While the store is away each
 * waits with its outcome in hand.
 */

import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import type { AttemptOutcome, ClaimedDelivery, Store } from '@assay/store/store'
import type { Logger } from '../runtime/log.ts'

/** Outcomes that are not yet written, for each place: more of them mean that the store is away or behind. */
const SETTLING_TIMES = 4
/** Outcomes that are given to the store as one. */
const TOGETHER_MOST = 500
/** Milliseconds in which outcomes are gathered for one commit: twice as long as the last took to be written, within these. */
const GATHER_MS_LEAST = 5
const GATHER_MS_MOST = 50
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5000

interface Work {
  store: Store
  clock: Clock
  log: Logger
  /** Places. */
  concurrency: number
}

export function isStoreAway(error: unknown): boolean {
  return error instanceof AppError && error.code === 'store_unavailable'
}

/**
 * Writes until the store has it or we must go: a claim of a living node never runs out, so an outcome must not be
 * dropped while we live.
 */
async function persist(work: Work, write: () => Promise<unknown>, giveUp: AbortSignal): Promise<void> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      await write()
      return
    } catch (error) {
      if (!isStoreAway(error) || giveUp.aborted) throw error
    }
    await work.clock.sleep(wait, giveUp)
  }
}

function release(work: Work, claims: readonly ClaimedDelivery[], giveUp: AbortSignal): Promise<void> {
  const given = claims.map(({ delivery_id, attempt, node_id }) => ({ delivery_id, attempt, node_id }))
  return persist(work, () => work.store.releaseDeliveries(given), giveUp)
}

interface Settled {
  claimed: ClaimedDelivery
  outcome: AttemptOutcome
}

/** Where the store does not take them together, each is told alone, so that one harms no other. */
async function keepAll(work: Work, group: readonly Settled[], giveUp: AbortSignal): Promise<void> {
  const outcomes = group.map(({ outcome }) => outcome)
  try {
    await persist(work, () => work.store.recordAttempts(outcomes), giveUp)
  } catch {
    await Promise.all(group.map(({ claimed, outcome }) => keep(work, claimed, outcome, giveUp)))
  }
}

/** An outcome that the store will not take is a fault of ours: the delivery goes back, slowly, so that it is not lost. */
async function keep(
  work: Work,
  claimed: ClaimedDelivery,
  outcome: AttemptOutcome,
  giveUp: AbortSignal,
): Promise<void> {
  try {
    await persist(work, () => work.store.recordAttempt(outcome), giveUp)
  } catch (error) {
    const { delivery_id } = claimed
    work.log.error({ delivery_id, err: error }, 'an attempt could not be recorded, it will be repeated')
    await work.clock.sleep(LONGEST_WAIT_MS, giveUp)
    await release(work, [claimed], giveUp)
  }
}

/** When what is gathered is given to the store. */
function createGathering(give: () => Promise<unknown> | undefined) {
  let cancel: (() => void) | null = null
  let lastAt = Number.NEGATIVE_INFINITY
  let gatherMs = GATHER_MS_LEAST

  function flush(): void {
    cancel?.()
    cancel = null
    const begun = performance.now()
    lastAt = begun
    const learn = (): void => {
      const tookMs = performance.now() - begun
      gatherMs = Math.min(Math.max(2 * tookMs, GATHER_MS_LEAST), GATHER_MS_MOST)
    }
    give()?.then(learn, learn)
  }

  return {
    flush,
    /** There is something to give. */
    within(): void {
      cancel ??= after(lastAt + gatherMs - performance.now(), flush)
    },
    /** With what else this turn of the event loop brings. */
    soon(): void {
      cancel?.()
      cancel = after(0, flush)
    },
  }
}

function after(ms: number, work: () => void): () => void {
  if (ms > 0) {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  }
  const immediate = setImmediate(work)
  return () => clearImmediate(immediate)
}

/** Claimed, and not yet written. */
function createKnown() {
  const ids = new Set<string>()
  return {
    add(claims: readonly ClaimedDelivery[]): void {
      for (const { delivery_id } of claims) ids.add(delivery_id)
    },
    remove(claims: readonly ClaimedDelivery[]): void {
      for (const { delivery_id } of claims) ids.delete(delivery_id)
    },
    ids: () => [...ids],
  }
}

/** What was given to the store and is not yet written, or lost. */
function createUnwritten({ log, concurrency }: Work, known: ReturnType<typeof createKnown>) {
  const writing = new Set<Promise<void>>()
  const most = SETTLING_TIMES * concurrency
  let count = 0
  let [full, wake] = [false, (): void => undefined]
  const waiting: (() => void)[] = []
  return {
    watch(written: Promise<void>, claims: readonly ClaimedDelivery[]): void {
      count += claims.length
      const watched: Promise<void> = written
        .catch((error: unknown) => log.error({ err: error }, 'a delivery could not be settled'))
        .finally(() => {
          known.remove(claims)
          count -= claims.length
          writing.delete(watched)
          if (full) wake()
          if (count < most) for (const goOn of waiting.splice(0)) goOn()
        })
      writing.add(watched)
    },
    hasRoom(): boolean {
      full = count >= most
      return !full
    },
    onRoom(callback: () => void): void {
      wake = callback
    },
    /** Calls back once, when there is room. */
    onceRoom(callback: () => void): void {
      waiting.push(callback)
    },
    async end(): Promise<void> {
      await Promise.all(writing)
    },
  }
}

/**
 * Outcomes are gathered for some milliseconds (longer where the disk is slow: an fsync costs the same for many) and given
 * to the store together: one commit for all of them, and for the claim of the places that they free. A place is free when
 * its outcomes have been given, not when they are written: so the next claim goes into the same commit. Once a quarter of
 * the places wait for that, nothing more is gathered. While too many outcomes are not yet written nothing is sent or
 * claimed: runs under way wait for room (`onceRoom`), and the claims are told of it (`onRoom`).
 */
export function createSettling(work: Work, giveUp: AbortSignal) {
  const known = createKnown()
  const unwritten = createUnwritten(work, known)
  let gathered: Settled[] = []
  let given = Promise.withResolvers<void>()
  let [places, ended] = [0, 0]
  const gathering = createGathering(() => {
    let first: Promise<void> | undefined
    for (; gathered.length > 0; gathered = gathered.slice(TOGETHER_MOST)) {
      const group = gathered.slice(0, TOGETHER_MOST)
      const written = keepAll(work, group, giveUp)
      const claims = group.map(({ claimed }) => claimed)
      unwritten.watch(written, claims)
      first ??= written
    }
    given.resolve()
    given = Promise.withResolvers()
    return first
  })

  return {
    record(claimed: ClaimedDelivery, outcome: AttemptOutcome): void {
      gathered.push({ claimed, outcome })
      gathering.within()
    },
    release(claims: readonly ClaimedDelivery[]): void {
      unwritten.watch(release(work, claims, giveUp), claims)
    },
    known,
    /** Runs one place; resolves once its outcomes are given to the store. */
    async place<T>(run: () => Promise<T>): Promise<T> {
      places += 1
      try {
        return await run()
      } finally {
        ended += 1
        if (ended * 4 >= places) gathering.soon()
        if (gathered.length > 0) await given.promise
        ended -= 1
        places -= 1
      }
    },
    hasRoom: unwritten.hasRoom,
    onRoom: unwritten.onRoom,
    onceRoom: unwritten.onceRoom,
    async end(): Promise<void> {
      gathering.flush()
      await unwritten.end()
    },
  }
}

export type Settling = ReturnType<typeof createSettling>
