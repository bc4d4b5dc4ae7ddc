/**
 * Shows tables and outcomes to templates as arrays of plain row objects. A table's array has `size` (all rows, also
 * those that were not kept), `columns` and `truncated` as properties of its own.
 */
import type { Cell, Column, ColumnType, Outcome, Table } from '@assay/model/insight'
import type { Origin } from '@assay/model/provenance'
import type { FieldSchema } from '../methods/shared/fields.ts'
import { Exact, isPlainObject, type Row } from './value.ts'

export interface RowsInfo {
  /** The block of the rows; null if it is not known. */
  block: string | null
  columns: { name: string; type: ColumnType }[]
  /** The count of all rows, including those that were not kept. */
  total: number
}

const infoOfRows = new WeakMap<object, RowsInfo>()
const infoOfRow = new WeakMap<object, RowsInfo>()
/** The origins of blocks, their lists and the rows of these lists. */
const homes = new WeakMap<object, Origin>()
/** The rows of a table, and the places of all of them once one was looked for. */
const placesOf = new WeakMap<RowsInfo, { rows: Row[]; places: Map<unknown, number> | null }>()

/** Returns the origin of a block, one of its lists or one of its rows. Null for values that a filter or a template made. */
export function homeOf(value: unknown): Origin | null {
  if (typeof value !== 'object' || value === null) return null
  const info = infoOfRow.get(value)
  const table = info && placesOf.get(info)
  if (!table) return homes.get(value) ?? null
  table.places ??= new Map(table.rows.map((row, index) => [row, index]))
  const row = table.places.get(value)
  return row === undefined ? null : { block: info.block!, row }
}

export function isRows(value: unknown): value is Row[] {
  if (!Array.isArray(value)) return false
  return infoOfRows.has(value) || (value.length > 0 && value.every(isPlainObject))
}

/** Returns the columns, the block and the count of rows. Rows that a filter made are described from their own values. */
export function rowsInfo(rows: Row[]): RowsInfo {
  const own = infoOfRows.get(rows)
  if (own) return own
  const shared = rows.length > 0 ? infoOfRow.get(rows[0]!) : undefined
  if (shared && rows.every((row) => infoOfRow.get(row) === shared)) return { ...shared, total: rows.length }
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const columns = names.map((name) => ({ name, type: typeOf(rows.map((row) => row[name])) }))
  return { block: shared?.block ?? null, columns, total: rows.length }
}

/** Returns the rows of an SQL block. */
export function tableRows(block: string, table: Table): Row[] {
  const columns = table.columns.map(({ name, type }) => ({ name, type }))
  const readers = table.columns.map((column, index) => cellReader(column, table.rows, index))
  const info: RowsInfo = { block, columns, total: table.total }
  const rows = table.rows.map((cells) => {
    const row = Object.fromEntries(
      columns.map(({ name }, index) => [name, readers[index]!(cells[index] ?? null)]),
    )
    infoOfRow.set(row, info)
    return row
  })
  placesOf.set(info, { rows, places: null })
  homes.set(rows, { block })
  return describe(rows, info)
}

function describe(rows: Row[], info: RowsInfo): Row[] {
  infoOfRows.set(rows, info)
  const hidden = (value: unknown) => ({ value, enumerable: false, configurable: true })
  return Object.defineProperties(rows, {
    size: hidden(info.total),
    columns: hidden(info.columns.map((column) => column.name)),
    truncated: hidden(info.total > rows.length),
  })
}

const MIDNIGHT = /^(\d{4}-\d{2}-\d{2})T00:00:00$/

/**
 * Returns the reader of a column's cells. Timestamps that are all midnights become days, because DuckDB's date_trunc
 * gives timestamps.
 */
function cellReader(column: Column, rows: Cell[][], index: number): (cell: Cell) => unknown {
  if (column.type === 'decimal') return (cell) => (typeof cell === 'string' ? new Exact(cell) : cell)
  if (column.type === 'integer') return (cell) => (typeof cell === 'string' ? new Exact(cell) : cell)
  if (column.type !== 'timestamp') return (cell) => cell
  const days = rows.every((cells) => isMidnight(cells[index] ?? null))
  return days ? (cell) => (typeof cell === 'string' ? cell.slice(0, 10) : cell) : (cell) => cell
}

const isMidnight = (cell: Cell): boolean => cell === null || (typeof cell === 'string' && MIDNIGHT.test(cell))

/**
 * Returns an outcome as templates see it. Lists of objects become rows, everything else stays. `schema` describes the
 * outcome: empty rows have its columns, and an optional field is null.
 */
export function outcomeObject(block: string, outcome: Outcome, schema: FieldSchema = {}): Row {
  const optional = Object.keys(schema.properties ?? {}).filter((name) => !Object.hasOwn(outcome, name))
  const found = withRows(outcome, { block, field: '', known: new Map() }, schema) as Row
  const object = { ...Object.fromEntries(optional.map((name) => [name, null])), ...found }
  homes.set(object, { block })
  return object
}

interface Place {
  block: string
  /** The names that lead to the value, with dots between them. */
  field: string
  /** The rows so far, by the object of the outcome, because one row may be in two lists. */
  known: Map<unknown, Origin>
}

const within = (place: Place, name: string | number): Place => ({
  ...place,
  field: place.field === '' ? String(name) : `${place.field}.${name}`,
})

function withRows(value: unknown, place: Place, schema: FieldSchema | undefined): unknown {
  const { block, field, known } = place
  if (Array.isArray(value)) {
    const items = value.map((item, index) => withRows(item, within(place, index), schema?.items))
    homes.set(items, { block, field })
    if (items.length > 0 && !items.every(isPlainObject)) return items
    for (const [row, item] of items.entries()) {
      const home = known.get(value[row]) ?? { block, field, row }
      known.set(value[row], home)
      homes.set(item as Row, home)
    }
    const rows = daysWhereMidnight(items as Row[])
    const described = Object.keys(schema?.items?.properties ?? {})
    const columns =
      rows.length === 0 ? described.map((name) => ({ name, type: 'other' as const })) : rowsInfo(rows).columns
    return describe(rows, { block, columns, total: rows.length })
  }
  if (!isPlainObject(value)) return value ?? null
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      withRows(item, within(place, key), schema?.properties?.[key]),
    ]),
  )
}

function daysWhereMidnight(rows: Row[]): Row[] {
  const keys = new Set(rows.flatMap((row) => Object.keys(row)))
  for (const key of keys) {
    const values = rows.map((row) => row[key] ?? null).filter((value) => value !== null)
    const days =
      values.length > 0 && values.every((value) => typeof value === 'string' && MIDNIGHT.test(value))
    if (days) for (const row of rows) if (typeof row[key] === 'string') row[key] = row[key].slice(0, 10)
  }
  return rows
}

function typeOf(values: unknown[]): ColumnType {
  const known = values.filter((value) => value !== null && value !== undefined)
  if (known.length === 0) return 'other'
  const all = (test: (value: unknown) => boolean): boolean => known.every(test)
  if (all((value) => typeof value === 'boolean')) return 'boolean'
  if (all((value) => typeof value === 'number' && Number.isSafeInteger(value))) return 'integer'
  if (all((value) => typeof value === 'number')) return 'number'
  if (all((value) => typeof value === 'number' || value instanceof Exact)) return 'decimal'
  if (all((value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value))) return 'date'
  if (all((value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(value)))
    return 'timestamp'
  return all((value) => typeof value === 'string') ? 'text' : 'other'
}
