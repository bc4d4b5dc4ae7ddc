/** Counts the readings that the values of one column allow, and decides how the column is read. */
import type { ColumnDialect, ColumnDoubt, Sureness } from '@assay/model/dialect'
import { literal } from '../../duckdb/duckdb.ts'
import { formPattern, isForm } from './date-forms.ts'
import { Around, type FoundAround } from './numbers/around.ts'
import { dateInWords, type Order, orderName, readDate, readNumber, shownNumber } from './readings-in-words.ts'
import {
  type DateShape,
  DMY,
  MDY,
  MISSING_MARKS,
  NUMBER_FORMATS,
  type NumberFormat,
  type Reading,
  readingOf,
  YMD,
} from './values.ts'

export type Decision =
  | { kind: 'text'; doubt: ColumnDoubt | null }
  | { kind: 'integer'; long: boolean }
  /** The format; null for plain numbers with a point. */
  | {
      kind: 'number'
      format: NumberFormat | null
      integer: boolean
      sure: Sureness
      /** The signs around the numbers; null for none. */
      around: FoundAround | null
    }
  /** The order; null if all values are in ISO form. */
  | { kind: 'date'; order: string | null; shapes: DateShape[]; sure: Sureness }
  | { kind: 'time' }
  | { kind: 'boolean' }

const POINT = 1
const COMMA = 2
const MIXED_SHARE = 0.9
const UNFIT_KEPT = 5
const LONGEST_MARK = 60
const USUAL_MARKS: ReadonlySet<string> = new Set(MISSING_MARKS)
const USUAL_BEGINS = beginsOf(MISSING_MARKS)

/** Returns the decimal mark that follows from the mark of thousands. */
export function impliedBy(thousands: string | null): Evidence['decimal'] {
  return thousands === '.' ? ',' : thousands === ',' ? '.' : null
}

/** What the template or the other columns of the file show about numbers. */
export interface Evidence {
  decimal: '.' | ',' | null
  thousands: string | null
  sure: Sureness
}

/** Matches a number with letters behind it: after a blank any word, else a unit that is no part of a code. */
const UNIT =
  /^[-+]?\d[\d.,]*(?: (\p{L}{1,8}|°[CF])|(°[CF]|[kmMGT]?[gB]|[kcmµn]?m|[mc]?l|[kMG]?W?h|[kM]?W|ms|min|km\/h|m²|m³))$/u

function beginsOf(marks: readonly string[]): Set<number> {
  return new Set(marks.map((mark) => mark.charCodeAt(0)))
}

export class Tally {
  readonly #declared: ColumnDialect
  readonly #marks: ReadonlySet<string>
  /** The first characters of the marks. Most values begin with others, and need no search in the set. */
  readonly #begins: ReadonlySet<number>
  /** The pattern of values of the declared form; null if none is declared, or such a value was seen. */
  #form: RegExp | null
  #n = 0
  #numbers = 0
  #dates = 0
  #times = 0
  #booleans = 0
  #letters = new Set<string>()
  #formats = 63
  #marked = false
  #fraction = false
  #points = false
  #commas = false
  #exponents = false
  #long = false
  #orders = 7
  #differs: string | null = null
  #apart: string | null = null
  /** A number that holds a mark, as it is written, and its digits. */
  #markedSample: { text: string; bare: string } | null = null
  readonly #around = new Around()
  #shapes = new Map<string, DateShape>()
  /** The first few texts that fit no reading, with their counts. */
  #unfit = new Map<string, number>()
  /** The one unit behind numbers so far, such as "kg"; null if there was none. */
  #unit: { is: string; n: number; sample: string; marked: boolean } | null = null
  /** The missing marks that occur, with their counts. */
  readonly missing = new Map<string, number>()
  /** True if blanks stand around a value. */
  padded = false

  /**
   * Makes the tally. `shared`: whether a form of dates is declared for the whole source, so that only columns with
   * such values have it.
   */
  constructor(declared: ColumnDialect, shared = false) {
    this.#declared = declared
    this.#form =
      shared && declared.dates !== undefined && isForm(declared.dates) ? formPattern(declared.dates) : null
    this.#marks = declared.missing ? new Set(declared.missing) : USUAL_MARKS
    this.#begins = declared.missing ? beginsOf(declared.missing) : USUAL_BEGINS
  }

