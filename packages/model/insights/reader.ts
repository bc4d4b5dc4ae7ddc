/**
 * The reader of a personal template: a person with attributes, for whom a run is made. Only the server, the command line or
 * the caller of the library sets it; no variable can. Row rules compare columns with its attributes.
 */

export type ReaderValue = string | number | boolean | string[]

/** A reader. `id` tells readers apart; rules, SQL and prose read the other attributes as `reader.NAME`. */
export interface Reader {
  id: string
  [attribute: string]: ReaderValue
}

/** The pattern of the name of an attribute. */
export const READER_ATTRIBUTE = '^[a-z_][a-z0-9_]{0,62}$'

const MOST_ATTRIBUTES = 100
const MOST_VALUES = 1_000
const MOST_LETTERS = 1_000

/** Returns a sentence on why a value cannot be a reader; null if it can. */
export function readerFault(given: unknown): string | null {
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    return 'A reader is an object of attributes, such as { "id": "anna", "region": "North" }.'
  const { id } = given as Partial<Reader>
  if (typeof id !== 'string' || id === '') return 'A reader has an "id", which is a text.'
  const attributes = Object.entries(given)
  if (attributes.length > MOST_ATTRIBUTES) return `A reader has at most ${MOST_ATTRIBUTES} attributes.`
  for (const [name, value] of attributes) {
    if (!new RegExp(READER_ATTRIBUTE).test(name))
      return `${JSON.stringify(name.slice(0, 80))} cannot be an attribute: use lower-case letters, digits and "_", a letter first.`
    const fault = valueFault(value)
    if (fault !== null) return `reader.${name} ${fault}`
  }
  return null
}

function valueFault(value: unknown): string | null {
  if (typeof value === 'boolean') return null
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'is not a finite number.'
  if (typeof value === 'string') return textFault(value)
  if (!Array.isArray(value)) return 'is neither a text, a number, true or false, nor a list of texts.'
  if (value.length > MOST_VALUES) return `has ${value.length} values, at most ${MOST_VALUES} are read.`
  for (const item of value) {
    if (typeof item !== 'string') return 'is a list, and its values must be texts.'
    const fault = textFault(item)
    if (fault !== null) return fault
  }
  return null
}

/**
 * Returns the fault of a text. Half a surrogate pair would become another character in a database, and no database
 * holds the character 0.
 */
function textFault(text: string): string | null {
  if (text.length > MOST_LETTERS) return `has a text of more than ${MOST_LETTERS} characters.`
  return text.isWellFormed() && !text.includes('\0') ? null : 'holds a character that is none.'
}

/** A value in a rule: written in the rule, or an attribute of the reader. */
export type RuleValue =
  | { kind: 'text'; value: string }
  /** A number as it is written: digits, with or without a point. */
  | { kind: 'number'; value: string }
  | { kind: 'boolean'; value: boolean }
  | { kind: 'reader'; name: string; at: number }

export type RuleNode =
  | { kind: 'and' | 'or'; parts: RuleNode[] }
  | { kind: 'not'; of: RuleNode }
  | { kind: 'is_null'; column: string; at: number; not: boolean }
  /** The condition of `=` and `in`. With `not` it is that of `!=`, with one value. */
  | { kind: 'among'; column: string; at: number; not: boolean; values: RuleValue[] }

/** The rule of which rows of a source or a metric a reader may see. */
export interface RowRule {
  text: string
  tree: RuleNode
  /** The columns of the rule, each once. */
  columns: string[]
  /** The attributes that the rule reads, each once, without `id`. */
  attributes: string[]
  /** Returns the position in the template or definition of an offset into `text`. */
  placeOf(offset: number): { line: number; column: number }
}
