/** Pages of a list. */

export interface Page<Item> {
  items: Item[]
  /** The `cursor` of the next page; null after the last page. Clients must not interpret it. */
  next_cursor: string | null
}

export interface PageQuery {
  limit: number
  /** The `next_cursor` of the page before. Throws `invalid` if it belongs to another list. */
  cursor?: string | undefined
}
