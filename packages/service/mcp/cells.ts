/** Shows the rows of a block in an answer. */
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'

export const Cells = Type.Object({
  columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String() })),
  rows: Type.Array(Type.Array(Type.Unknown())),
  total: Type.Integer({ description: 'All rows, of which these are the first' }),
})

interface Table {
  columns: { name: string; type: string }[]
  rows: unknown[][]
  total: number
}

/** Returns the table with at most the given numbers of rows and columns. */
export function tableOf(found: unknown, most: { rows: number; columns: number }): Static<typeof Cells> {
  const { columns, rows, total } = found as Table
  return {
    columns: columns.slice(0, most.columns).map(({ name, type }) => ({ name, type })),
    rows: rows.slice(0, most.rows).map((row) => row.slice(0, most.columns)),
    total,
  }
}
