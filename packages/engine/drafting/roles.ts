/**
 * Decides the role of each column of a table in a report: a time, a measure, a dimension, an identifier, an event, or
 * none of these. It uses only type, name and counts, so the same table gives the same answer. A column that can be read
 * in two ways gets a `question` and is never guessed. A decision on a weak sign is marked (`sure: false`).
 */
import type { Cell } from '@assay/model/insight'
import { heldInNumbers, heldInTexts, type Question } from './held-times.ts'

export const ROLES = ['time', 'measure', 'dimension', 'identifier', 'event', 'other', 'unclear'] as const
export type Role = (typeof ROLES)[number]

export type { Question } from './held-times.ts'

export interface DraftColumn {
  name: string
  type: string
  nulls: number
  distinct: number
  min: Cell
  max: Cell
  /** The most frequent values with their counts. */
  top: { value: Cell; n: number }[]
  /** The question if its text has two readings, or a few values that fit none; else null. */
  question: Question | null
  /** Set if its database or its file gives its type, so that no line of a source can change it. */
  typed?: 'database' | 'file' | undefined
  /** The signs around its numbers in the file. */
  percent?: boolean
  currency?: string | undefined
  /** How its values and its name were read, in full sentences. */
  read?: readonly string[]
}

export interface Decision {
  column: string
  role: Role
  /** The reason, as the end of "..., because". */
  reason: string
  sure: boolean
  /** The question to the author; null for none. */
  question: Question | null
}

/** The most values of a column by which a report is divided. */
const MOST_VALUES = 50
/**
 * Names that a template cannot hold. Markdown or Liquid would read a part of them as its own, and the author of the
 * data would write some of the template.
 */
