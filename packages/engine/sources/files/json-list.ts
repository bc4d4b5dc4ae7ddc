/**
 * Reads JSON whose rows stand in a list within one object, such as `{"data": [...]}`, as web services answer. The list
 * is the table. If there are several lists, the source must name one. `list: ""` reads the object itself as a row.
 */

import type { FormatName } from '@assay/model/file'
import { DuckDBListType, DuckDBStructType, type DuckDBType } from '@duckdb/node-api'
import { type Engine, identifier, readTable } from '../../duckdb/duckdb.ts'
import { SourceError } from '../source.ts'
import { headOf } from '../text/encoding.ts'
import type { SourceFile } from './source-file.ts'

const HEAD_BYTES = 4096
const DEPTH_MOST = 3
const LISTED = 8
/** The key for the object around the lists. No key of an object has this name. */
const AROUND = 'the object around'

interface Json {
  /** The SQL call that reads the files. */
  call: string
  files: readonly SourceFile[]
  format: FormatName
  /** The list that the source names. */
  declared: string | undefined
  /** The file as written in the template. */
  shown: string
}

/**
 * Returns what to select from, and the list that holds the rows; null if the rows stand by themselves. Throws
 * SourceError.
 */
export async function rowsOfJson(
  engine: Engine,
  { call, files, format, declared, shown }: Json,
): Promise<{ from: string; list: string | null }> {
  if (declared === '') return { from: call, list: null }
  if (declared === undefined && !(format === 'json' && (await areObjects(files))))
    return { from: call, list: null }
  const lists = await listsOf(engine, call)
  if (declared !== undefined) {
    const named = lists.find((steps) => steps.join('.') === declared)
    if (!named)
      throw unreadable(shown, `it has no list of objects ${JSON.stringify(declared)}. ${known(lists)}`)
    return unnested(call, named)
  }
  const [only, other] = lists
  if (!only) return { from: call, list: null }
  // Rows may hold lists themselves. Only an object that is alone in its file stands around a table.
  const most = files.length + 1
  const { total } = await readTable(engine, `select 1 from ${call} limit ${most}`, {}, most)
  if (total === most) return { from: call, list: null }
  if (other)
    throw unreadable(
      shown,
      `it is an object with several lists of objects, and nothing says which holds the rows. Write ${lines(lists)} in the source, or "list: ''" to read the object as one row.`,
    )
  return unnested(call, only)
}

/**
 * Tells whether each file begins with an object. A list with a single object in it, and a single line of NDJSON, are rows, because
 * more may come tomorrow.
 */
async function areObjects(files: readonly SourceFile[]): Promise<boolean> {
  for (const file of files) {
    const { bytes } = await headOf(file, HEAD_BYTES)
    if (!/^\s*\{/.test(bytes.toString('utf8').replace('\ufeff', ''))) return false
  }
  return true
}

function unnested(call: string, steps: readonly string[]): { from: string; list: string } {
  const field = [AROUND, ...steps].map(identifier).join('.')
  return {
    from: `(select unnest(${field}, max_depth := 2) from ${call} as ${identifier(AROUND)})`,
    list: steps.join('.'),
  }
}

/** Returns the lists of objects within the first object, each by its steps. */
async function listsOf(engine: Engine, call: string): Promise<string[][]> {
  const statement = await engine.connection.prepare(`select * from ${call}`)
  try {
    return Array.from({ length: statement.columnCount }, (_, index) =>
      listsWithin([statement.columnName(index)], statement.columnType(index)),
    ).flat()
  } finally {
    statement.destroySync()
  }
}

function listsWithin(steps: string[], type: DuckDBType): string[][] {
  if (type instanceof DuckDBListType) return type.valueType instanceof DuckDBStructType ? [steps] : []
  if (!(type instanceof DuckDBStructType) || steps.length === DEPTH_MOST) return []
  return type.entryNames.flatMap((name, index) => listsWithin([...steps, name], type.entryTypes[index]!))
}

const lines = (lists: readonly string[][]): string =>
  lists
    .slice(0, LISTED)
    .map((steps) => `"list: ${steps.join('.')}"`)
    .join(' or ')

const known = (lists: readonly string[][]): string =>
  lists.length === 0 ? 'It has none: leave "list" out.' : `Write ${lines(lists)}.`

const unreadable = (shown: string, reason: string): SourceError =>
  new SourceError(`${JSON.stringify(shown)} cannot be read: ${reason}`)