  /** Counts a value that occurs `times` times. */
  note(value: string, times = 1): void {
    const text = value.trim()
    if (text !== value) this.padded = true
    if (text === '') return
    if (this.#begins.has(text.charCodeAt(0)) && this.#marks.has(text)) {
      this.missing.set(text, (this.missing.get(text) ?? 0) + times)
      return
    }
    this.#n += times
    if (this.#form?.test(text)) this.#form = null
    const reading = readingOf(text)
    this.#count(reading, text, times)
  }

  #count(reading: Reading, text: string, times: number): void {
    switch (reading.kind) {
      case 'number':
        this.#numbers += times
        this.#noteNumber(reading, text, times)
        return
      case 'date': {
        this.#dates += times
        this.#orders &= reading.orders
        if (reading.differs) this.#noteOrder(text)
        const { separator, year, time, zone } = reading.shape
        this.#shapes.set([separator, year, time, zone].join(' '), reading.shape)
        return
      }
      case 'time':
        this.#times += times
        return
      case 'boolean':
        this.#booleans += times
        if (reading.letter) this.#letters.add(text.toLowerCase())
        return
      default:
        this.#noteUnit(text, times)
        if (this.#unfit.size < UNFIT_KEPT || this.#unfit.has(text))
          this.#unfit.set(text, (this.#unfit.get(text) ?? 0) + times)
    }
  }

  #noteUnit(text: string, times: number): void {
    const [, apart, close] = text.length > LONGEST_MARK ? [] : (UNIT.exec(text) ?? [])
    const is = apart ?? close
    if (is === undefined) return
    this.#unit ??= { is, n: 0, sample: text, marked: false }
    if (is === this.#unit.is) this.#unit.n += times
    // "1.234" may be a thousand or one. No cast is proposed for values of two readings.
    if (/,|\.\d{3}(?!\d)/.test(text)) this.#unit.marked = true
  }

  #noteNumber(reading: Extract<Reading, { kind: 'number' }>, text: string, times: number): void {
    const { formats, integer, marked, written } = reading
    const bare = written?.bare ?? text
    this.#formats &= formats
    if (integer === null) this.#noteMarks(bare)
    if (integer === 'long') this.#long = true
    if (marked) {
      this.#marked = true
      this.#markedSample ??= { text, bare: written ? bare : text }
    }
    if (written) this.#around.note(text, written, times)
    else this.#around.notePlain(text, times)
  }

  /** Keeps as the sample of several orders a date that is another day in each. */
  #noteOrder(text: string): void {
    this.#differs ??= text
    if (this.#apart === null && new Set(text.split(/\D/, 3).map(Number)).size === 3) this.#apart = text
  }

