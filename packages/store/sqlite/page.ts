/** Pages of a list, newest first, by (created_at, id): what they read is in ../page.ts. */
import type { SQLInputValue } from 'node:sqlite'
import { type Filters, type List, type Listed, listStatement, toPage } from '../page.ts'
import type { Page, PageQuery } from '../store.ts'
import type { Connection } from './connection.ts'

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the list's table yields what toItem takes
export function newestFirst<Row, Item>(
  connection: Connection,
  list: List,
  query: PageQuery,
  filters: Filters<SQLInputValue>,
  toItem: (row: Row) => Item,
): Page<Item> {
  const { sql, values } = listStatement(list, query, filters)
  return toPage(list, query, connection.all<Listed<Row>>(sql, ...values), toItem)
}
