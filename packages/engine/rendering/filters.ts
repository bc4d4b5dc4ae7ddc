/**
 * The filters of templates. From liquidjs an allow-list: those that are pure, deterministic and make no HTML. Our own replace
 * the ones that lose digits or ask the clock, and add what rows need.
 */
import { filters as builtIn, type Liquid } from 'liquidjs'
import { suggest } from '../language/near.ts'
import { datePattern, formatMoment, readMoment, strftimePattern } from '../printing/date-format.ts'
import { escapeMarkdown } from '../printing/escape.ts'
import { formatValue } from '../printing/format.ts'
import { printText } from '../printing/print.ts'
import { add, type Decimal, multiply, negate, roundTo, toDecimal } from '../values/decimal.ts'
import { compareNumeric, fromDecimal, meanOf, type Numeric, sumOf, toNumeric } from '../values/numbers.ts'
import { Exact, isPlainObject, isRows, type Row, rowsInfo, Safe, toCell } from '../values/rows.ts'

/** What a filter cannot do: it becomes a fault at the filter's place. */
export class FilterError extends Error {
  readonly remedy: string

  constructor(message: string, remedy: string) {
    super(message)
    this.remedy = remedy
  }
}

const KEPT = [
  ...'append prepend upcase downcase capitalize strip lstrip rstrip split replace replace_first'.split(' '),
  ...'replace_last remove remove_first remove_last truncate truncatewords slice reverse uniq'.split(' '),
  ...'compact concat map where reject group_by find has default url_encode'.split(' '),
]

type Filter = (value: unknown, ...args: unknown[]) => unknown

function numeric(value: unknown, filter: string): Numeric {
  const number = toNumeric(value)
  if (number !== null) return number
  throw new FilterError(`${filter} needs a number, not ${shown(value)}.`, 'Choose another value.')
}

