/**
 * Makes the jobs of a schedule over readers, page by page. Each page is one transaction that also records the progress.
 * A node that dies in the middle leaves the rest to the next claim, and the ids of the jobs prevent duplicates.
 */

import type { StoredReader } from '@assay/model/readers'
import { isForReader, type Plan, type Schedule } from '@assay/model/schedule'
import type { ScheduleMaterial } from '@assay/store/contract/schedules'
import type { Fired, Store } from '@assay/store/store'

/** The number of jobs that one transaction makes. */
const PAGE = 100

export interface FiringOptions {
  store: Pick<Store, 'readersAfter' | 'findReaders' | 'fireSchedule'>
  /** Returns the subscription that sends the insight to the reader; null if there is none. */
  mailOf(reader: StoredReader): Promise<string | null>
}

/** Returns a page of readers after the given one. Readers that the schedule names are returned all at once. */
async function readersAfter(
  { store }: FiringOptions,
  { workspace_id, readers }: Schedule,
  after: string,
): Promise<StoredReader[]> {
  if (!Array.isArray(readers)) return store.readersAfter({ workspace_id, after, limit: PAGE })
  const reader_ids = readers.filter((id) => id > after).toSorted()
  const found = await store.findReaders({ workspace_id, reader_ids: reader_ids.slice(0, PAGE) })
  // The store sorts by bytes, which differs from JavaScript's order beyond U+FFFF. With the wrong order a waiting
  // reader would count as done.
  return found.toSorted((one, other) => (one.reader_id < other.reader_id ? -1 : 1))
}

/** Returns the last id of the page, and whether another page follows. */
function endOf({ readers }: Schedule, found: readonly StoredReader[], after: string) {
  if (!Array.isArray(readers)) return { after: found.at(-1)?.reader_id ?? after, last: found.length < PAGE }
  const rest = readers.filter((id) => id > after).toSorted()
  return { after: rest.slice(0, PAGE).at(-1) ?? after, last: rest.length <= PAGE }
}

/**
 * Makes jobs until all exist, the queue is full, or another node continues. Resolves with the number of jobs, and
 * whether the queue was full.
 */
export async function fire(
  options: FiringOptions,
  schedule: Schedule,
  { plan, material }: { plan: Plan; material: ScheduleMaterial },
): Promise<{ made: number; full: boolean }> {
  const { schedule_id, readers: wanted } = schedule
  let made = 0
  let revision = schedule.revision
  let position = schedule.firing?.after ?? ''
  for (;;) {
    const found = await readersAfter(options, schedule, position)
    const readers: { reader_id: string; notify: string | null }[] = []
    for (const reader of found)
      if (isForReader(wanted!, reader))
        readers.push({ reader_id: reader.reader_id, notify: await options.mailOf(reader) })
    const page = { schedule_id, revision, plan, material, readers, ...endOf(schedule, found, position) }
    const fired: Fired | null = await options.store.fireSchedule(page)
    made += fired?.made ?? 0
    if (!fired || fired.firing === null || fired.full) return { made, full: fired?.full ?? false }
    revision = fired.revision
    position = fired.firing.after
  }
}
