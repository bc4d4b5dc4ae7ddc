/**
 * Outcomes of one process go to the database in groups, and with them claims and what is given back: what comes in one turn of
 * the event loop, and what comes while a group is being written, is one transaction. (One by one, outcomes wait for each
 * other on their webhook's row: measured, 280 a second. And a claim beside them would pass over the webhooks that are being
 * settled.) In each group the outcomes come first, so that a claim finds what they have freed. Where a group cannot be written,
 * each is tried alone, so that one harms no other.
 */
import { AppError } from '@assay/model/errors'
import type { AttemptOutcome } from '../store.ts'
import type { Transaction } from './connection.ts'

const GROUP_MOST = 500

type Write = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>

interface Entry {
  work: { outcomes: AttemptOutcome[] } | { follow: (tx: Transaction) => Promise<unknown> }
  resolve(value: unknown): void
  reject(error: unknown): void
}

export interface Settling {
  record(outcomes: AttemptOutcome[]): Promise<boolean[]>
  /** A claim, or what is given back: after all outcomes that were given before. */
  follow<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
}

/** So many from the front as have no more outcomes than one transaction takes. */
function firstGroup(waiting: Entry[]): Entry[] {
  let outcomes = 0
  const end = waiting.findIndex(({ work }, index) => {
    outcomes += 'outcomes' in work ? work.outcomes.length : 0
    return index > 0 && outcomes > GROUP_MOST
  })
  return end < 0 ? waiting : waiting.slice(0, end)
}

export function createSettling(
  write: Write,
  settle: (tx: Transaction, outcomes: AttemptOutcome[]) => Promise<boolean[]>,
): Settling {
  let waiting: Entry[] = []
  let running = false

  async function writeAll(tx: Transaction, group: Entry[]): Promise<unknown[]> {
    const outcomes = group.flatMap(({ work }) => ('outcomes' in work ? work.outcomes : []))
    const written = outcomes.length > 0 ? await settle(tx, outcomes) : []
    const values: unknown[] = []
    for (const { work } of group)
      values.push('follow' in work ? await work.follow(tx) : written.splice(0, work.outcomes.length))
    return values
  }

  async function writeGroup(group: Entry[]): Promise<void> {
    try {
      const values = await write((tx) => writeAll(tx, group))
      for (const [index, { resolve }] of group.entries()) resolve(values[index])
    } catch (error) {
      const away = error instanceof AppError && error.code === 'store_unavailable'
      if (away || group.length === 1) for (const { reject } of group) reject(error)
      else for (const entry of group) await writeGroup([entry])
    }
  }

  async function run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const group = firstGroup(waiting)
      waiting = waiting.slice(group.length)
      await writeGroup(group)
    }
    running = false
  }

  function add<T>(work: Entry['work']): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, resolve: (value) => resolve(value as T), reject })
      if (running) return
      running = true
      void run()
    })
  }

  return { record: (outcomes) => add({ outcomes }), follow: (follow) => add({ follow }) }
}
