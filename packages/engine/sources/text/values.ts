/**
 * Finds the readings that a value allows: which formats of numbers it fits, which orders of a date, whether it is a
 * time or a truth value. A column is read in the way that all its values allow (column-reading.ts).
 */

import { BLANKS, type WrittenNumber, writtenNumber } from './numbers/written-number.ts'

/** A way to write numbers. `groups`: the characters that may divide thousands; empty for none. */
export interface NumberFormat {
  decimal: '.' | ','
  groups: string
}

const APOSTROPHES = "'’"

/** The formats, in the order in which they are preferred if all give the same numbers. */
export const NUMBER_FORMATS: readonly NumberFormat[] = [
  { decimal: '.', groups: ',' },
  { decimal: ',', groups: '.' },
  { decimal: '.', groups: BLANKS },
  { decimal: ',', groups: BLANKS },
  { decimal: '.', groups: APOSTROPHES },
  { decimal: ',', groups: APOSTROPHES },
]

const escaped = (characters: string): string => characters.replace(/[.\\\]^-]/g, '\\$&')

/**
 * Returns the pattern of all numbers of a format, for JavaScript and for RE2. A number with a leading zero is a code,
 * not a number. A comma between thousands may also stand as in India: 12,34,567.
 */
export function numberPattern(format: NumberFormat, integer = false): string {
  return `-?${unsignedPattern(format, integer, true)}`
}

export function unsignedPattern(
  { decimal, groups }: NumberFormat,
  integer: boolean,
  exponents: boolean,
): string {
  const mark = decimal === '.' ? '\\.' : ','
  const lakhs = groups === ',' ? '|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}' : ''
  const grouped = groups === '' ? '' : `|[1-9][0-9]{0,2}(?:[${escaped(groups)}][0-9]{3})+${lakhs}`
  if (integer) return `(?:0|[1-9][0-9]*${grouped})`
  const exponent = exponents ? '(?:[eE][+-]?[0-9]+)?' : ''
  return `(?:(?:0|[1-9][0-9]*${grouped})(?:${mark}[0-9]*)?${exponent}|${mark}[0-9]+${exponent})`
}

const PATTERNS = NUMBER_FORMATS.map((format) => new RegExp(`^${numberPattern(format)}$`))
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/
const NOT_FINITE = /^[+-]?(?:nan|inf(?:inity)?)$/i
const SHORT_DIGITS = 18

export const DMY = 1
export const MDY = 2
export const YMD = 4

export interface DateShape {
  separator: string
  /** The number of digits of the year: 2 or 4. */
  year: number
  /** The time after the date: its separator and its format of strptime; empty for none. */
  time: string
  zone: boolean
}

export type Reading =
  | {
      kind: 'number'
      formats: number
      integer: 'short' | 'long' | null
      marked: boolean
      /** The signs around the number; absent for none, or a hyphen in front. */
      written?: WrittenNumber
    }
  | { kind: 'date'; orders: number; differs: boolean; shape: DateShape }
  | { kind: 'time' }
  | { kind: 'boolean'; letter: boolean }
  | { kind: 'text' }

const TEXT: Reading = { kind: 'text' }
const TIME: Reading = { kind: 'time' }
const PLAIN: Reading = { kind: 'number', formats: 63, integer: 'short', marked: false }
const LONG: Reading = { kind: 'number', formats: 63, integer: 'long', marked: false }
const NAN: Reading = { kind: 'number', formats: 63, integer: null, marked: false }

/** Returns the readings of `text`, which is not empty and has no blanks around it. */
export function readingOf(text: string): Reading {
  if (INTEGER.test(text)) return text.length <= SHORT_DIGITS ? PLAIN : LONG
  const first = text.charCodeAt(0)
  const last = text.charCodeAt(text.length - 1)
  const digits = isDigit(first) || first === 45 || first === 46 || first === 44
  if (!digits) return wordOf(text) ?? writtenOf(text)
  if (text.length > 60) return TEXT
  if (isDigit(first)) {
    const found = dateOf(text) ?? (TIMES.test(text) && timeOf(text) ? TIME : null)
    if (found) return found
  }
  if (!isDigit(last) && last !== 46 && last !== 44) return writtenOf(text)
  const formats = formatsOf(text)
  if (formats === 0) return writtenOf(text)
  return { kind: 'number', formats, integer: null, marked: /[.,]/.test(text) }
}

function formatsOf(text: string): number {
  let formats = 0
  for (const [index, pattern] of PATTERNS.entries()) if (pattern.test(text)) formats |= 1 << index
  return formats
}

