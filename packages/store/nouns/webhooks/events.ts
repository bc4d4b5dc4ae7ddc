/** The list of a workspace's events. They are written where they happen: native.ts of each database. */
import type { Event, EventType } from '@assay/model/event'
import type { Page } from '../../contract/page.ts'
import { decodeCursor, encodeCursor } from '../../cursor.ts'
import type { Reader, Routine } from '../../rows.ts'
import type { Statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { EVENTS, type EventRow } from '../../tables/webhooks/events.ts'

type Order = Input<'listEvents'>['order']
type Listed = Omit<EventRow, 'workspace_id'>

/**
 * SQLite has one writer: `seq` is the order of the commits. On PostgreSQL forward goes only to what no transaction under
 * way can come before: a reader past (xid, seq) has seen all up to there. A database that was restored from a dump counts
 * its transactions anew: `afterRestore` of schema.ts has set the old events' xid to 0, and a cursor from before goes on
 * among them.
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

/** The two that every job makes are in no index of types; the index of the others is named by its condition. */
const FREQUENT: readonly EventType[] = ['job.queued', 'job.started']
const TYPED = {
  all: '',
  frequent: 'AND type = :type',
  rare: ['AND type = :type', ...FREQUENT.map((type) => `AND type <> '${type}'`)].join(' '),
}

function pagesOf(order: Order): Record<keyof typeof TYPED, Statement<Listed>> {
  const of = (typed: string): Statement<Listed> =>
    EVENTS.sql({
      sqlite: `SELECT seq, event_id, type, timestamp, data FROM events
        WHERE workspace_id = :workspace_id ${typed} AND ${AFTER[order].sqlite} LIMIT :most`,
      postgres: `SELECT xid, seq, event_id, type, timestamp, data FROM events
        WHERE workspace_id = :workspace_id ${typed} AND ${AFTER[order].postgres} LIMIT :most`,
    })
  return { all: of(TYPED.all), frequent: of(TYPED.frequent), rare: of(TYPED.rare) }
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
  const reached = last && (from.dialect === 'sqlite' ? [last.seq] : [Number(last.xid), last.seq])
  return {
    items: page.map(({ event_id, type, timestamp, data }) => ({ event_id, type, timestamp, data })),
    next_cursor: order === 'oldest' || rows.length > limit ? encodeCursor(list, reached ?? position) : null,
  }
}
