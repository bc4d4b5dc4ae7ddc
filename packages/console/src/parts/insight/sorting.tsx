/** Sorts tables by a click on a heading: numbers by value whatever their separators, empty cells last. */

import type { Cell } from '@assay/model/insight'
import type { ReactNode } from 'react'
import { compareTexts } from '../../answers/tables.ts'
import { textOf } from '../../values.ts'

export interface Order {
  column: number
  descending: boolean
}

export function compareCells(a: Cell | undefined, b: Cell | undefined, { descending }: Order): number {
  return compareTexts(textOf(a), textOf(b), descending)
}

/** Returns the next order after a click on a heading: descending, ascending, descending. */
export function turned(order: Order | null, column: number): Order {
  return { column, descending: order?.column === column ? !order.descending : true }
}

interface SortButtonProps {
  align?: string | undefined
  order: Order | null
  onSort(): void
  children: ReactNode
}

export function SortButton({ align, order, onSort, children }: SortButtonProps) {
  const sort = order === null ? 'none' : order.descending ? 'descending' : 'ascending'
  return (
    <th scope="col" aria-sort={sort} className={align}>
      <button type="button" className="sort" onClick={onSort}>
        {children}
        <span aria-hidden="true" className="sort-sign">
          {order === null ? '↕' : order.descending ? '↓' : '↑'}
        </span>
      </button>
    </th>
  )
}
