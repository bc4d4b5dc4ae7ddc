/** The list of a workspace's events. native.ts of each database writes them. */
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
 * SQLite has one writer, so `seq` is the order of commits. On PostgreSQL a forward page ends before the oldest transaction under
 * way, so a reader past (xid, seq) has seen every event up to there. A restored dump counts its transactions anew: `afterRestore`
 * of schema.ts sets the xid of old events to 0, and an older cursor goes on among them.
 */
const AFTER: Record<Order, { sqlite: string; postgres: string }> = {
  oldest: {
    sqlite: 'seq > :seq ORDER BY seq',
    postgres: `
      (xid, seq) > (CASE WHEN :xid::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) THEN '0' ELSE :xid END::xid8, :seq)
      AND xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid, seq`,
  },
  newest: {
    sqlite: 'seq < :seq ORDER BY seq DESC',
    postgres: '(xid, seq) < (:xid::xid8, :seq) ORDER BY xid DESC, seq DESC',
  },
}

/**
 * Types that nearly every job makes are in no index; the list looks for them among the next `LOOKED_AT_MOST` events. The condition
 * names the index of the other types.
 */
const FREQUENT: readonly EventType[] = ['job.queued', 'job.started', 'job.completed']
const RARE = ['AND type = :type', ...FREQUENT.map((type) => `AND type <> '${type}'`)].join(' ')

interface Pages {
  all: Statement<Listed>
  frequent: Statement<Listed>
  rare: Statement<Listed>
}

function pagesOf(order: Order): Pages {
  const texts = (of: (select: string, after: string) => string): Statement<Listed> =>
    EVENTS.sql({
      sqlite: of('seq, event_id, type, timestamp, data', AFTER[order].sqlite),
      postgres: of('xid, seq, event_id, type, timestamp, data', AFTER[order].postgres),
    })
  const typed = (type: string): Statement<Listed> =>
    texts(
      (select, after) =>
        `SELECT ${select} FROM events WHERE workspace_id = :workspace_id ${type} AND ${after} LIMIT :most`,
    )
  // Also reads the last row that was looked at, of any type: the next page begins there.
  const frequent = texts(
    (select, after) => `SELECT *, type = :type AS fits FROM (
        SELECT ${select}, row_number() OVER () AS row_no FROM (
          SELECT ${select} FROM events WHERE workspace_id = :workspace_id AND ${after} LIMIT ${LOOKED_AT_MOST}) AS latest
      ) AS looked_at WHERE type = :type OR row_no = ${LOOKED_AT_MOST} LIMIT :most`,
  )
  return { all: typed(''), frequent, rare: typed(RARE) }
}

const PAGES = { oldest: pagesOf('oldest'), newest: pagesOf('newest') }

type Position = [xid: number, seq: number] | [seq: number]

function positionOf({ dialect }: Reader, list: string, query: Input<'listEvents'>): Position {
  const shape = dialect === 'sqlite' ? (['number'] as const) : (['number', 'number'] as const)
  if (query.cursor !== undefined) return decodeCursor(list, query.cursor, shape) as Position
  const start = query.order === 'oldest' ? 0 : Number.MAX_SAFE_INTEGER
  return dialect === 'sqlite' ? [start] : [start, start]
}

export function* listEvents(from: Reader, query: Input<'listEvents'>): Routine<Page<Event>> {
  const { order, type, workspace_id, limit } = query
  const list = `events ${order}`
  const position = positionOf(from, list, query)
  const pages = PAGES[order]
  const typed = type === undefined ? pages.all : FREQUENT.includes(type) ? pages.frequent : pages.rare
  const values = { workspace_id, type, xid: String(position[0]), seq: position.at(-1), most: limit + 1 }
  const rows = yield* from.all(typed, values)
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const isMore = rows.length > limit || last?.row_no === LOOKED_AT_MOST
  const fitting = page.filter(({ fits, row_no }) => row_no === undefined || fits)
  const reached = last && (from.dialect === 'sqlite' ? [last.seq] : [Number(last.xid), last.seq])
  return {
    items: fitting.map(({ event_id, type, timestamp, data }) => ({ event_id, type, timestamp, data })),
    next_cursor: order === 'oldest' || isMore ? encodeCursor(list, reached ?? position) : null,
  }
}
