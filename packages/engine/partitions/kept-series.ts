/** Attaches a series of a metric whose days are kept, the results of its tests, or the rows of a block, as a table of the engine. */
import type { Cell } from '@assay/model/insight'
import { type DuckDBType, VARCHAR } from '@duckdb/node-api'
import { describeQuery, type Engine, execute, identifier } from '../duckdb/duckdb.ts'
import type { RemoteColumn } from '../sources/kind.ts'
import type { QuerySource } from '../sources/query.ts'
import { LooseNumeric, LooseValues } from '../sources/rows/loose-values.ts'
import type { Attached } from '../sources/source.ts'
import { There } from '../sources/there.ts'
import { stepOf } from './days.ts'
import { type Keeping, Series } from './series.ts'
import { textOf } from './statistics.ts'
import { statisticName } from './value.ts'

/** A table: its columns with their types, and its rows. */
interface Made {
  columns: readonly (readonly [name: string, type: string])[]
  rows: Cell[][]
  doubt: string | null
}

export async function attachSeries(
  engine: Engine,
  options: QuerySource,
  keeping: Keeping,
): Promise<Attached> {
  const began = performance.now()
  const there = await There.open(engine, options)
  const series = await Series.open(options, keeping, there)
  const { source, peek } = options
  const { partitions, rule } = source.query!
  const make = partitions!.untimed ? testsOf : partitions!.day === undefined ? seriesOf : rowsOfBlock
  const made = await make(series, options)
  await write(engine, source.name, made)
  const { name: connection, kind } = there.connection
  const { bytes } = there.asked().takeStatements()
  const elapsed_ms = Math.round((performance.now() - began) * 10) / 10
  const remote = { connection, kind, query: series.sql }
  return {
    columns: await describeQuery(engine, `select * from ${identifier(source.name)}`),
    lineage: {
      name: source.name,
      files: [],
      rows: peek ? null : made.rows.length,
      format: kind,
      // Days that are read, and what is read of them, would reveal the rows of others.
      ...(rule
        ? { rule: rule.text, remote: { ...remote, bytes: 0, elapsed_ms: 0 } }
        : { remote: { ...remote, bytes, elapsed_ms, days: series.told } }),
    },
    ...(made.doubt === null ? {} : { doubt: made.doubt }),
    paths: [],
    verify: () => Promise.resolve(),
  }
}

async function seriesOf(series: Series, { source }: QuerySource): Promise<Made> {
  const { by, statistics, grain } = source.query!.partitions!
  const { merged, kept } = await series.merged(stepOf(grain))
  return {
    columns: [
      ['time', grain === 'hour' ? 'timestamp' : 'date'],
      ...by.map((name, index) => [name, series.columns[index]!.type.toString()] as const),
      ...statistics.map((_, index) => [statisticName(index), 'double'] as const),
    ],
    rows: merged.rows(),
    doubt: kept.doubt,
  }
}

/** Returns the rows of a block. Where the database knows no type of a column, its values decide. */
async function rowsOfBlock(series: Series): Promise<Made> {
  const { merged, kept } = await series.merged((step) => step)
  const rows = merged.rows().map(([, ...cells]) => cells)
  const typeOf = ({ type }: RemoteColumn, index: number): DuckDBType => {
    const kind = series.kinds[index]
    if (kind !== 'number' && kind !== 'loose') return type
    const cells = rows.map((row) => row[index]!).filter((cell) => cell !== null)
    return kind === 'number' ? ofNumbers(cells) : ofValues(cells)
  }
  series.told.note ??= kept.doubt
  return {
    columns: series.columns.map((column, index) => [column.name, typeOf(column, index).toString()]),
    rows,
    doubt: kept.doubt,
  }
}

function ofNumbers(cells: readonly Cell[]): DuckDBType {
  const loose = new LooseNumeric()
  for (const cell of cells) loose.note(textOf(cell))
  return loose.settled()
}

function ofValues(cells: readonly Cell[]): DuckDBType {
  const loose = new LooseValues()
  for (const cell of cells)
    loose.note(typeof cell === 'number' ? (Number.isInteger(cell) ? BigInt(cell) : cell) : textOf(cell))
  return loose.settled()
}

/** Returns one row, as the statement that tests all rows gives it. */
async function testsOf(series: Series, { source, peek }: QuerySource): Promise<Made> {
  const { names } = source.query!.partitions!.untimed!
  const { merged, kept } = await series.merged(() => '')
  const [all] = merged.rows()
  const { type, text } = await series.newest()
  const counts = all ? all.slice(1) : names.map(() => 0)
  return {
    columns: [['newest', type], ...names.map((name) => [name, 'bigint'] as const)],
    rows: peek ? [] : [[text, ...counts]],
    doubt: kept.doubt,
  }
}

async function write(engine: Engine, table: string, { columns, rows }: Made): Promise<void> {
  const texts = rows.map((row) => row.map((cell) => (cell === null ? null : textOf(cell))))
  const list = columns.map(
    ([name, type], index) => `cast(row[${index + 1}] as ${type}) as ${identifier(name)}`,
  )
  const sql = `create table ${identifier(table)} as select ${list.join(', ')} from (select unnest(from_json($rows, '[["VARCHAR"]]')) as row)`
  await execute(engine, sql, { rows: { value: JSON.stringify(texts), type: VARCHAR } })
}
