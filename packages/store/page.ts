/**
 * Pages of a list as SQL that both databases run: filters that are given, newest first, one row more than asked for tells
 * whether there is a next. Where the filters lie in one index a page reads what it gives. What lies in none is looked for
 * among the next rows of the best one, `LOOKED_AT_MOST` of them: such a page may give fewer than were asked for, or none,
 * and a cursor to go on. (An index for every pair of filters would be paid by each delivery and each job.)
 */
import { decodeCursor, encodeCursor, type Position } from './cursor.ts'
import type { Page, PageQuery } from './store.ts'

/** Some milliseconds of either database: SQLite answers nobody else meanwhile. */
export const LOOKED_AT_MOST = 5000

export interface List {
  /** Names the list in its cursors. */
  name: string
  table: string
  /** The id that breaks ties between rows of the same `created_at`. */
  id: string
  /**
   * Filters whose rows lie in an index in the order of the list (or are few by nature). The first of which all are given
   * is read.
   */
  indexed: readonly (readonly string[])[]
}

/** Conditions by SQL with one `?`; those whose value is undefined are left out. */
export type Filters<Value> = Record<string, Value | undefined>

export interface Statement<Value> {
  /** With a `?` for each value. */
  sql: string
  values: (Value | string | number)[]
}

/** They are in the order of the list, so they bound what is read of any index. */
const TIMES: readonly string[] = ['created_at >= ?', 'created_at < ?']

export function listStatement<Value>(
  list: List,
  query: PageQuery,
  filters: Filters<Value>,
): Statement<Value> {
  const given = Object.entries(filters).filter((entry): entry is [string, Value] => entry[1] !== undefined)
  const named = new Set(given.map(([sql]) => sql))
  const indexed = list.indexed.find((all) => all.every((sql) => named.has(sql))) ?? []
  const isRead = ([sql]: [string, Value]): boolean => indexed.includes(sql) || TIMES.includes(sql)
  const read = given.filter(isRead)
  const looked = given.filter((one) => !isRead(one))
  const conditions = read.map(([sql]) => sql)
  const values: (Value | string | number)[] = read.map(([, value]) => value)
  if (query.cursor !== undefined) {
    conditions.push(`(created_at, ${list.id}) < (?, ?)`)
    values.push(...decodeCursor(list.name, query.cursor, ['string', 'string']))
  }
  const order = `ORDER BY created_at DESC, ${list.id} DESC`
  const from = `FROM ${list.table} ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}`
  if (looked.length === 0)
    return { sql: `SELECT * ${from} ${order} LIMIT ?`, values: [...values, query.limit + 1] }
  // The last that is looked at comes along, whether it fits or not: there the next page begins. The rows pass through in
  // the order in which they are looked at; asked for it once more, SQLite would first sort them all.
  const sql = `SELECT * FROM (
      SELECT *, ${looked.map(([one]) => one).join(' AND ')} AS fits, row_number() OVER (${order}) AS place
      ${from} ${order} LIMIT ${LOOKED_AT_MOST}) AS looked_at
    WHERE fits OR place = ${LOOKED_AT_MOST} LIMIT ?`
  return { sql, values: [...looked.map(([, value]) => value), ...values, query.limit + 1] }
}

export type Listed<Row> = Row & { created_at: string; fits?: number | boolean | null; place?: number }

/** `rows` as the statement gave them. */
export function toPage<Row, Item>(
  list: List,
  query: PageQuery,
  rows: Listed<Row>[],
  toItem: (row: Row) => Item,
): Page<Item> {
  const given = rows.slice(0, query.limit)
  const isMore = rows.length > query.limit || given.at(-1)?.place === LOOKED_AT_MOST
  const last = isMore ? given.at(-1) : undefined
  const position = (row: Listed<Row>): Position => [row.created_at, row[list.id as keyof Row] as string]
  return {
    items: given
      .filter(({ fits, place }) => place === undefined || fits)
      .map(({ fits: _fits, place: _place, ...row }) => toItem(row as Row)),
    next_cursor: last ? encodeCursor(list.name, position(last)) : null,
  }
}
