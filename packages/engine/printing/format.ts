/**
 * Prints values by `fmt` codes, which are named as in Evidence: num0..num4, num0k/m/b, pct0..pct3, currencies (usd,
 * eur0, gbp1k, ...), mult, sci, id, dates. `brief` and pts0..pts3 are ours. Decimals and big integers are exact,
 * halves round away from zero, the machine's locale is not used.
 */
import type { Cell } from '@assay/model/insight'
import { type Decimal, roundTo, shift, toDecimal, toText } from '../values/decimal.ts'
import { suggest } from '../values/near.ts'
import { ValueError } from '../values/value.ts'
import { brief } from '../verdicts/words.ts'
import { CURRENCIES } from './currencies.ts'
import { DATE_CODES, datePattern, formatMoment, readMoment } from './date-format.ts'

const UNITS: Record<string, [powers: number, sign: string]> = {
  '': [0, ''],
  k: [3, 'k'],
  m: [6, 'M'],
  b: [9, 'B'],
}
const CODE = /^(num|pct|pts|mult|sci|brief|[a-z]{3})([0-4])?([kmb])?$/

/** The codes for suggestions and the documentation. */
export const FORMAT_CODES: readonly string[] = [
  ...'num num0 num1 num2 num3 num4 num0k num1k num2k num0m num1m num2m num0b num1b num2b'.split(' '),
  ...'pct pct0 pct1 pct2 pct3 pts pts0 pts1 pts2 pts3 id brief mult mult0 mult1 mult2 sci'.split(' '),
  ...Object.keys(CURRENCIES).flatMap((name) => [name, `${name}0`, `${name}1`, `${name}2`, `${name}0k`]),
  ...DATE_CODES,
]

type Printer = (cell: Cell) => string
const printers = new Map<string, Printer>()

/** Checks a code. Throws ValueError for an unknown one. */
export function checkFormat(code: string): void {
  printerOf(code)
}

/** Formats a value. Null prints as nothing. Throws ValueError. */
export function formatValue(cell: Cell, code: string): string {
  return cell === null ? '' : printerOf(code)(cell)
}

/** Formats a count with commas between thousands. */
export function formatCount(count: number): string {
  return formatValue(count, 'num0')
}

function printerOf(code: string): Printer {
  let printer = printers.get(code)
  if (!printer) {
    printer = makePrinter(code)
    if (printers.size < 1000) printers.set(code, printer)
  }
  return printer
}

function makePrinter(code: string): Printer {
  if (code === 'id') return (cell) => plainText(cell)
  const tokens = DATE_CODES.includes(code) || /[ymdhs]{1,4}[-/ ,.:]/.test(code) ? datePattern(code) : null
  if (tokens) return (cell) => formatMoment(momentOf(cell, code), tokens)
  const match = CODE.exec(code)
  const printer = match && numberPrinter(match[1]!, match[2], match[3] ?? '')
  if (!printer) {
    throw new ValueError(`There is no format ${JSON.stringify(code)}.`, suggest(code, FORMAT_CODES))
  }
  return (cell) => {
    const number = typeof cell === 'number' || typeof cell === 'string' ? toDecimal(cell) : null
    if (number) return printer(number)
    if (cell === 'NaN' || cell === 'Infinity' || cell === '-Infinity') return cell
    throw new ValueError(
      `The format ${code} needs a number, not ${JSON.stringify(cell)}.`,
      'Choose another value or format.',
    )
  }
}

function momentOf(cell: Cell, code: string): NonNullable<ReturnType<typeof readMoment>> {
  const moment = typeof cell === 'string' ? readMoment(cell) : null
  if (moment) return moment
  throw new ValueError(
    `The format ${code} needs a date, not ${JSON.stringify(cell)}.`,
    'Choose another value or format.',
  )
}

function numberPrinter(
  kind: string,
  places: string | undefined,
  unit: string,
): ((value: Decimal) => string) | null {
  const given = places === undefined ? null : Number(places)
  if (kind === 'brief') return unit || given !== null ? null : briefly
  if (kind === 'sci') return unit || given !== null ? null : scientific
  if (kind === 'mult') return unit ? null : (value) => `${grouped(value, given ?? 1)}x`
  if (kind === 'pct' || kind === 'pts') {
    if (unit || given === 4) return null
    return (value) => {
      const hundredfold = shift(value, 2)
      const text = grouped(hundredfold, given ?? (isAtLeast(hundredfold, 10n) ? 0 : 1))
      return `${text} ${kind === 'pct' ? '%' : /^-?1$/.test(text) ? 'point' : 'points'}`
    }
  }
  const sign = kind === 'num' ? '' : CURRENCIES[kind]
  if (sign === undefined || (unit !== '' && given === null) || (kind !== 'num' && (given ?? 0) > 2))
    return null
  const [powers, suffix] = UNITS[unit]!
  return (value) => {
    const scaled = shift(value, -powers)
    const digits = grouped(scaled, given ?? (isAtLeast(value, 100n) ? 0 : 2))
    return digits.startsWith('-') ? `-${sign}${digits.slice(1)}${suffix}` : `${sign}${digits}${suffix}`
  }
}

function isAtLeast(value: Decimal, bound: bigint): boolean {
  const size = value.digits < 0n ? -value.digits : value.digits
  return size >= bound * 10n ** BigInt(value.scale)
}

/** Formats a number as "-1,234.50". */
function grouped(value: Decimal, places: number): string {
  const text = toText(roundTo(value, places))
  const [, sign, whole, fraction] = /^(-?)(\d+)(\.\d+)?$/.exec(text)!
  const zero = /^0+$/.test(whole! + (fraction ?? '.').slice(1))
  return `${zero ? '' : sign}${whole!.replace(/\B(?=(\d{3})+$)/g, ',')}${fraction ?? ''}`
}

/** Formats a number as the sentences of analyses do: at most three significant digits. */
function briefly(value: Decimal): string {
  const number = Number(toText(value))
  return number < 0 ? `-${brief(-number)}` : brief(number)
}

/** Formats a number as "1.23e+4", which is Evidence's 0.00E+0 in lower case. */
function scientific(value: Decimal): string {
  return Number(toText(value)).toExponential(2)
}

function plainText(cell: Cell): string {
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
}
