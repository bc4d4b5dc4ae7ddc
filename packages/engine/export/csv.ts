/** Writes a table as CSV, with its values as they are. */
import { csvField, csvOf, csvQuoted } from '@assay/model/csv'
import type { Cell, Table } from '@assay/model/insight'

export function tableCsv({ columns, rows }: Table): string {
  return csvOf([columns.map(({ name }) => csvField(name)), ...rows.map((row) => row.map(fieldOf))])
}

function fieldOf(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'string') return csvField(cell)
  return typeof cell === 'object' ? csvQuoted(JSON.stringify(cell)) : String(cell)
}
