/**
 * Makes the jobs of a schedule over readers: page by page, each page in one transaction with how far it came. A node that dies in
 * the middle leaves the rest to the next claim; the ids of the jobs keep any from being made twice.
 */

import type { StoredReader } from '@assay/model/readers'
import { isForReader, type Plan, type Schedule } from '@assay/model/schedule'
import type { ScheduleMaterial } from '@assay/store/contract/schedules'
import type { Fired, Store } from '@assay/store/store'

/** Jobs of one transaction. */
const PAGE = 100

export interface FiringOptions {
  store: Pick<Store, 'readersAfter' | 'findReaders' | 'fireSchedule'>
  /** The subscription that sends it to her; null: none does. */
  mailOf(reader: StoredReader): Promise<string | null>
}

/** The readers after one, those whom the schedule names at once. */
async function readersAfter(
  { store }: FiringOptions,
  { workspace_id, readers }: Schedule,
  after: string,
): Promise<StoredReader[]> {
  if (!Array.isArray(readers)) return store.readersAfter({ workspace_id, after, limit: PAGE })
  const reader_ids = readers.filter((id) => id > after).toSorted()
  const found = await store.findReaders({ workspace_id, reader_ids: reader_ids.slice(0, PAGE) })
  // The store sorts by bytes, which is another order beyond U+FFFF: who waits would be taken for done.
  return found.toSorted((one, other) => (one.reader_id < other.reader_id ? -1 : 1))
}

/** The last id of the page, and whether there is another page. */
function endOf({ readers }: Schedule, found: readonly StoredReader[], after: string) {
  if (!Array.isArray(readers)) return { after: found.at(-1)?.reader_id ?? after, last: found.length < PAGE }
  const rest = readers.filter((id) => id > after).toSorted()
  return { after: rest.slice(0, PAGE).at(-1) ?? after, last: rest.length <= PAGE }
}

/** Until all are made, the queue is full, or another goes on. Answers how many were made, and whether the queue was full. */
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
