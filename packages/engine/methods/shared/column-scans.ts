/**
 * Counts many columns exactly. Each query costs the width of the table in addition to its own columns, so many columns
 * share one. In a short table the columns of a type become one list, whose values are counted by position: DuckDB then
 * plans one expression, however many columns there are. In a long table that list would cost more memory than the
 * columns. So its columns are counted side by side, and the most frequent values from a copy of a batch of columns, if
 * that has at most `BATCH_CELLS` cells.
 */
import type { Cell, Column } from '@assay/model/insight'
import { cellSql, isNumeric, isTemporal } from './columns.ts'
import { quote, type Relation } from './method.ts'

export interface Range {
  nulls: number
  min: Cell
  max: Cell
  mean: number | null
  zeros: number
  not_finite: number
}

export interface Top {
  distinct: number
  /** The five most frequent values. */
  top: { value: Cell; n: number }[]
}

/** DuckDB plans one query with more columns side by side slower than several queries. */
const RANGE_BATCH = 16
const TOP_BATCH = 32
/**
 * The most rows of a table for which planning a query costs more than counting. The columns of a type are then counted
 * as one list.
 */
const LISTED_ROWS = 10_000
const LIST_BATCH = 1_024
/** The most values that one query may hold beside the table. */
const BATCH_CELLS = 2_000_000

/** Returns the ranges of columns. `n` is the number of rows of the table. */
export async function rangesOf(table: Relation, columns: readonly Column[], n: number): Promise<Range[]> {
  const listed = !table.unordered && n <= LISTED_ROWS
  const size = listed ? listSize(n) : RANGE_BATCH
  const groups = listed ? byType(columns) : [columns]
  return inBatches(columns, groups, size, async (batch) =>
    listed
      ? rangesIn(await table.query(listedRangesSql(table, batch)), batch.length)
      : besideIn(await table.query(besideSql(table, batch)), batch.length),
  )
}

/** Returns the most frequent values of columns. `n` is the number of rows of the table. */
export async function topsOf(table: Relation, columns: readonly Column[], n: number): Promise<Top[]> {
  const listed = !table.unordered && n <= LISTED_ROWS
  const size = listed ? listSize(n) : Math.min(TOP_BATCH, cellsSize(n))
  const kindOf = table.unordered ? ({ type }: Column): string => type : cellType
  const groups = listed ? byType(columns) : [...Map.groupBy(columns, kindOf).values()]
  return inBatches(columns, groups, size, async (batch) => {
    const sql = listed ? listedSql(table, batch) : copiedSql(table, batch)
    return topsIn(await table.query(sql), batch.length)
  })
}

const cellsSize = (n: number): number => Math.max(1, Math.floor(BATCH_CELLS / Math.max(1, n)))
const listSize = (n: number): number => Math.min(LIST_BATCH, cellsSize(n))

/** Groups columns by type, because only values of exactly one type can stand in a list as they are. */
const byType = (columns: readonly Column[]): (readonly Column[])[] => [
  ...Map.groupBy(columns, ({ database_type }) => database_type).values(),
]

/** Returns what `read` finds for each column of the groups, in the order of `columns`. */
async function inBatches<T>(
  columns: readonly Column[],
  groups: readonly (readonly Column[])[],
  size: number,
  read: (batch: readonly Column[]) => Promise<T[]>,
): Promise<T[]> {
  const found = new Map<Column, T>()
  for (const group of groups)
    for (let from = 0; from < group.length; from += size) {
      const batch = group.slice(from, from + size)
      for (const [index, one] of (await read(batch)).entries()) found.set(batch[index]!, one)
    }
  return columns.map((column) => found.get(column)!)
}

type Row = Record<string, Cell>

function rangeOf(row: Row | undefined, suffix: string): Range {
  const part = (name: keyof Range): Cell => row?.[`${name}${suffix}`] ?? null
  const mean = part('mean')
  return {
    nulls: Number(part('nulls')),
    min: part('min'),
    max: part('max'),
    mean: typeof mean === 'number' && Number.isFinite(mean) ? mean : null,
    zeros: Number(part('zeros')),
    not_finite: Number(part('not_finite')),
  }
}

/** Returns SQL of the ranges of columns in one row. */
function besideSql(table: Relation, batch: readonly Column[]): string {
  const parts = batch.flatMap((column, index) =>
    Object.entries(rangeSql(column, quote(column.name))).map(([name, sql]) => `${sql} as ${name}${index}`),
  )
  return `select ${parts.join(', ')} from ${table.relation}`
}