  #noteMarks(text: string): void {
    this.#fraction = true
    if (text.includes('.')) this.#points = true
    if (text.includes(',')) this.#commas = true
    if (/[a-z]/i.test(text)) this.#exponents = true
  }

  /** Returns the decimal mark that the values settle; null if they do not. */
  get decimal(): '.' | ',' | null {
    if (this.#n === 0 || this.#numbers < this.#n || !this.#marked) return null
    const [point, comma] = [this.#fits('.'), this.#fits(',')]
    return point === comma ? null : point ? '.' : ','
  }

  /**
   * Returns the mark between thousands if it is declared or stands in a number, else nothing. A mark that is no point
   * or comma is found only if it occurs.
   */
  thousandsOf({ groups }: NumberFormat, sure: Sureness): string {
    const [mark = ''] = groups
    const absent = (mark === '.' && !this.#points) || (mark === ',' && !this.#commas)
    return absent && sure !== 'declared' ? '' : mark
  }

  #fits(decimal: '.' | ','): boolean {
    return NUMBER_FORMATS.some(
      (format, index) => format.decimal === decimal && (this.#formats & (1 << index)) !== 0,
    )
  }

  /** Tells whether all values are dates, or have the declared form. */
  get holdsDates(): boolean {
    return this.#n > 0 && (this.#dates === this.#n || this.#hasForm)
  }

  /** Tells whether all values are numbers, some with a currency or another sign around them. */
  get holdsWritten(): boolean {
    return this.#n > 0 && this.#numbers === this.#n && this.#around.some
  }

  /** Tells whether all values are numbers with one unit behind. */
  get holdsUnits(): boolean {
    return this.#united() !== null
  }

  get #hasForm(): boolean {
    const { dates } = this.#declared
    return this.#form === null && dates !== undefined && isForm(dates)
  }

  decide(evidence: Evidence): Decision {
    const { dates } = this.#declared
    if (this.#n === 0) return { kind: 'text', doubt: null }
    if (dates !== undefined && this.#hasForm)
      return { kind: 'date', order: dates, shapes: [], sure: 'declared' }
    if (this.#numbers === this.#n) return this.#asNumber(evidence)
    if (this.#dates === this.#n) return this.#asDate()
    if (this.#times === this.#n) return { kind: 'time' }
    if (this.#booleans === this.#n) return this.#asBoolean()
    return { kind: 'text', doubt: this.#almost() }
  }

  #asBoolean(): Decision {
    const both = (a: string, b: string): boolean => this.#letters.has(a) === this.#letters.has(b)
    return both('t', 'f') && both('y', 'n') ? { kind: 'boolean' } : { kind: 'text', doubt: null }
  }

  #asNumber({ decimal, thousands, sure }: Evidence): Decision {
    const judged = this.#around.judge(this.#declared)
    if (judged.kind === 'text') return judged
    const { around } = judged
    if (around === null && !this.#fraction) return { kind: 'integer', long: this.#long }
    if (around !== null && (this.#exponents || this.#long)) return { kind: 'text', doubt: null }
    const fitting = NUMBER_FORMATS.filter((format, index) => {
      if ((this.#formats & (1 << index)) === 0) return false
      if (decimal !== null && format.decimal !== decimal) return false
      return thousands === null || thousands === '' || format.groups.includes(thousands)
    })
    if (fitting.length === 0) return { kind: 'text', doubt: this.#contraryNumbers() }
    const settled = decimal === null ? this.decimal : decimal
    if (settled === null && this.#marked && (this.#formats & (POINT | COMMA)) === (POINT | COMMA))
      return { kind: 'text', doubt: this.#twoNumbers() }
    const format = fitting[0]!
    return {
      kind: 'number',
      format: format === NUMBER_FORMATS[0] && !this.#commas ? null : format,
      integer: !this.#exponents && !(format.decimal === '.' ? this.#points : this.#commas),
      sure: decimal === null ? 'settled' : sure,
      around,
    }
  }

  #asDate(): Decision {
    const shapes = [...this.#shapes.values()]
    const { dates } = this.#declared
    if (this.#orders === 0) return { kind: 'text', doubt: this.#contrary() }
    const iso =
      this.#orders === YMD &&
      shapes.every(({ separator, year, time }) => year === 4 && separator !== '.' && !time.includes('%p'))
    const zones = new Set(shapes.map(({ zone }) => zone))
    if (zones.size > 1 || (zones.has(true) && !iso)) return { kind: 'text', doubt: this.#contrary() }
    if (iso) return { kind: 'date', order: null, shapes, sure: 'settled' }
    const left = (
      [
        ['dmy', DMY],
        ['mdy', MDY],
        ['ymd', YMD],
      ] as const
    ).filter(([, bit]) => this.#orders & bit)
    if (dates !== undefined) {
      const fits = left.some(([name]) => name === dates)
      return fits
        ? { kind: 'date', order: dates, shapes, sure: 'declared' }
        : { kind: 'text', doubt: this.#contrary() }
    }
    if (left.length > 1 && this.#differs !== null)
      return { kind: 'text', doubt: this.#twoDates(left.map(([name]) => name)) }
    return { kind: 'date', order: left[0]![0], shapes, sure: 'settled' }
  }

  #twoDates(orders: readonly Order[]): ColumnDoubt {
    const sample = this.#apart ?? this.#differs!
    const readings = orders.map((order) => ({
      as: dateInWords(readDate(sample, order)),
      write: `dates: ${order}`,
    }))
    const ways = orders.map(orderName).join(' or ')
    return {
      kind: 'two_readings',
      sample,
      readings,
      says: `Every date fits ${orders.length === 2 ? 'two readings' : 'several readings'} (${ways}): ${told(sample, readings)}`,
    }
  }

  #twoNumbers(): ColumnDoubt {
    const { text: sample, bare } = this.#markedSample!
    const readings = (['.', ','] as const).map((decimal) => ({
      as: shownNumber(readNumber(bare, decimal)),
      write: `decimal: ${JSON.stringify(decimal)}`,
    }))
    return {
      kind: 'two_readings',
      sample,
      readings,
      says: `Every number fits two readings (a decimal mark or thousands): ${told(sample, readings)}`,
    }
  }

  #contrary(): ColumnDoubt {
    return {
      kind: 'mixed',
      sample: this.#differs ?? '',
      readings: [],
      says: 'Its dates follow no one order or form, so they stay text.',
    }
  }

  #contraryNumbers(): ColumnDoubt {
    return {
      kind: 'mixed',
      sample: this.#markedSample?.text ?? '',
      readings: [],
      says: 'No one decimal mark, with one mark between thousands, fits all of its numbers, so they stay text. Write them alike in the file.',
    }
  }

  /**
   * Returns the line that declares the texts without a reading as missing values, together with the marks that occur.
   * Returns none if not all such texts are known.
   */
  #asMissing(): ColumnDoubt['readings'] {
    const texts = [...this.#unfit.keys()]
    if (texts.length === 0 || texts.length >= UNFIT_KEPT) return []
    if (texts.some((text) => text.length > LONGEST_MARK)) return []
    const marks = [...this.missing.keys(), ...texts].map(yamlText)
    return [
      {
        as: texts.length === 1 ? 'a missing value' : 'missing values',
        write: `missing: [${marks.join(', ')}]`,
      },
    ]
  }

  /** Returns the doubt of a column whose values are all numbers with one unit behind. */
  #united(): ColumnDoubt | null {
    if (this.#unit === null || this.#n < 2 || this.#unit.n < this.#n) return null
    const { is, sample, marked } = this.#unit
    const inBlock = marked ? '' : `, or in a block: cast(replace(COLUMN, ${literal(is)}, '') as double)`
    return {
      kind: 'mixed',
      sample,
      readings: [],
      says: `Each value is a number with ${JSON.stringify(is)} behind it (such as ${JSON.stringify(sample)}), so all stay text. Take the unit off in the file${inBlock}.`,
    }
  }

  /** Returns the doubt of a column that holds numbers or dates except for a few values. */
  #almost(): ColumnDoubt | null {
    const united = this.#united()
    if (united !== null) return united
    const best = Math.max(this.#numbers, this.#dates, this.#times)
    const others = this.#n - best
    if (best === 0 || best / this.#n < MIXED_SHARE) return null
    const what = best === this.#numbers ? 'numbers' : best === this.#dates ? 'dates' : 'times'
    const [one = ''] = this.#unfit.keys()
    // Codes with leading zeros are meant to be text.
    if (/^0\d/.test(one)) return null
    const readings = this.#asMissing()
    const remedy = readings.map(
      ({ write }) =>
        ` If ${this.#unfit.size === 1 ? 'it stands' : 'they stand'} for a missing value, write ${write} below the column.`,
    )
    return {
      kind: 'mixed',
      sample: one,
      readings,
      says: `${best} of ${this.#n} values are ${what}, but ${others === 1 ? 'one is' : `${others} are`} not${one === '' ? '' : ` (such as ${JSON.stringify(shortened(one))})`}, so all stay text.${remedy.join('')}`,
    }
  }
}

function told(sample: string, readings: readonly { as: string; write: string }[]): string {
  return `${JSON.stringify(sample)} is ${readings.map(({ as, write }) => `${as} (write ${write})`).join(', or ')}.`
}

const shortened = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text)

function yamlText(text: string): string {
  return /^[A-Za-z][A-Za-z0-9 ]*$/.test(text) && !/^(null|true|false|yes|no)$/i.test(text)
    ? text
    : JSON.stringify(text)
}
