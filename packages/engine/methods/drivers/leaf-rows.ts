/**
 * Reads the rows of leaves from DuckDB, one for each combination of values and side. Values are fetched as codes,
 * several in one number, and each name once, because rows of names would take most of the time of a search.
 */
import type { Cell, Column } from '@assay/model/insight'
import { cellSql, columnOf, numberSql } from '../shared/columns.ts'
import type { Relation } from '../shared/method.ts'
import type { Options } from './options.ts'
import type { Side } from './sides.ts'

/** The sums of one side, by leaf. Sums that the question does not need stay 0. */
export interface Sums {
  rows: Float64Array
  top: Float64Array
  bottom: Float64Array
  /** Sums of squares and of products. */
  top2: Float64Array
  bottom2: Float64Array
  product: Float64Array
}

export interface LeafRows {
  /** The names, by attribute and code. `rare` is the code of the rare values that were joined, or -1. */
  names: Cell[][]
  rare: number[]
  /** The code of each row, by attribute. */
  codes: Int32Array[]
  /** The side of each row. */
  side: Int32Array
  sums: Sums
}

const SUMS = {
  rows: 'count(*)::double',
  top: 'fsum(a)',
  bottom: 'fsum(b)',
  top2: 'fsum(a * a)',
  bottom2: 'fsum(b * b)',
  product: 'fsum(a * b)',
} satisfies Record<keyof Sums, string>
export const SUM_NAMES = Object.keys(SUMS) as (keyof Sums)[]

export const emptySums = (n: number): Sums =>
  Object.fromEntries(SUM_NAMES.map((name) => [name, new Float64Array(n)])) as unknown as Sums

/** The number of attributes whose codes, at most 300,000 each, fit into one number below 2^53. */
const IN_A_NUMBER = 2

function neededFor({ expected, denominator }: Options): (keyof Sums)[] {
  if (expected !== undefined) return ['rows', 'top', 'bottom']
  return denominator === undefined ? ['rows', 'top', 'top2'] : SUM_NAMES
}

/**
 * Returns SQL with the columns d0, d1, ... (the values), r0, r1, ... (whether the value is one of the joined rare
 * ones), side, a and b.
 */
function valuesSql(table: Relation, options: Options, side: string, kept: number | null): string {
  const top = numberSql(
    table,
    options.value === undefined ? 'numerator' : 'value',
    options.value ?? options.numerator!,
  )
  const bottom =
    options.denominator !== undefined
      ? numberSql(table, 'denominator', options.denominator)
      : options.expected === undefined
        ? '1::double'
        : numberSql(table, 'expected', options.expected)
  const each = (sql: (index: number) => string): string => options.by.map((_, index) => sql(index)).join(', ')
  const columns = each((index) => `${cellSql(columnOf(table, 'by', options.by[index]!))} as d${index}`)
  const rows = `select ${columns}, ${side} as side, ${top} as a, ${bottom} as b from ${table.relation}`
  const finite = `select * from (${rows}) where side >= 0 and isfinite(a) and isfinite(b)`
  if (kept === null) return `select *, ${each((index) => `false as r${index}`)} from (${finite})`
  const largest = each(
    (i) => `v${i} as (select d${i} as v from kept group by 1 order by sum(abs(a)) desc, 1 limit ${kept})`,
  )
  const named = each(
    (i) =>
      `case when d${i} in (select v from v${i}) then d${i} end as d${i}, d${i} not in (select v from v${i}) and d${i} is not null as r${i}`,
  )
  return `with kept as (${finite}), ${largest} select ${named}, side, a, b from kept`
}

/**
 * Returns SQL that gives a row for each value of attribute i (side is -1 - i, `k0` its code, `top` 1 for the joined
 * rare ones, and its name), then one for each leaf and side with its codes in k0, k1, ...
 */