const besideIn = ([row]: readonly Row[], columns: number): Range[] =>
  Array.from({ length: columns }, (_, index) => rangeOf(row, String(index)))

/** Returns SQL of the ranges of columns of one type, a row for each. */
function listedRangesSql(table: Relation, batch: readonly Column[]): string {
  const parts = Object.entries(rangeSql(batch[0]!, 'v')).map(([name, sql]) => `${sql} as ${name}`)
  return `select place, ${parts.join(', ')} from (${listSql(table, batch)}) group by place`
}

/** Returns the ranges of `columns` columns. A table without rows has no values to list, so its ranges are empty. */
function rangesIn(rows: readonly Row[], columns: number): Range[] {
  const byPlace = new Map(rows.map((row) => [Number(row.place), row]))
  return Array.from({ length: columns }, (_, place) => rangeOf(byPlace.get(place), ''))
}

/** Returns SQL of a range. `value` is an expression of the column's type. */
function rangeSql(column: Column, value: string): Record<keyof Range, string> {
  const numeric = isNumeric(column)
  const ordered = numeric || isTemporal(column) || column.type === 'text' || column.type === 'boolean'
  const doubles = `cast(${value} as double)`
  const cell = cellSql(column, value)
  // DuckDB sorts NaN above every number, so the range is taken over the finite values.
  const finite = numeric ? ` filter (isfinite(${doubles}))` : ''
  return {
    nulls: `count(*) - count(${value})`,
    min: ordered ? `min(${cell})${finite}` : 'null',
    max: ordered ? `max(${cell})${finite}` : 'null',
    mean: numeric ? `favg(${doubles})${finite}` : 'null',
    zeros: numeric ? `count(*) filter (${doubles} = 0)` : '0',
    not_finite: numeric ? `count(*) filter (not isfinite(${doubles}))` : '0',
  }
}

/** Returns the type that keeps values as they are when they are listed below each other. */
function cellType(column: Column): string {
  return isNumeric(column) || column.type === 'boolean' ? column.database_type : 'text'
}

/** Returns SQL that lists the values of columns of one type below each other and counts them at once. */
function listedSql(table: Relation, batch: readonly Column[]): string {
  const counts = `select place, v, count(*) as n from (${listSql(table, batch)}) where v is not null group by all`
  const ranks = `row_number() over (partition by place order by n desc, v) as rank, count(*) over (partition by place) as distinct_values`
  return `select place, ${cellSql(batch[0]!, 'v')} as value, n, rank, distinct_values from (select *, ${ranks} from (${counts}))
    where rank <= 5 order by place, rank`
}

/** Returns SQL of the values `v` of columns of one type, each with its place among them. */
function listSql(table: Relation, batch: readonly Column[]): string {
  const list = batch.map((column) => quote(column.name)).join(', ')
  return `select unnest([${list}]) as v, unnest(range(${batch.length})) as place from ${table.relation}`
}

/** Reads the columns once into a copy. A single column is not copied. */
function copiedSql(table: Relation, batch: readonly Column[]): string {
  const names = batch.map((_, index) => `c${index}`)
  const columns = batch.map((column, index) => `${quote(column.name)} as ${names[index]}`)
  const narrow = `narrow as ${batch.length > 1 ? 'materialized ' : ''}(select ${columns.join(', ')} from ${table.relation})`
  const counts = names.map(
    (name, index) =>
      `counts${index} as materialized (select ${name} as v, count(*) as n from narrow where ${name} is not null group by 1)`,
  )
  const parts = batch.map(
    (column, index) =>
      `(select ${index} as place, ${cellSql(column, 'v')} as value, n, row_number() over (order by n desc, v) as rank,
         (select count(*) from counts${index}) as distinct_values from (from counts${index} order by n desc, v limit 5))`,
  )
  return `with ${[narrow, ...counts].join(', ')} select * from (${parts.join(' union all ')}) order by place, rank`
}

function topsIn(rows: Awaited<ReturnType<Relation['query']>>, columns: number): Top[] {
  const tops = Array.from({ length: columns }, (): Top => ({ distinct: 0, top: [] }))
  for (const { place, value, n, distinct_values } of rows) {
    const top = tops[place as number]!
    top.distinct = distinct_values as number
    top.top.push({ value: readable(value!), n: n as number })
  }
  return tops
}

/** Returns an infinite or undefined number as a name that JSON can hold, and other values as they are. */
function readable(value: Cell): Cell {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value
}
