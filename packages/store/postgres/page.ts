/** Pages of a list, newest first, by (created_at, id): what they read is in ../page.ts. */
import { type Filters, type List, type Listed, listStatement, toPage } from '../page.ts'
import type { Page, PageQuery } from '../store.ts'
import type { Session } from './connection.ts'

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the list's table yields what toItem takes
export async function newestFirst<Row, Item>(
  from: Session,
  list: List,
  query: PageQuery,
  filters: Filters<string>,
  toItem: (row: Row) => Item,
): Promise<Page<Item>> {
  const { sql, values } = listStatement(list, query, filters)
  let count = 0
  const numbered = sql.replaceAll('?', () => `$${(count += 1)}`)
  return toPage(list, query, await from.all<Listed<Row>>(numbered, ...values), toItem)
}
