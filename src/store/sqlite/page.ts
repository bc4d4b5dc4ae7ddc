/** Pages of a list: filters that are given, keyset order, one row more than asked for tells whether there is a next. */
import type { SQLInputValue } from 'node:sqlite'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import type { Page, PageQuery } from '../store.ts'
import type { Connection } from './connection.ts'

export interface List {
  /** Names the list in its cursors. */
  name: string
  table: string
  /** The id that breaks ties between rows of the same `created_at`. */
  id: string
}

/** Conditions by SQL with one `?`; those whose value is undefined are left out. */
export type Filters = Record<string, SQLInputValue | undefined>

/** Newest first, by (created_at, id). */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the list's table yields what toItem takes
export function newestFirst<Row extends { created_at: string }, Item>(
  connection: Connection,
  list: List,
  query: PageQuery,
  filters: Filters,
  toItem: (row: Row) => Item,
): Page<Item> {
  const given = Object.entries(filters).filter(
    (entry): entry is [string, SQLInputValue] => entry[1] !== undefined,
  )
  const conditions = given.map(([sql]) => sql)
  const values = given.map(([, value]) => value)
  if (query.cursor !== undefined) {
    conditions.push(`(created_at, ${list.id}) < (?, ?)`)
    values.push(...decodeCursor(list.name, query.cursor, ['string', 'string']))
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const rows = connection.all<Row & Record<string, unknown>>(
    `SELECT * FROM ${list.table} ${where} ORDER BY created_at DESC, ${list.id} DESC LIMIT ?`,
    ...values,
    query.limit + 1,
  )
  const items = rows.slice(0, query.limit)
  const last = items.at(-1)
  const next_cursor =
    rows.length > query.limit && last
      ? encodeCursor(list.name, [last.created_at, last[list.id] as string])
      : null
  return { items: items.map(toItem), next_cursor }
}
