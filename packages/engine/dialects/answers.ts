/**
 * Parses the SQL of a method into a tree, and converts the cells that a database returns to those that DuckDB would
 * return.
 */
import type { Cell } from '@assay/model/insight'
import { VARCHAR } from '@duckdb/node-api'
import { type Engine, readTable } from '../duckdb/duckdb.ts'
import type { Answer } from '../sufficient/ask.ts'
import type { Statement } from './print-tree.ts'
import { NotAsked, type ValueType } from './scope.ts'
import type { TreeQuery } from './tree.ts'

const PARSE =
  'select json_serialize_sql($sql::varchar, skip_null := true, skip_empty := true, skip_default := true)'

export async function parsed(engine: Engine, sql: string): Promise<TreeQuery> {
  const { rows } = await readTable(engine, PARSE, { sql: { value: sql, type: VARCHAR } }, 1)
  const { statements = [] } = JSON.parse(rows[0]![0] as string) as { statements?: { node: TreeQuery }[] }
  if (statements.length !== 1) throw new NotAsked(sql)
  return statements[0]!.node
}

export const readAnswer = (row: Answer, { columns }: Statement): Answer =>
  Object.fromEntries(columns.map(({ name, own, type }) => [name, cellOf(row[own] ?? null, type)]))

function cellOf(cell: Cell, type: ValueType): Cell {
  if (cell === null) return null
  switch (type) {
    case 'integer':
    case 'double':
      return Number(cell)
    case 'boolean':
      return cell === true || Number(cell) === 1
    case 'word':
    case 'sum':
      return textOf(cell)
    case 'date':
      return textOf(cell).slice(0, 10)
    case 'stamp':
      return stamp(textOf(cell))
    case 'moment stamp':
      return `${stamp(textOf(cell))}Z`
    default:
      return cell
  }
}

const textOf = (cell: Cell): string => (typeof cell === 'string' ? cell : JSON.stringify(cell))

/** Writes a time such as "2024-02-29T10:00:00.5", without zeros at the end. */
const stamp = (text: string): string =>
  text
    .replace(' ', 'T')
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
