/** Filters of lists and rows. Their first argument names a column. */
import { printText } from '../../printing/print.ts'
import { suggest } from '../../values/near.ts'
import { compareNumeric, meanOf, type Numeric, sumOf, toNumeric } from '../../values/numbers.ts'
import { isRows, rowsInfo } from '../../values/rows.ts'
import { Exact, isPlainObject, Markdown, Rounded, type Row, ValueError } from '../../values/value.ts'
import { areEqual, isTruthy, itemsOf, property } from '../operations.ts'
import { count, type Filter, listOf, numeric, shown, textOf } from './filter.ts'

/** Returns the values of a column, or the items themselves. */
function valuesOf(value: unknown, column: unknown, filter: string): unknown[] {
  if (!Array.isArray(value)) {
    throw new ValueError(`${filter} needs rows or a list, not ${shown(value)}.`, 'Name a block.')
  }
  if (column === undefined) {
    if (isRows(value) && value.length > 0) {
      const columns = rowsInfo(value).columns.map(({ name }) => name)
      throw new ValueError(`${filter} needs a column.`, `Write ${filter}: "${columns[0]}".`)
    }
    return value
  }
  if (typeof column !== 'string') throw new ValueError(`${filter} needs a column's name in quotes.`, '')
  return pluck(value, column)
}

function pluck(value: unknown[], column: string): unknown[] {
  const known = isRows(value) ? rowsInfo(value).columns.map(({ name }) => name) : []
  const missing = value.some((row) => !isPlainObject(row) || !Object.hasOwn(row, column))
  if (missing || (known.length > 0 && !known.includes(column))) {
    throw new ValueError(`There is no column ${JSON.stringify(column)}.`, suggest(column, known))
  }
  return value.map((row) => (row as Row)[column])
}

const present = (values: unknown[]): unknown[] =>
  values.filter((value) => value !== null && value !== undefined)

function aggregate(filter: string, reduce: (values: Numeric[]) => Numeric | null): Filter {
  return (value, [column]) =>
    reduce(present(valuesOf(value, column, filter)).map((item) => numeric(item, filter)))
}

/** Compares numbers by size, and anything else by its text. ISO dates compare as dates do. */
function order(left: unknown, right: unknown): number {
  const [a, b] = [toNumeric(left), toNumeric(right)]
  if (a !== null && b !== null) return compareNumeric(a, b)
  const [x, y] = [printText(left), printText(right)]
  return x < y ? -1 : x > y ? 1 : 0
}

function extreme(filter: string, sign: 1 | -1): Filter {
  return (value, [column]) =>
    present(valuesOf(value, column, filter)).reduce<unknown>(
      (best, item) => (best === null || order(item, best) * sign < 0 ? item : best),
      null,
    )
}

const sort: Filter = (value, [column]) => {
  const list = listOf(value)
  if (column === undefined) return list.toSorted(nullsLast)
  const keys = valuesOf(list, column, 'sort')
  const indexes = list.map((_, index) => index).toSorted((a, b) => nullsLast(keys[a], keys[b]))
  return indexes.map((index) => list[index])
}

function nullsLast(left: unknown, right: unknown): number {
  const [a, b] = [left ?? null, right ?? null]
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  return order(a, b)
}

function end(filter: string, index: 0 | -1): Filter {
  return (value, [column]) =>
    (column === undefined ? listOf(value) : valuesOf(value, column, filter)).at(index)
}

/** Returns the value at "a" or "a.b" of an item; undefined if there is none. */
function field(item: unknown, path: string): unknown {
  if (isPlainObject(item) && Object.hasOwn(item, path)) return item[path] ?? null
  return path
    .split('.')
    .reduce<unknown>((value, key) => (value === undefined ? undefined : property(value, key)), item)
}

function requiredField(item: unknown, path: unknown, filter: string): unknown {
  if (path === undefined) throw new ValueError(`${filter} needs a column.`, `Write ${filter}: "COLUMN".`)
  const value = item === null || item === undefined ? undefined : field(item, textOf(path))
  if (value !== undefined) return value
  const known = isPlainObject(item) ? Object.keys(item) : []
  throw new ValueError(`There is no column ${shown(path)}.`, suggest(textOf(path), known))
}

/** Returns a test whether an item's column equals the second argument. Without one it tests whether the column is true. */
function matcher(filter: string, [path, wanted]: readonly unknown[]): (item: unknown) => boolean {
  return (item) => {
    const value = requiredField(item, path, filter)
    return wanted === undefined ? isTruthy(value) : areEqual(value, wanted)
  }
}

/** Returns a value by which items are compared. Exact numbers and captured text are equal if they read the same. */
function identity(value: unknown): unknown {
  if (value instanceof Rounded) return value.valueOf()
  return value instanceof Exact || value instanceof Markdown ? `\0${value.toString()}` : value
}

const uniq: Filter = (value) => {
  const seen = new Set<unknown>()
  return listOf(value).filter((item) => !seen.has(identity(item)) && seen.add(identity(item)))
}

const groupBy: Filter = (value, [path]) => {
  const groups = new Map<unknown, { name: unknown; items: unknown[] }>()
  for (const item of itemsOf(value)) {
    const name = requiredField(item, path, 'group_by')
    const group = groups.get(identity(name)) ?? { name, items: [] }
    groups.set(identity(name), group)
    group.items.push(item)
  }
  return [...groups.values()]
}

const slice: Filter = (value, [begin, length]) => {
  if (value === null || value === undefined) return []
  const items = Array.isArray(value) ? (value as unknown[]) : Array.from(textOf(value))
  const most = count(length, 'slice', 1)
  const given = count(begin, 'slice', 0)
  const from = given < 0 ? items.length + given : given
  const part = from < 0 || most < 0 ? [] : items.slice(from, from + most)
  return Array.isArray(value) ? part : part.join('')
}

const join: Filter = (value, [glue], { budget }) => {
  const texts = listOf(value).map(printText)
  const between = glue === undefined || glue === null ? ', ' : textOf(glue)
  budget.spend(between.length * texts.length)
  return texts.join(between)
}

const size: Filter = (value) => {
  if (isRows(value)) return rowsInfo(value).total
  return isPlainObject(value) ? Object.keys(value).length : (property(value, 'size') ?? 0)
}

export const LIST_FILTERS: Record<string, Filter> = {
  sort,
  uniq,
  slice,
  join,
  size,
  sum: aggregate('sum', sumOf),
  mean: aggregate('mean', meanOf),
  min: extreme('min', 1),
  max: extreme('max', -1),
  first: end('first', 0),
  last: end('last', -1),
  pluck: (value, [column]) => valuesOf(value, column, 'pluck'),
  map: (value, [path]) => listOf(value).map((item) => field(item, textOf(path)) ?? null),
  where: (value, args) => listOf(value).filter(matcher('where', args)),
  reject: (value, args) => {
    const matches = matcher('reject', args)
    return listOf(value).filter((item) => !matches(item))
  },
  find: (value, args) => listOf(value).find(matcher('find', args)),
  has: (value, args) => listOf(value).some(matcher('has', args)),
  group_by: groupBy,
  reverse: (value) => listOf(value).toReversed(),
  compact: (value) => present(listOf(value)),
  concat: (value, [other]) => [...listOf(value), ...listOf(other)],
}
