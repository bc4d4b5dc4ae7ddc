/** Shows the rows of a block, sortable and in portions. */

import type { Cell, Column, Table } from '@assay/model/insight'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { textsCsv } from '../../answers/tables.ts'
import { api } from '../../api.ts'
import { save } from '../../drafts/save.ts'
import { Fault } from '../fault.tsx'
import { PORTION, ShowMore } from '../lists/show-more.tsx'
import { useInsightContext } from './insight-context.ts'
import { compareCells, type Order, SortButton, turned } from './sorting.tsx'

const NUMERIC: readonly Column['type'][] = ['integer', 'number', 'decimal']

/** The place from which on a marked row is not brought into view. */
const MOST_FOR_MARK = 1000

function shownCell(cell: Cell): string {
  if (cell === null) return ''
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
}

/** Saves the table of a block as a workbook: its values, with the formats of the text. */
function SaveWorkbook({ insight_id, block }: { insight_id: string; block: string }) {
  const load = useMutation({
    mutationFn: async () => save(new Blob([await api().jobs.xlsx(insight_id, block)]), `${block}.xlsx`),
  })
  return (
    <>
      <button type="button" className="button quiet save-rows" onClick={() => load.mutate()}>
        Save as XLSX
      </button>
      {load.isError && <Fault error={load.error} />}
    </>
  )
}

/** Saves all rows that are kept, in the order shown. `block`: adds the workbook. */
export function SaveRows({
  heads,
  rows,
  block,
}: {
  heads: string[]
  rows: string[][]
  block?: string | undefined
}) {
  const insight = useInsightContext()
  const saveAll = (): void =>
    save(new Blob([textsCsv([heads, ...rows])], { type: 'text/csv;charset=utf-8' }), 'table.csv')
  return (
    <>
      <button type="button" className="button quiet save-rows" onClick={saveAll}>
        Save as CSV
      </button>
      {insight && block !== undefined && <SaveWorkbook insight_id={insight.insight_id} block={block} />}
    </>
  )
}

interface RowsProps {
  table: Table
  /** The block of the rows. */
  block: string
  label: string
  /** The index of a row to mark. */
  asked?: number | undefined
}

export function Rows({ table, block, label, asked }: RowsProps) {
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
      <SaveRows
        heads={columns.map(({ name }) => name)}
        rows={sorted.map((row) => row.map(shownCell))}
        block={block}
      />
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
