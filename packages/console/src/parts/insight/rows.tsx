/** The rows of a block: sortable, shown in portions. */

import type { Cell, Column, Table } from '@assay/model/insight'
import { useState } from 'react'
import { csvOf } from '../../answers/tables.ts'
import { save } from '../../drafts/save.ts'
import { PORTION, ShowMore } from '../lists/show-more.tsx'
import { compareCells, type Order, SortButton, turned } from './sorting.tsx'

const NUMERIC: readonly Column['type'][] = ['integer', 'number', 'decimal']

/** A marked row that stands further down is not brought into view. */
const MOST_FOR_MARK = 1000

function shownCell(cell: Cell): string {
  if (cell === null) return ''
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
}

/** All rows that are kept, in the order shown. */
export function SaveRows({ heads, rows }: { heads: string[]; rows: string[][] }) {
  const saveAll = (): void =>
    save(new Blob([csvOf([heads, ...rows])], { type: 'text/csv;charset=utf-8' }), 'table.csv')
  return (
    <button type="button" className="button quiet save-rows" onClick={saveAll}>
      Save as CSV
    </button>
  )
}

interface RowsProps {
  table: Table
  label: string
  /** The index of a row to mark. */
  asked?: number | undefined
}

export function Rows({ table, label, asked }: RowsProps) {
  const [order, setOrder] = useState<Order | null>(null)
  const [chosen, setMost] = useState(PORTION)
  const { columns, rows, total } = table
  const sorted = order ? rows.toSorted((a, b) => compareCells(a[order.column], b[order.column], order)) : rows
  const marked = asked === undefined ? undefined : rows[asked]
  const place = marked === undefined ? -1 : sorted.indexOf(marked)
  const most = place < MOST_FOR_MARK ? Math.max(chosen, place + 1) : chosen
  const alignOf = (column: number) => (NUMERIC.includes(columns[column]!.type) ? 'right' : undefined)
  return (
    <figure className="table">
      <div className="scroll" role="group" aria-label={label} tabIndex={0}>
        <table className="dense">
          <thead>
            <tr>
              {columns.map(({ name }, column) => (
                <SortButton
                  key={name}
                  align={alignOf(column)}
                  order={order?.column === column ? order : null}
                  onSort={() => setOrder(turned(order, column))}
                >
                  {name}
                </SortButton>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, most).map((row, index) => (
              // Rows of a result have no id, so the index is part of the key.
              <tr key={`${index}-${shownCell(row[0] ?? null)}`} aria-current={row === marked || undefined}>
                {row.map((cell, column) => (
                  <td key={columns[column]!.name} className={alignOf(column)}>
                    {shownCell(cell)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <SaveRows heads={columns.map(({ name }) => name)} rows={sorted.map((row) => row.map(shownCell))} />
      <ShowMore
        most={most}
        rows={rows.length}
        total={total}
        note={rows.length < total && ` (${rows.length.toLocaleString('en')} were kept)`}
        onMore={setMost}
      />
    </figure>
  )
}
