/** Sorting of tables by a click on a heading: numbers by value whatever their separators, empty cells last. */

import type { Cell } from '@assay/model/insight'
import type { ReactNode } from 'react'
import { textOf } from '../../values.ts'

export interface Order {
  column: number
  descending: boolean
}

/** The number that a cell shows ("−1,204.5%" is -1204.5); NaN if it shows none. */
function numberOf(text: string): number {
  const plain = text.replaceAll(/[,\s%$€£+]/g, '').replace(/^[−–]/, '-')
  return plain === '' ? Number.NaN : Number(plain)
}

const collator = new Intl.Collator('en', { numeric: true })

export function compareCells(a: Cell | undefined, b: Cell | undefined, { descending }: Order): number {
  const [left, right] = [a, b].map((cell) => textOf(cell))
  if (left === '' || right === '') return (left === '' ? 1 : 0) - (right === '' ? 1 : 0)
  const difference = numberOf(left!) - numberOf(right!)
  const order = Number.isNaN(difference) ? collator.compare(left!, right!) : difference
  return descending ? -order : order
}

/** The next order after a click on a heading: descending, ascending, descending. */
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
