/** Pages of a list: filters that are given, keyset order, one row more than asked for tells whether there is a next. */
import { decodeCursor, encodeCursor } from '../cursor.ts'
import type { Page, PageQuery } from '../store.ts'
import type { Session } from './connection.ts'

export interface List {
  /** Names the list in its cursors. */
  name: string
  table: string
  /** The id that breaks ties between rows of the same `created_at`. */
  id: string
}

/** Conditions by SQL with one `?` (which becomes `$1`, `$2` ...); those whose value is undefined are left out. */
export type Filters = Record<string, string | undefined>

/** Newest first, by (created_at, id). */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the list's table yields what toItem takes
export async function newestFirst<Row extends { created_at: string }, Item>(
  from: Session,
  list: List,
  query: PageQuery,
  filters: Filters,
  toItem: (row: Row) => Item,
): Promise<Page<Item>> {
  const given = Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const conditions = given.map(([sql], index) => sql.replace('?', `$${index + 1}`))
  const values: unknown[] = given.map(([, value]) => value)
  if (query.cursor !== undefined) {
    conditions.push(`(created_at, ${list.id}) < ($${values.length + 1}, $${values.length + 2})`)
    values.push(...decodeCursor(list.name, query.cursor, ['string', 'string']))
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const rows = await from.all<Row & Record<string, unknown>>(
    `SELECT * FROM ${list.table} ${where} ORDER BY created_at DESC, ${list.id} DESC LIMIT $${values.length + 1}`,
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
