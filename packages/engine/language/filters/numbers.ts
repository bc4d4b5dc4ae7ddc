/** Filters of numbers. They are exact for decimals and whole numbers; doubles stay doubles. */
import { add, type Decimal, multiply, negate, roundTo, toDecimal } from '../../values/decimal.ts'
import { compareNumeric, fromDecimal, type Numeric } from '../../values/numbers.ts'
import { Exact, Rounded, ValueError } from '../../values/value.ts'
import { count, type Filter, numeric } from './filter.ts'

/** Makes a filter of arithmetic. It is exact if both sides are decimals by their text. */
function arithmetic(name: string, exact: (a: Decimal, b: Decimal) => Decimal): Filter {
  return (value, [operand]) => {
    const [left, right] = [numeric(value, name), numeric(operand, name)]
    const [a, b] = [toDecimal(String(left)), toDecimal(String(right))]
    if (!a || !b) return name === 'times' ? Number(left) * Number(right) : Number.NaN
    const keep =
      left instanceof Exact || right instanceof Exact || (Number.isInteger(left) && Number.isInteger(right))
    return fromDecimal(exact(a, b), keep)
  }
}

function divide(name: string, compute: (a: number, b: number) => number): Filter {
  return (value, [operand]) => {
    const [left, right] = [Number(numeric(value, name)), Number(numeric(operand, name))]
    if (right === 0) throw new ValueError(`${name} by zero.`, 'Guard it with {% if %}, or divide in SQL.')
    return compute(left, right)
  }
}

/** Rounds a number. The result is printed with these digits. */
const round: Filter = (value, [places]): Numeric | Rounded => {
  const number = numeric(value, 'round')
  const scale = count(places, 'round', 0)
  const decimal = toDecimal(String(number))
  if (!Number.isInteger(scale) || scale < 0 || scale > 20) {
    throw new ValueError('round takes 0 to 20 places.', 'Give a whole number.')
  }
  if (!decimal) return number
  const rounded = fromDecimal(roundTo(decimal, scale), number instanceof Exact)
  return typeof rounded === 'number' && !Number.isInteger(rounded) ? new Rounded(rounded) : rounded
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

/** Makes a filter that returns the value, or the bound if the value lies beyond it. */
function bounded(name: string, sign: 1 | -1): Filter {
  return (value, [bound]) =>
    compareNumeric(numeric(value, name), numeric(bound, name)) * sign < 0 ? bound : value
}

const abs: Filter = (value) => {
  const number = numeric(value, 'abs')
  return number instanceof Exact ? new Exact(number.toString().replace('-', '')) : Math.abs(number)
}

/** Returns a filter that gives null for null, as SQL does. */
function passingNull(filter: Filter): Filter {
  return (value, args, context) =>
    value === null || value === undefined || args[0] === null ? null : filter(value, args, context)
}

const FILTERS: Record<string, Filter> = {
  round,
  abs,
  plus: arithmetic('plus', add),
  minus: arithmetic('minus', (a, b) => add(a, negate(b))),
  times: arithmetic('times', multiply),
  divided_by: divide('divided_by', (a, b) => a / b),
  modulo: divide('modulo', (a, b) => ((a % b) + b) % b),
  ceil: whole('ceil', 1n),
  floor: whole('floor', -1n),
  at_least: bounded('at_least', 1),
  at_most: bounded('at_most', -1),
}

export const NUMBER_FILTERS: Record<string, Filter> = Object.fromEntries(
  Object.entries(FILTERS).map(([name, filter]) => [name, passingNull(filter)]),
)
