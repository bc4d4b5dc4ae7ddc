/** Counts how often links are opened, with one write a second. */
import { type Clock, iso } from '@assay/model/clock'
import type { Store } from '@assay/store/store'
import { createGatherer } from '../../runtime/gatherer.ts'
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
  const openings = createGatherer<{ link_id: string; count: number; at: string }>(clock, WRITE_MS, (noted) =>
    store
      .countOpenings(noted)
      .catch((error: unknown) => log.warn({ err: error }, 'openings of links could not be counted')),
  )
  return {
    note(link_id) {
      openings.note(link_id, (before) => ({
        link_id,
        count: (before?.count ?? 0) + 1,
        at: iso(clock.now()),
      }))
    },
    close: () => openings.close(),
  }
}
