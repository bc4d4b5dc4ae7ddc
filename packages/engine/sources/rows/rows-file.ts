/** Makes a view over the rows of a query in a Parquet file, so that they never stand in memory as a whole. */
import { type Engine, execute, identifier, literal, readTable } from '../../duckdb/duckdb.ts'
import { engineFailure } from '../../duckdb/engine-error.ts'
import type { RemoteColumn, RowsFile } from '../kind.ts'

/** Makes the view and resolves to the number of rows. Rejects with SourceError for values that cannot be read. */
export async function viewRows(
  engine: Engine,
  name: string,
  columns: readonly RemoteColumn[],
  { file, explain }: RowsFile,
): Promise<number> {
  const rows = `read_parquet(${literal(file)})`
  try {
    const list: string[] = []
    for (const column of columns) {
      const is = identifier(column.name)
      const type = column.numeric
        ? await numericType(engine, rows, column.name)
        : (column.declared ?? column.type.toString())
      list.push(`cast(${is} as ${type}) as ${is}`)
    }
    await execute(engine, `create view ${identifier(name)} as select ${list.join(', ')} from ${rows}`)
    // The engine checks a text only when it is read, so all texts are read here and no block finds an invalid one.
    const texts = columns.filter(({ type }) => type.toString().startsWith('VARCHAR'))
    const lengths = texts.map((column) => `max(len(${identifier(column.name)}))`)
    const sql = `select ${['count(*)', ...lengths].join(', ')} from ${rows}`
    return Number((await readTable(engine, sql, {}, 1)).rows[0]![0])
  } catch (error) {
    const failure = engineFailure(error)
    if (failure?.kind !== 'refused') throw error
    throw explain(failure.reason.replaceAll(file, ''))
  }
}

/**
 * Returns the type of a column of numbers written as text: DECIMAL(38, s) with the most digits after the point, else
 * DOUBLE. `rows` is the SQL of a table.
 */
async function numericType(engine: Engine, rows: string, column: string): Promise<string> {
  const digits = (part: number): string =>
    `coalesce(max(length(split_part(ltrim(${identifier(column)}, '-'), '.', ${part}))), 0)`
  const sql = `select ${digits(1)}::int, ${digits(2)}::int from ${rows}`
  const [whole, scale] = (await readTable(engine, sql, {}, 1)).rows[0] as [number, number]
  return whole + scale > 38 ? 'DOUBLE' : `DECIMAL(38,${scale})`
}