function shown(value: unknown): string {
  const text = JSON.stringify(toCell(value)) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

function list(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  return value === null || value === undefined ? [] : [value]
}

/** The values of a column, or the items themselves. */
function items(value: unknown, column: unknown, filter: string): unknown[] {
  if (!Array.isArray(value)) {
    throw new FilterError(`${filter} needs rows or a list, not ${shown(value)}.`, 'Name a block.')
  }
  if (column === undefined) {
    if (isRows(value) && value.length > 0) {
      const columns = rowsInfo(value).columns.map(({ name }) => name)
      throw new FilterError(`${filter} needs a column.`, `Write ${filter}: "${columns[0]}".`)
    }
    return value
  }
  if (typeof column !== 'string') throw new FilterError(`${filter} needs a column's name in quotes.`, '')
  return pluck(value, column)
}

function pluck(value: unknown[], column: string): unknown[] {
  const known = rowsInfo(value as Row[]).columns.map(({ name }) => name)
  const missing = value.some((row) => !isPlainObject(row) || !Object.hasOwn(row, column))
  if (missing || (known.length > 0 && !known.includes(column))) {
    throw new FilterError(`There is no column ${JSON.stringify(column)}.`, suggest(column, known))
  }
  return value.map((row) => (row as Row)[column])
}

const present = (values: unknown[]): unknown[] =>
  values.filter((value) => value !== null && value !== undefined)

function aggregate(filter: string, reduce: (values: Numeric[]) => Numeric | null): Filter {
  return (value, column) => reduce(present(items(value, column, filter)).map((item) => numeric(item, filter)))
}

/** Numbers by size, anything else by its text (ISO dates compare as dates do). */
function order(left: unknown, right: unknown): number {
  const [a, b] = [toNumeric(left), toNumeric(right)]
  if (a !== null && b !== null) return compareNumeric(a, b)
  const [x, y] = [printText(left), printText(right)]
  return x < y ? -1 : x > y ? 1 : 0
}

function extreme(filter: string, sign: 1 | -1): Filter {
  return (value, column) => {
    const values = present(items(value, column, filter))
    return values.reduce<unknown>(
      (best, item) => (best === null || order(item, best) * sign < 0 ? item : best),
      null,
    )
  }
}

function sort(value: unknown, column?: unknown): unknown[] {
  const rows = list(value)
  if (column === undefined) return rows.toSorted(nullsLast)
  const keys = items(rows, column, 'sort')
  const indexes = rows.map((_, index) => index).toSorted((a, b) => nullsLast(keys[a], keys[b]))
  return indexes.map((index) => rows[index])
}

function nullsLast(left: unknown, right: unknown): number {
  const [a, b] = [left ?? null, right ?? null]
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  return order(a, b)
}

/** Exact where both sides are decimals by their text; doubles stay doubles. */
function arithmetic(name: string, exact: (a: Decimal, b: Decimal) => Decimal): Filter {
  return (value, operand) => {
    const [left, right] = [numeric(value, name), numeric(operand, name)]
    const [a, b] = [toDecimal(String(left)), toDecimal(String(right))]
    if (!a || !b) return name === 'times' ? Number(left) * Number(right) : Number.NaN
    const keep =
      left instanceof Exact || right instanceof Exact || (Number.isInteger(left) && Number.isInteger(right))
    return fromDecimal(exact(a, b), keep)
  }
}

function divide(name: string, compute: (a: number, b: number) => number): Filter {
  return (value, operand) => {
    const [left, right] = [Number(numeric(value, name)), Number(numeric(operand, name))]
    if (right === 0) throw new FilterError(`${name} by zero.`, 'Guard it with {% if %}, or divide in SQL.')
    return compute(left, right)
  }
}

function round(value: unknown, places: unknown = 0): Numeric {
  const number = numeric(value, 'round')
  const scale = Number(numeric(places, 'round'))
  const decimal = toDecimal(String(number))
  if (!Number.isInteger(scale) || scale < 0 || scale > 20) {
    throw new FilterError('round takes 0 to 20 places.', 'Give a whole number.')
  }
  return decimal ? fromDecimal(roundTo(decimal, scale), number instanceof Exact) : number
}

function whole(name: 'ceil' | 'floor', direction: 1n | -1n): Filter {
  return (value) => {
    const number = numeric(value, name)
    const decimal = toDecimal(String(number))
    if (!decimal) return number
    const unit = 10n ** BigInt(decimal.scale)
    const cut = decimal.digits / unit
    const exact = cut * unit === decimal.digits
    const away = decimal.digits > 0n === direction > 0n
    return fromDecimal({ digits: exact || !away ? cut : cut + direction, scale: 0 }, true)
  }
}

function fmt(value: unknown, code: unknown): unknown {
  if (typeof code !== 'string') throw new FilterError('fmt needs a code in quotes.', 'Write fmt: "num0".')
  if (Array.isArray(value)) return value.map((item) => formatValue(toCell(item), code))
  return formatValue(toCell(value), code)
}

/** "+1.2", "-3", "0": a change with its sign. */
function delta(value: unknown, code?: unknown): string {
  if (value === null || value === undefined) return ''
  const number = numeric(value, 'delta')
  const text = typeof code === 'string' ? formatValue(toCell(number), code) : printText(number)
  const zero = !/[1-9]/.test(text)
  return text.startsWith('-') || zero ? text : `+${text}`
}

/** Only what the value says: neither "now" nor the machine's zone. */
function date(value: unknown, pattern: unknown = 'date'): string {
  if (value === null || value === undefined) return ''
  const moment = typeof value === 'string' ? readMoment(value) : null
  if (!moment) {
    throw new FilterError(`date needs a date, not ${shown(value)}.`, 'There is no "now": use run.started_at.')
  }
  const tokens = typeof pattern === 'string' ? (strftimePattern(pattern) ?? datePattern(pattern)) : null
  if (!tokens) throw new FilterError(`${shown(pattern)} is no date pattern.`, 'Use one such as "d mmm yyyy".')
  return formatMoment(moment, tokens)
}

const OWN: Record<string, Filter> = {
  fmt,
  delta,
  date,
  sort,
  round,
  sum: aggregate('sum', sumOf),
  mean: aggregate('mean', meanOf),
  min: extreme('min', 1),
  max: extreme('max', -1),
  first: (value, column) => firstOf(value, column, 'first', 0),
  last: (value, column) => firstOf(value, column, 'last', -1),
  pluck: (value, column) => items(value, column, 'pluck'),
  size: (value) => (isRows(value) ? rowsInfo(value).total : sizeOf(value)),
  join: (value, glue = ', ') => list(value).map(printText).join(String(glue)),
  escape: (value) => new Safe(escapeMarkdown(printText(value))),
  plus: arithmetic('plus', add),
  minus: arithmetic('minus', (a, b) => add(a, negate(b))),
  times: arithmetic('times', multiply),
  divided_by: divide('divided_by', (a, b) => a / b),
  modulo: divide('modulo', (a, b) => ((a % b) + b) % b),
  abs: (value) => {
    const number = numeric(value, 'abs')
    return number instanceof Exact ? new Exact(number.toString().replace('-', '')) : Math.abs(number)
  },
  ceil: whole('ceil', 1n),
  floor: whole('floor', -1n),
  at_least: (value, bound) =>
    compareNumeric(numeric(value, 'at_least'), numeric(bound, 'at_least')) < 0 ? bound : value,
  at_most: (value, bound) =>
    compareNumeric(numeric(value, 'at_most'), numeric(bound, 'at_most')) > 0 ? bound : value,
}

function firstOf(value: unknown, column: unknown, filter: string, index: number): unknown {
  if (column === undefined) return list(value).at(index) ?? null
  return items(value, column, filter).at(index) ?? null
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Array.from(value).length
  if (Array.isArray(value)) return value.length
  return isPlainObject(value) ? Object.keys(value).length : 0
}

export const FILTERS: readonly string[] = [...KEPT, ...Object.keys(OWN), 'raw'].toSorted()

/** Filters that read a column of rows, named by their first argument. */
export const COLUMN_FILTERS = new Set(
  'sum mean min max first last pluck sort map where reject group_by'.split(' '),
)

export function registerFilters(engine: Liquid): void {
  for (const name of Object.keys(engine.filters)) engine.unregisterFilter(name)
  for (const name of KEPT) engine.registerFilter(name, builtIn[name] as never)
  for (const [name, filter] of Object.entries(OWN)) engine.registerFilter(name, filter as never)
  engine.registerFilter('raw', {
    raw: true,
    handler: (value: unknown) => new Safe(value instanceof Safe ? value.toString() : printText(value)),
  })
}
