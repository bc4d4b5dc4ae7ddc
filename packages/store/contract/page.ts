/** Pages of a list. */

export interface Page<Item> {
  items: Item[]
  /** Give it back as `cursor` for the next page; null at the end. Opaque. */
  next_cursor: string | null
}

export interface PageQuery {
  limit: number
  /** A cursor of another list is refused: `invalid`. */
  cursor?: string | undefined
}
