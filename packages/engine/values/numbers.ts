/** Sums and means, exact for decimals and correctly rounded for doubles, so the order of the terms does not matter. */
import { exactSum } from '../numeric/sum.ts'
import { add, compare, type Decimal, toDecimal, toNumber, toText } from './decimal.ts'
import { Exact, Rounded } from './value.ts'

export type Numeric = number | Exact

/**
 * Returns the number of a value; null if it is not one. The texts NaN, Infinity and -Infinity are numbers, because
 * cells hold them so.
 */
export function toNumeric(value: unknown): Numeric | null {
  if (typeof value === 'number' || value instanceof Exact) return value
  if (value instanceof Rounded) return value.valueOf()
  if (typeof value === 'bigint') return fromDecimal({ digits: value, scale: 0 }, true)
  if (value === 'NaN' || value === 'Infinity' || value === '-Infinity') return Number(value)
  const decimal = typeof value === 'string' ? toDecimal(value) : null
  return decimal ? fromDecimal(decimal, true) : null
}

/** Returns the number of a decimal. `exact` keeps digits that a double would lose. */
export function fromDecimal(value: Decimal, exact: boolean): Numeric {
  const text = toText(value)
  const number = toNumber(value)
  const back = toDecimal(number)
  const same = back !== null && compare(back, value) === 0
  return !exact || (same && Math.abs(number) <= Number.MAX_SAFE_INTEGER) ? number : new Exact(text)
}

function decimalOf(value: Numeric): Decimal | null {
  return toDecimal(value instanceof Exact ? value.toString() : value)
}

/**
 * Returns the sum; zero for an empty list. Doubles alone are summed as doubles, correctly rounded; a list with
 * decimals is summed exactly.
 */
export function sumOf(values: Numeric[]): Numeric {
  if (values.every((value) => typeof value === 'number')) return exactSum(values)
  let sum: Decimal = { digits: 0n, scale: 0 }
  for (const value of values) {
    const decimal = decimalOf(value)
    if (!decimal) return values.reduce<number>((total, item) => total + Number(item), 0)
    sum = add(sum, decimal)
  }
  return fromDecimal(sum, true)
}

/** Returns the mean; null for an empty list. */
export function meanOf(values: Numeric[]): number | null {
  return values.length === 0 ? null : Number(sumOf(values)) / values.length
}

/** Returns a number below zero, zero or above. The comparison is exact. */
export function compareNumeric(left: Numeric, right: Numeric): number {
  const [a, b] = [decimalOf(left), decimalOf(right)]
  return a && b ? compare(a, b) : Number(left) - Number(right)
}
