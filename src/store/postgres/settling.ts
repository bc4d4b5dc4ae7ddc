/**
 * Outcomes of one process go to the database in groups: those of one turn of the event loop, and those that come while a
 * group is being written, are one transaction. (One by one they wait for each other on their webhook's row: measured, 280
 * a second.) Where a group cannot be written, each is tried alone, so that one harms no other.
 */
import { AppError } from '../../errors.ts'
import type { AttemptOutcome } from '../store.ts'

const GROUP_MOST = 500

interface Entry {
  outcome: AttemptOutcome
  resolve(written: boolean): void
  reject(error: unknown): void
}

export interface Settling {
  record(outcome: AttemptOutcome): Promise<boolean>
  /** Resolves once those that were given before are written. */
  settled(): Promise<void>
}

export function createSettling(write: (outcomes: AttemptOutcome[]) => Promise<boolean[]>): Settling {
  let waiting: Entry[] = []
  let running: Promise<void> | null = null
  let latest = Promise.resolve()

  async function writeGroup(group: Entry[]): Promise<void> {
    try {
      const written = await write(group.map(({ outcome }) => outcome))
      for (const [index, { resolve }] of group.entries()) resolve(written[index]!)
    } catch (error) {
      const away = error instanceof AppError && error.code === 'store_unavailable'
      if (away || group.length === 1) for (const { reject } of group) reject(error)
      else for (const entry of group) await writeGroup([entry])
    }
  }

  async function run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const group = waiting.slice(0, GROUP_MOST)
      waiting = waiting.slice(GROUP_MOST)
      await writeGroup(group)
    }
    running = null
  }

  return {
    record(outcome) {
      const written = new Promise<boolean>((resolve, reject) => {
        waiting.push({ outcome, resolve, reject })
        running ??= run()
      })
      // Groups are written in order: once this is, those before it are, too.
      latest = written.then(
        () => undefined,
        () => undefined,
      )
      return written
    },
    settled: () => latest,
  }
}
