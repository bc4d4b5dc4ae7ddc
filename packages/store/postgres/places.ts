/**
 * Who is given one of the few connections, and when. Each waits for its turn for as long as the work goes on: refused at
 * once is who could not have it within `PATIENCE_MS`, and later only who waits while nothing at all is answered. Reads
 * and writes wait apart, and neither can take the last places of the other: a thousand creations hold no status up.
 */

import { type Clock, systemClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'

export type Lane = 'read' | 'write'

export interface Places {
  /** Resolves with what gives the place back: `answered` is false where the database was not heard. */
  take(lane: Lane): Promise<(answered: boolean) => void>
  waiting(): number
}

/** Behind whom this lies, a client had better come again. */
export const PATIENCE_MS = 20_000
/** A database that has answered nobody for so long is not waited for. */
export const STALLED_MS = 5000
/** Of each lane, for the other. */
const KEPT = 2
/** How much the newest answer counts in the mean. */
const NEWEST = 0.05

interface Waiting {
  since: number
  resolve(giveBack: (answered: boolean) => void): void
  reject(error: AppError): void
}

interface Queue {
  taken: number
  /** Milliseconds that a place is held for, as of late. */
  heldMs: number
  waiting: Waiting[]
}

function full(waitMs: number): AppError {
  return new AppError(
    'store_unavailable',
    `More is asked of the database than it answers in ${PATIENCE_MS / 1000} s: come again later.`,
    { retryAfter: Math.max(1, Math.ceil((waitMs - PATIENCE_MS) / 1000)) },
  )
}

function stalled(): AppError {
  return new AppError('store_unavailable', `The database has answered nothing for ${STALLED_MS / 1000} s.`, {
    retryAfter: 5,
  })
}

export function createPlaces(size: number, clock: Clock = systemClock): Places {
  const most = Math.max(1, size - KEPT)
  const queues: Record<Lane, Queue> = {
    read: { taken: 0, heldMs: 0, waiting: [] },
    write: { taken: 0, heldMs: 0, waiting: [] },
  }
  let answeredAt = Number.NEGATIVE_INFINITY
  let watching = false

  const isFree = ({ taken }: Queue): boolean => taken < most && queues.read.taken + queues.write.taken < size

  function give(queue: Queue, { resolve }: Waiting): void {
    const begun = clock.monotonic()
    queue.taken += 1
    resolve((answered) => {
      queue.taken -= 1
      if (answered) {
        answeredAt = clock.monotonic()
        queue.heldMs += (answeredAt - begun - queue.heldMs) * NEWEST
      }
      next()
    })
  }

  /** To the lane that holds fewer. */
  function next(): void {
    for (;;) {
      const [queue] = Object.values(queues)
        .filter((one) => one.waiting.length > 0 && isFree(one))
        .toSorted((a, b) => a.taken - b.taken)
      if (!queue) return
      give(queue, queue.waiting.shift()!)
    }
  }

  async function watch(): Promise<void> {
    if (watching) return
    watching = true
    while (queues.read.waiting.length + queues.write.waiting.length > 0) {
      await clock.sleep(STALLED_MS / 5)
      const since = clock.monotonic() - STALLED_MS
      if (answeredAt > since) continue
      for (const queue of Object.values(queues)) {
        const late = queue.waiting.filter((one) => one.since <= since)
        queue.waiting = queue.waiting.filter((one) => one.since > since)
        for (const { reject } of late) reject(stalled())
      }
    }
    watching = false
  }

  return {
    waiting: () => queues.read.waiting.length + queues.write.waiting.length,
    take(lane) {
      const queue = queues[lane]
      return new Promise((resolve, reject) => {
        const asked: Waiting = { since: clock.monotonic(), resolve, reject }
        if (queue.waiting.length === 0 && isFree(queue)) return give(queue, asked)
        const waitMs = (queue.waiting.length * queue.heldMs) / most
        if (waitMs > PATIENCE_MS) return reject(full(waitMs))
        queue.waiting.push(asked)
        void watch()
      })
    },
  }
}
