/** Pages of a list. */

export interface Page<Item> {
  items: Item[]
  /** The `cursor` of the next page; null at the end. Opaque. */
  next_cursor: string | null
}

export interface PageQuery {
  limit: number
  /** `invalid`: the cursor belongs to another list. */
  cursor?: string | undefined
}