function writtenOf(text: string): Reading {
  const written = writtenNumber(text)
  if (written === null) return TEXT
  const { bare } = written
  const formats = formatsOf(bare)
  if (formats === 0 || bare.replaceAll(/[^0-9]/g, '').length > SHORT_DIGITS) return TEXT
  const integer = INTEGER.test(bare) ? 'short' : null
  return { kind: 'number', formats, integer, marked: /[.,]/.test(bare), written }
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

function wordOf(text: string): Reading | null {
  if (text.length > 9) return null
  const word = text.toLowerCase()
  if (word === 'true' || word === 'false' || word === 'yes' || word === 'no')
    return { kind: 'boolean', letter: false }
  if (word === 't' || word === 'f' || word === 'y' || word === 'n') return { kind: 'boolean', letter: true }
  return NOT_FINITE.test(text) ? NAN : null
}

const TIMES = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?$/

function timeOf(text: string): boolean {
  const [, hour, minute, second = '0'] = TIMES.exec(text) ?? []
  return Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60
}

const DATES =
  /^(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})(?:([T ])(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?( ?[AaPp][Mm])?( ?(?:Z|[+-]\d{2}(?::?\d{2})?))?)?$/

function dateOf(text: string): Reading | null {
  const match = DATES.exec(text)
  if (!match) return null
  const [, a, separator, b, c, gap = '', hour, minute, second, fraction, half, zone] = match
  const [first, middle, last] = [Number(a), Number(b), Number(c)]
  const year = a!.length === 4 || c!.length === 4 ? 4 : 2
  const orders =
    a!.length === 4
      ? c!.length <= 2 && isDay(first, middle, last)
        ? YMD
        : 0
      : a!.length > 2 || (c!.length !== 4 && c!.length !== 2)
        ? 0
        : ordersOf(first, middle, last, year)
  if (orders === 0) return null
  if (hour !== undefined) {
    const most = half === undefined ? 23 : 12
    if (Number(hour) > most || Number(minute) > 59 || Number(second ?? 0) > 59) return null
  }
  const seconds = second === undefined ? '' : `:%S${fraction === undefined ? '' : '.%f'}`
  const clock = half === undefined ? '%H' : '%I'
  const noon = half === undefined ? '' : half.startsWith(' ') ? ' %p' : '%p'
  const time = hour === undefined ? '' : `${gap}${clock}:%M${seconds}${noon}`
  const shape = { separator: separator!, year, time, zone: zone !== undefined }
  const differs = year === 2 ? !(first === middle && middle === last) : first !== middle
  return { kind: 'date', orders, differs: a!.length === 4 ? false : differs, shape }
}

/** Returns the full year of two digits, as strptime reads it: from 69 on that of the last century. */
export const fullYear = (year: number): number =>
  year >= 100 ? year : year >= 69 ? 1900 + year : 2000 + year

function ordersOf(first: number, middle: number, last: number, year: number): number {
  const y = fullYear(last)
  let orders = 0
  if (isDay(y, middle, first)) orders |= DMY
  if (isDay(y, first, middle)) orders |= MDY
  if (year === 2 && isDay(fullYear(first), middle, last)) orders |= YMD
  return orders
}

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

function isDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1 || day > DAYS[month - 1]!) return false
  return month !== 2 || day < 29 || (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0))
}

/** Returns the format of a date order, such as `%d/%m/%Y`. */
export function dateFormat(order: string, shape: Pick<DateShape, 'separator' | 'year'>): string {
  const parts: Record<string, string> = { d: '%d', m: '%m', y: shape.year === 4 ? '%Y' : '%y' }
  return Array.from(order, (part) => parts[part]).join(shape.separator)
}

/**
 * The texts that programs write for a missing value. They count as missing only in columns of numbers, dates, times and
 * truth values.
 */
export const MISSING_MARKS: readonly string[] = [
  'NA',
  'N/A',
  'n/a',
  'na',
  '#N/A',
  '#NA',
  '#N/A N/A',
  'NULL',
  'null',
  'Null',
  '(null)',
  'None',
  'none',
  '\\N',
  '-',
  '--',
  '–',
  '—',
  '?',
  '.',
  '#VALUE!',
  '#REF!',
  '#DIV/0!',
  '#NUM!',
  '#NAME?',
  '<NA>',
  '0000-00-00',
  '0000-00-00 00:00:00',
]

/** The kinds of values. `amount`: a number with a currency, a % or another sign around it. */
export type Kind = 'text' | 'number' | 'amount' | 'date' | 'time' | 'empty'

/** Returns the kind of a value, with blanks around it or not. */
export function kindOf(value: string): Kind {
  const text = value.trim()
  if (text === '' || MISSING_MARKS.includes(text)) return 'empty'
  const reading = readingOf(text)
  if (reading.kind === 'boolean') return 'text'
  return reading.kind === 'number' && reading.written ? 'amount' : reading.kind
}

/** Returns the same kind, whatever stands around a number. */
export function plainKindOf(value: string): Exclude<Kind, 'amount'> {
  const kind = kindOf(value)
  return kind === 'amount' ? 'number' : kind
}
