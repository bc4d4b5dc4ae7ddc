/** Counts how often links are opened, with one write a second. A killed process loses the counts of its last second. */
import { type Clock, iso } from '@assay/model/clock'
import type { Store } from '@assay/store/store'
import type { Logger } from '../../runtime/log.ts'

const WRITE_MS = 1000

export interface ViewCounter {
  note(link_id: string): void
  /** Writes the remaining counts. */
  close(): Promise<void>
}

export function createViewCounter(
  store: Pick<Store, 'countOpenings'>,
  clock: Clock,
  log: Logger,
): ViewCounter {
  const stopping = new AbortController()
  let noted = new Map<string, { link_id: string; count: number; at: string }>()
  let writing: Promise<void> | null = null

  async function write(): Promise<void> {
    const openings = [...noted.values()]
    noted = new Map()
    if (openings.length === 0) return
    await store
      .countOpenings(openings)
      .catch((error: unknown) => log.warn({ err: error }, 'openings of links could not be counted'))
  }
  async function writeLater(): Promise<void> {
    await clock.sleep(WRITE_MS, stopping.signal)
    writing = null
    await write()
  }

  return {
    note(link_id) {
      const { count } = noted.get(link_id) ?? { count: 0 }
      noted.set(link_id, { link_id, count: count + 1, at: iso(clock.now()) })
      writing ??= writeLater()
    },
    async close() {
      stopping.abort()
      await writing
      await write()
    },
  }
}
