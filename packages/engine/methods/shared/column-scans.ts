/**
 * Exact counts of many columns. Each query costs the width of the table beside its own columns, so that many share one; DuckDB
 * plans queries of more columns than these slower than several of them. The most frequent values of a short table are counted in one list
 * of several columns of a type; those of a long one beside a copy of a batch of columns, where that has at most `BATCH_CELLS` cells.
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

const RANGE_BATCH = 16
const TOP_BATCH = 32
/** Of a table of at most so many rows, planning a query costs more than counting: the columns of a type are counted as one list. */
const LISTED_ROWS = 10_000
const LIST_BATCH = 128
/** The values that one query may hold beside the table. */
const BATCH_CELLS = 2_000_000

export async function rangesOf(table: Relation, columns: readonly Column[]): Promise<Range[]> {
  const found: Range[] = []
  for (let from = 0; from < columns.length; from += RANGE_BATCH) {
    const batch = columns.slice(from, from + RANGE_BATCH)
    const parts = batch.flatMap((column, index) =>
      Object.entries(rangeSql(column)).map(([name, sql]) => `${sql} as ${name}${index}`),
    )
    const [row] = await table.query(`select ${parts.join(', ')} from ${table.relation}`)
    const part = (name: keyof Range, index: number): Cell => row![`${name}${index}`] ?? null
    const count = (name: keyof Range, index: number): number => Number(part(name, index))
    for (const index of batch.keys()) {
      const mean = part('mean', index)
      found.push({
        nulls: count('nulls', index),
        min: part('min', index),
        max: part('max', index),
        mean: typeof mean === 'number' && Number.isFinite(mean) ? mean : null,
        zeros: count('zeros', index),
        not_finite: count('not_finite', index),
      })
    }
  }
  return found
}

function rangeSql(column: Column): Record<keyof Range, string> {
  const name = quote(column.name)
  const numeric = isNumeric(column)
  const ordered = numeric || isTemporal(column) || column.type === 'text' || column.type === 'boolean'
  const doubles = `cast(${name} as double)`
  const cell = cellSql(column)
  // DuckDB sorts NaN above every number, so the range is taken over the finite values.
  const finite = numeric ? ` filter (isfinite(${doubles}))` : ''
  return {
    nulls: `count(*) - count(${name})`,
    min: ordered ? `min(${cell})${finite}` : 'null',
    max: ordered ? `max(${cell})${finite}` : 'null',
    mean: numeric ? `favg(${doubles})${finite}` : 'null',
    zeros: numeric ? `count(*) filter (${doubles} = 0)` : '0',
    not_finite: numeric ? `count(*) filter (not isfinite(${doubles}))` : '0',
  }
}

/** `n`: the rows of the table. */
export async function topsOf(table: Relation, columns: readonly Column[], n: number): Promise<Top[]> {
  const found = new Map<Column, Top>()
  const listed = n <= LISTED_ROWS
  const most = listed ? LIST_BATCH : TOP_BATCH
  const size = Math.min(most, Math.max(1, Math.floor(BATCH_CELLS / Math.max(1, n))))
  const groups = Map.groupBy(columns, listed ? ({ database_type }) => database_type : cellType)
  for (const group of groups.values()) {
    for (let from = 0; from < group.length; from += size) {
      const batch = group.slice(from, from + size)
      const sql = listed ? listedSql(table, batch) : copiedSql(table, batch)
      const tops = topsIn(await table.query(sql), batch.length)
      for (const [index, top] of tops.entries()) found.set(batch[index]!, top)
    }
  }
  return columns.map((column) => found.get(column)!)
}

/** Values of one type stay what they are where they are listed below each other. */
function cellType(column: Column): string {
  return isNumeric(column) || column.type === 'boolean' ? column.database_type : 'text'
}

/** The values of columns of one type below each other, counted at once. */
function listedSql(table: Relation, batch: readonly Column[]): string {
  const list = batch.map((column) => quote(column.name)).join(', ')
  const listed = `select unnest([${list}]) as v, unnest(range(${batch.length})) as place from ${table.relation}`
  const counts = `select place, v, count(*) as n from (${listed}) where v is not null group by all`
  const ranks = `row_number() over (partition by place order by n desc, v) as rank, count(*) over (partition by place) as distinct_values`
  return `select place, ${cellSql(batch[0]!, 'v')} as value, n, rank, distinct_values from (select *, ${ranks} from (${counts}))
    where rank <= 5 order by place, rank`
}

/** The columns are read once; a single one is not kept beside the table. */
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

/** An infinite or undefined number as a name that JSON can hold. */
function readable(value: Cell): Cell {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value
}