function leavesSql(values: string, needed: readonly string[], attributes: number, most: number): string {
  const all = Array.from({ length: attributes }, (_, index) => index)
  const each = (sql: (index: number) => string, between = ', '): string => all.map(sql).join(between)
  const parts = partsOf(attributes)
  const sums = needed.map((name) => `${SUMS[name as keyof Sums]} as ${name}`).join(', ')
  const codes = each(
    (i) =>
      `n${i} as (select d${i} as v, r${i} as rare, row_number() over (order by r${i}, d${i} nulls first) - 1 as code from leaves group by 1, 2)`,
  )
  const key = ([first, ...rest]: number[]): string =>
    rest.reduce((sql, i) => `(${sql} * (select count(*) from n${i}) + n${i}.code)`, `n${first}.code::double`)
  const zeros = (names: readonly string[]): string => names.map((name) => `, 0 as ${name}`).join('')
  const name = (i: number): string =>
    `select ${-1 - i} as side, code::double as k0${zeros(parts.slice(1).map((_, part) => `k${part + 1}`))}, ${needed.map((one) => (one === 'top' ? 'rare::int::double as top' : `0 as ${one}`)).join(', ')}, cast(v as varchar) as name from n${i}`
  const joined = each(
    (i) => `join n${i} on leaves.d${i} is not distinct from n${i}.v and leaves.r${i} = n${i}.rare`,
    ' ',
  )
  return `with rows_of_leaves as (${values}),
    leaves as materialized (select ${each((i) => `d${i}, r${i}`)}, side, ${sums} from rows_of_leaves group by all limit ${most + 1}),
    ${codes}
    ${each(name, ' union all ')}
    union all select side, ${parts.map((part, index) => `${key(part)} as k${index}`).join(', ')}, ${needed.join(', ')}, null from leaves ${joined}
    order by all`
}

const partsOf = (attributes: number): number[][] =>
  Array.from({ length: Math.ceil(attributes / IN_A_NUMBER) }, (_, part) =>
    Array.from({ length: attributes }, (_, index) => index).slice(
      part * IN_A_NUMBER,
      (part + 1) * IN_A_NUMBER,
    ),
  )

/** Returns SQL of the number of the side that a row belongs to; -1 for no side. */
export const sideSql = (sides: readonly Side[]): string =>
  `case ${sides.map(({ where }, index) => `when ${where} then ${index}`).join(' ')} else -1 end`

/** Returns at most `most` rows, or null if there are more. `side` is SQL: a number from 0 on, or -1 for no side. */
export async function leafRows(
  table: Relation,
  options: Options,
  side: string,
  kept: number | null,
  most: number,
): Promise<LeafRows | null> {
  const attributes = options.by.length
  const needed = neededFor(options)
  const sql = leavesSql(valuesSql(table, options, side, kept), needed, attributes, most)
  const found = await table.query(sql)
  const rows = found.filter((row) => (row.side as number) >= 0)
  if (rows.length > most) return null
  const names = options.by.map((): Cell[] => [])
  const rare = options.by.map(() => -1)
  for (const row of found) {
    const attribute = -1 - (row.side as number)
    if (attribute < 0) continue
    const code = row.k0 as number
    if (row.top === 1) rare[attribute] = code
    names[attribute]![code] = valueOf(
      row.name as string | null,
      columnOf(table, 'by', options.by[attribute]!),
    )
  }
  const codes = options.by.map(() => new Int32Array(rows.length))
  const sides = Int32Array.from(rows, (row) => row.side as number)
  const sums = emptySums(rows.length)
  for (const name of needed) sums[name] = Float64Array.from(rows, (row) => row[name] as number)
  for (const [part, members] of partsOf(attributes).entries()) {
    for (const [row, cells] of rows.entries()) {
      let key = cells[`k${part}`] as number
      for (const attribute of members.toReversed()) {
        const size = attribute === members[0] ? Infinity : names[attribute]!.length
        const code = size === Infinity ? key : key % size
        codes[attribute]![row] = code
        key = (key - code) / size
      }
    }
  }
  return { names, rare, codes, side: sides, sums }
}

/** Returns the cell of a column from its name, which is fetched as text. */
function valueOf(name: string | null, { type }: Column): Cell {
  if (name === null) return null
  if (type === 'boolean') return name === 'true'
  if (type === 'number')
    return name.endsWith('inf') ? (name.startsWith('-') ? -Infinity : Infinity) : Number(name)
  return type === 'integer' && Number.isSafeInteger(Number(name)) ? Number(name) : name
}
