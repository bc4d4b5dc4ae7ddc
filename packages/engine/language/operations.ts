/** The meaning of Liquid's operators, steps and loops for the values of templates. */
import { compareNumeric, toNumeric } from '../values/numbers.ts'
import { Exact, isPlainObject, Markdown, Rounded } from '../values/value.ts'
import { BLANK, EMPTY } from './expressions.ts'

/** Tells whether a value is true. Only false and null are false. */
export function isTruthy(value: unknown): boolean {
  return value !== false && value !== null && value !== undefined
}

/** Returns `value.key` or `value[key]`; undefined if there is none. Null has only null in it. */
export function property(value: unknown, key: unknown): unknown {
  if (value === null || value === undefined) return null
  if (typeof value === 'string' || value instanceof Markdown) {
    return key === 'size' ? Array.from(String(value)).length : undefined
  }
  if (Array.isArray(value)) return itemOf(value, key)
  if (!isPlainObject(value) || !isScalar(key)) return undefined
  const name = String(key)
  if (Object.hasOwn(value, name)) return value[name] ?? null
  return name === 'size' ? Object.keys(value).length : undefined
}

/** Returns an item of a list. Rows also have `size`, `columns` and `truncated` as properties. */
function itemOf(list: unknown[], key: unknown): unknown {
  if (typeof key === 'number') return itemAt(list, key)
  if (typeof key !== 'string' || key === 'length') return undefined
  if (Object.hasOwn(list, key)) return list[key as never] ?? null
  if (key === 'size') return list.length
  if (key === 'first') return itemAt(list, 0)
  return key === 'last' ? itemAt(list, -1) : undefined
}

function itemAt(list: unknown[], index: number): unknown {
  return Object.hasOwn(list, index < 0 ? list.length + index : index) ? (list.at(index) ?? null) : undefined
}

/** Replaces an item that a list does not have. */
export interface AbsentItem {
  /** Returns null for a column of the rows, undefined for a name that they lack. */
  property(key: unknown): null | undefined
}

/** Returns the absent item of `list[7]`, `list.first` or `list.last`. Null if the step asks for something else. */
export function absentItem(list: unknown, key: unknown): AbsentItem | null {
  const place = Number.isInteger(key) || key === 'first' || key === 'last'
  if (!Array.isArray(list) || !place) return null
  const columns: unknown = Object.hasOwn(list, 'columns') ? list['columns' as never] : []
  const known = Array.isArray(columns) && columns.length > 0 ? columns : null
  return { property: (name) => (known === null || known.includes(name) ? null : undefined) }
}

/** Returns the items of a loop: those of a list, the entries of a map, or a text as a whole. */
export function itemsOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  if (isPlainObject(value)) return Object.entries(value)
  const text = value instanceof Markdown ? value.toString() : value
  return typeof text === 'string' && text !== '' ? [text] : []
}

function plain(value: unknown): unknown {
  if (value instanceof Markdown) return value.toString()
  return value instanceof Rounded ? value.valueOf() : value
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'string' || Array.isArray(value)) return value.length === 0
  return isPlainObject(value) && Object.keys(value).length === 0
}

function isBlank(value: unknown): boolean {
  if (value === false || value === null || value === undefined) return true
  return typeof value === 'string' ? value.trim() === '' : isEmpty(value)
}

export function areEqual(left: unknown, right: unknown): boolean {
  const [a, b] = [plain(left) ?? null, plain(right) ?? null]
  if (a === EMPTY || b === EMPTY) return isEmpty(a === EMPTY ? b : a)
  if (a === BLANK || b === BLANK) return isBlank(a === BLANK ? b : a)
  if (a instanceof Exact || b instanceof Exact) return order(a, b) === 0
  // Captured text equals any value that reads the same.
  const captured = left instanceof Markdown || right instanceof Markdown
  if (captured && isScalar(a) && isScalar(b)) return String(a) === String(b)
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b
  return a.length === b.length && a.every((item, index) => areEqual(item, b[index]))
}

/** Returns a number below zero, zero or above; NaN if one of two numbers is NaN. */
function order(left: unknown, right: unknown): number {
  const [a, b] = [toNumeric(left), toNumeric(right)]
  return a === null || b === null ? Number.NaN : compareNumeric(a, b)
}

const isScalar = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/**
 * Tells whether the left value is less. Null is neither less nor greater than anything. Texts compare by their
 * characters.
 */
function isLess(left: unknown, right: unknown, orEqual: boolean): boolean {
  const [a, b] = [plain(left), plain(right)]
  if (a instanceof Exact || b instanceof Exact) {
    const found = order(a, b)
    return orEqual ? found <= 0 : found < 0
  }
  return isScalar(a) && isScalar(b) && (orEqual ? a <= b : a < b)
}

function contains(left: unknown, right: unknown): boolean {
  if (Array.isArray(left)) return left.some((item) => areEqual(item, right))
  const [text, part] = [plain(left), plain(right)]
  if (typeof text !== 'string') return false
  return (isScalar(part) || part instanceof Exact) && text.includes(String(part))
}

export function compare(operator: string, left: unknown, right: unknown): boolean {
  switch (operator) {
    case '==':
      return areEqual(left, right)
    case '!=':
      return !areEqual(left, right)
    case '<':
      return isLess(left, right, false)
    case '<=':
      return isLess(left, right, true)
    case '>':
      return isLess(right, left, false)
    case '>=':
      return isLess(right, left, true)
    default:
      return contains(left, right)
  }
}
