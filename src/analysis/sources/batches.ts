/** From rows of text to batches of values. */
import type { DuckDBValue } from '@duckdb/node-api'
import type { Batch, RemoteColumn } from './kind.ts'
import { SourceError } from './source.ts'
import type { FromText } from './text-values.ts'

const SHOWN = 60

export function batchOf(
  rows: readonly (readonly (string | null)[])[],
  bytes: number,
  columns: readonly RemoteColumn[],
  readers: readonly { read: FromText }[],
): Batch {
  const all = readers.map(({ read }, index) => {
    const values: DuckDBValue[] = []
    for (let row = 0; row < rows.length; row += 1) {
      const text = rows[row]![index] ?? null
      try {
        values.push(text === null ? null : read(text))
      } catch (error) {
        if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error
        throw misfit(columns[index]!, text!)
      }
    }
    return values
  })
  return { rows: rows.length, bytes, columns: all }
}

/** A value for which the engine's type has no place. */
export function misfit(column: RemoteColumn, value: string): SourceError {
  const shown = value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value
  const type = column.type.toString()
  return new SourceError(
    `The column ${JSON.stringify(column.name)} holds ${JSON.stringify(shown)}, for which ${type} has no place: cast it in the query, for example to text.`,
  )
}
