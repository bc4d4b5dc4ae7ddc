/** The error for values that a column cannot hold. */
import type { RemoteColumn } from '../kind.ts'
import { SourceError } from '../source.ts'

const SHOWN = 60

/** Returns the error for a value that the column's type cannot hold. */
export function misfit(column: RemoteColumn, value: string): SourceError {
  const shown = value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value
  const type = column.type.toString()
  return new SourceError(
    `The column ${JSON.stringify(column.name)} holds ${JSON.stringify(shown)}, which ${type} cannot hold: cast it in the query, for example to text.`,
  )
}