export const UNWRITABLE = /[\p{Cc}\p{Zl}\p{Zp}]|\{[{%]|```|~~~/u
const MOST_WITH_REPEATS = 1_000
/** Splits "some_column" and "someColumn" into words. */
const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}$%]+/u)
    .filter(Boolean)

const YEAR = new Set(['year', 'years', 'yr'])
const PART_OF_DATE = new Set(['month', 'weekday', 'hour', 'quarter', 'day', 'week', 'minute'])
const POSITION = new Set(['lat', 'lon', 'lng', 'long', 'latitude', 'longitude'])
const KEY = new Set(
  'id ids uuid guid zip zipcode postcode postal fips isbn sku iban email phone identification identifier'.split(
    ' ',
  ),
)
const WHO = new Set('person user customer client account member patient session device order'.split(' '))
const EVENT = new Set(['event', 'action', 'activity', 'step'])
const AMOUNT = new Set(
  'count total sum amount number n people population cost price revenue quantity qty score rating votes rate share percent pct perc'.split(
    ' ',
  ),
)
const CATEGORY = new Set([
  'code',
  'category',
  'cat',
  'class',
  'cluster',
  'group',
  'district',
  'status',
  'level',
  'segment',
  'type',
  'sex',
  'gender',
])

export function rolesOf(columns: readonly DraftColumn[], rows: number): Decision[] {
  const found = columns.map((column) => decide(column, rows))
  return found.map((decision, index) => asEvent(decision, columns[index]!, found))
}

function decision(column: DraftColumn, role: Role, reason: string, sure = true): Decision {
  return { column: column.name, role, reason, sure, question: null }
}

function decide(column: DraftColumn, rows: number): Decision {
  const present = rows - column.nulls
  if (UNWRITABLE.test(column.name)) return decision(column, 'other', 'a template cannot hold its name')
  if (column.question !== null)
    return {
      ...decision(column, 'unclear', 'its values do not tell how to read them', false),
      question: column.question,
    }
  if (present === 0) return decision(column, 'other', 'it holds nothing')
  if (column.distinct === 1 && rows > 1) return decision(column, 'other', 'it always has the same value')
  switch (column.type) {
    case 'date':
    case 'timestamp':
      return decision(column, 'time', 'its values are dates or times')
    case 'boolean':
      return decision(column, 'dimension', 'it is true or false')
    case 'integer':
    case 'number':
    case 'decimal':
      return ofNumber(column, present)
    case 'text':
      return ofText(column, present)
    default:
      return decision(column, 'other', `its type is ${column.type}`)
  }
}

const numberOf = (cell: Cell): number => (typeof cell === 'number' ? cell : Number(cell ?? Number.NaN))
const within = (column: DraftColumn, low: number, high: number): boolean =>
  numberOf(column.min) >= low && numberOf(column.max) <= high

function ofNumber(column: DraftColumn, present: number): Decision {
  const words = wordsOf(column.name)
  const has = (set: ReadonlySet<string>): boolean => words.some((word) => set.has(word))
  const whole = column.type === 'integer' || Number.isInteger(numberOf(column.min) + numberOf(column.max))
  const isYears = column.type === 'integer' && within(column, 1000, 2200)
  if (isYears && has(YEAR)) return decision(column, 'time', 'its name and values are those of years')
  const numbers = column.top.map(({ value }) => numberOf(value))
  const question = whole ? heldInNumbers(column, numbers, words) : null
  if (question !== null)
    return { ...decision(column, 'unclear', 'its numbers look like times', false), question }
  if (has(POSITION) && within(column, -180, 360))
    return decision(column, 'other', 'it is a position on a map')
  if (words.length === 2 && words[0]!.length === 1 && has(POSITION))
    return decision(column, 'other', 'it is a position')
  if (has(PART_OF_DATE) && column.type === 'integer' && within(column, 0, 366))
    return decision(column, 'dimension', 'it is a part of a date')
  if (column.type === 'integer' && has(KEY)) return decision(column, 'identifier', 'its name says so')
  if (column.type === 'integer' && words.at(-1) === 'index' && column.distinct === present)
    return decision(column, 'identifier', 'it numbers the rows')
  if (
    isYears &&
    column.distinct > 1 &&
    (words.includes('start') || words.includes('end') || words.includes('from') || words.includes('until'))
  )
    return decision(column, 'time', 'its values are those of years, and its name that of a time', false)
  const repeats = present / column.distinct
  if (column.type === 'integer' && has(CATEGORY) && column.distinct <= MOST_VALUES && repeats >= 2)
    return decision(column, 'dimension', 'its few numbers name groups')
  if (column.type === 'integer' && has(CATEGORY) && !has(AMOUNT))
    return decision(column, 'dimension', 'its name is that of a group', false)
  if (isYears) return decision(column, 'measure', 'it is a number; its values may be years', false)
  if (
    column.type === 'integer' &&
    !has(AMOUNT) &&
    column.distinct <= 20 &&
    within(column, 0, 1000) &&
    repeats >= 20
  )
    return decision(
      column,
      'dimension',
      'its few whole numbers come again and again; it may be a measure',
      false,
    )
  if (
    whole &&
    column.type === 'integer' &&
    column.distinct === present &&
    numberOf(column.max) - numberOf(column.min) === present - 1 &&
    present > 2
  )
    return decision(column, 'identifier', 'it counts the rows', false)
  if (/^[xy]$|^c[xy]$/i.test(column.name) && within(column, -180, 180) && column.distinct === present)
    return decision(column, 'measure', 'it is a number; it may be a position', false)
  return decision(column, 'measure', 'it is a number')
}

function ofText(column: DraftColumn, present: number): Decision {
  const words = wordsOf(column.name)
  const repeats = present / column.distinct
  const samples = column.top.map(({ value }) => (typeof value === 'string' ? value : JSON.stringify(value)))
  const question = heldInTexts(column, samples, words)
  if (question !== null)
    return { ...decision(column, 'unclear', 'its texts look like times', false), question }
  const codes = samples.every((text) => /^[\p{Lu}\p{N}._:-]{2,40}$/u.test(text))
  if (column.distinct === present && present > 1) {
    const long = samples.some((text) => text.length > 80)
    if (long) return decision(column, 'other', 'it is a text of its own in each row')
    const named = words.some((word) => KEY.has(word)) || codes
    return decision(column, 'identifier', 'it has another value in each row', named)
  }
  if (words.some((word) => KEY.has(word))) return decision(column, 'identifier', 'its name says so')
  if (words.some((word) => WHO.has(word)) && column.distinct > MOST_VALUES)
    return decision(column, 'identifier', 'it names whom or what the rows belong to', false)
  if (column.distinct <= MOST_VALUES && repeats >= 1.5)
    return decision(column, 'dimension', 'its few values come again and again')
  if (column.distinct <= MOST_WITH_REPEATS && repeats >= 3)
    return decision(column, 'dimension', 'its values come again and again', repeats >= 5)
  return decision(column, 'other', 'it is a text with many values', false)
}

/**
 * Decides whether a column is an event. Few values whose name is that of a step are events, if rows have a time and
 * belong to somebody.
 */
function asEvent(decided: Decision, column: DraftColumn, all: readonly Decision[]): Decision {
  const has = (role: Role): boolean => all.some((one) => one.role === role)
  const named = wordsOf(column.name).some((word) => EVENT.has(word))
  if (decided.role !== 'dimension' || !named || !has('time') || !has('identifier')) return decided
  return {
    ...decided,
    role: 'event',
    reason: 'its name is that of an event, and rows have a time and an identifier',
  }
}
