/** The list of a workspace's events. native.ts of each database writes them in the transaction of their change. */
import type { Event, EventType } from '@assay/model/event'
import type { Page } from '../../contract/page.ts'
import { decodeCursor, encodeCursor } from '../../cursor.ts'
import { LOOKED_AT_MOST } from '../../list.ts'
import type { Reader, Routine } from '../../rows.ts'
import type { Statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { EVENTS, type EventRow } from '../../tables/webhooks/events.ts'

type Order = Input<'listEvents'>['order']
type Listed = Omit<EventRow, 'workspace_id'> & { fits?: number | boolean; row_no?: number }

/**
 * Events are ordered by `seq`. On SQLite this is also the order of commits, because there is one writer. On
 * PostgreSQL a list forward ends before the first event that a transaction under way may still precede, so a reader
 * past `seq` has seen all events up to it.
 */
const SETTLED = EVENTS.sql<{ seq: number }>({
  sqlite: `SELECT ${Number.MAX_SAFE_INTEGER} AS seq`,
  postgres: 'SELECT settled_events() AS seq',
})

const HELD = EVENTS.sql<{ timestamp: string | null }>({
  sqlite: 'SELECT NULL AS timestamp',
  postgres: 'SELECT min(timestamp) AS timestamp FROM events WHERE seq > (SELECT settled_events())',
})

/**
 * Returns the time of the oldest event that readers in order do not get yet, because another may precede it. Null if
 * there is none.
 */
export function* findHeldEvent(from: Reader): Routine<string | null> {
  return (yield* from.find(HELD))?.timestamp ?? null
}

/**
 * Types that nearly every job makes. No index of types holds them, so they are looked for among the next
 * `LOOKED_AT_MOST` events. The condition of the query names the index of the others.
 */
const FREQUENT: readonly EventType[] = ['job.queued', 'job.started', 'job.completed']
const RARE = FREQUENT.map((type) => `AND type <> '${type}'`).join(' ')

interface Pages {
  all: Statement<Listed>
  frequent: Statement<Listed>
  rare: Statement<Listed>
}

/**
 * Returns a page. Condition and order name all columns of the index. Otherwise PostgreSQL would use the index of
 * `seq` for a workspace that it knows little of, and pass over the events of all others.
 */
function pageOf(key: readonly string[], order: Order, also = ''): string {
  const at = (seq: string): string => key.map((column) => (column === 'seq' ? seq : `:${column}`)).join(', ')
  const by = key.map((column) => (order === 'newest' ? `${column} DESC` : column)).join(', ')
  return `SELECT seq, event_id, type, timestamp, data FROM events
    WHERE (${key.join(', ')}) > (${at(':above')}) AND (${key.join(', ')}) <= (${at(':up_to')}) ${also} ORDER BY ${by}`
}

function pagesOf(order: Order): Pages {
  const all = pageOf(['workspace_id', 'seq'], order)
  const rare = pageOf(['workspace_id', 'type', 'seq'], order, RARE)
  return {
    all: EVENTS.sql(`${all} LIMIT :most`),
    rare: EVENTS.sql(`${rare} LIMIT :most`),
    // The last event that is looked at is returned whatever its type, because the next page begins there.
    frequent: EVENTS.sql(`SELECT *, type = :type AS fits FROM (
        SELECT *, row_number() OVER () AS row_no FROM (${all} LIMIT ${LOOKED_AT_MOST}) AS latest
      ) AS looked_at WHERE type = :type OR row_no = ${LOOKED_AT_MOST} LIMIT :most`),
  }
}

const PAGES = { oldest: pagesOf('oldest'), newest: pagesOf('newest') }

export function* listEvents(from: Reader, query: Input<'listEvents'>): Routine<Page<Event>> {
  const { order, type, workspace_id, limit } = query
  const list = `events ${order}`
  const start = order === 'oldest' ? 0 : Number.MAX_SAFE_INTEGER
  const seq = query.cursor === undefined ? start : Number(decodeCursor(list, query.cursor, ['number'])[0])
  const [above, up_to] = order === 'oldest' ? [seq, (yield* from.find(SETTLED))!.seq] : [0, seq - 1]
  const pages = PAGES[order]
  const typed = type === undefined ? pages.all : FREQUENT.includes(type) ? pages.frequent : pages.rare
  const rows = yield* from.all(typed, { workspace_id, type, above, up_to, most: limit + 1 })
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const isMore = rows.length > limit || last?.row_no === LOOKED_AT_MOST
  const fitting = page.filter(({ fits, row_no }) => row_no === undefined || fits)
  return {
    items: fitting.map(({ event_id, type, timestamp, data }) => ({ event_id, type, timestamp, data })),
    next_cursor: order === 'oldest' || isMore ? encodeCursor(list, [last?.seq ?? seq]) : null,
  }
}
