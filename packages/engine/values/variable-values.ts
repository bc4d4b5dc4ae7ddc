/**
 * Converts a given value to the declared type of a variable. Every value may be text, as in query strings and forms.
 * Integers beyond 2^53 stay text, dates and timestamps become ISO text, a period is checked and stays text until the run.
 */

import { isDay } from '@assay/model/dates'
import type { Variable, VariableType } from '@assay/model/template'
import { vetPath } from './file-path.ts'
import { suggest } from './near.ts'
import { MAX_PATTERN_INPUT, MAX_STEPS, type PatternWork } from './pattern.ts'
import { isPeriod, PERIOD_HELP } from './period.ts'

/**
 * The converted value, or an error. `error` completes the sentence "NAME ...": "must be a whole number, not "x"."
 * `spent`: the work of patterns has reached its bound, and no further value can be tested.
 */
export type Converted = { value: unknown } | { error: string; spent?: true }

const MAX_TEXT = 100_000
const MAX_ITEMS = 10_000
const INT64 = 2n ** 63n

export type Rules = Pick<Variable, 'type' | 'items' | 'enum' | 'min' | 'max' | 'pattern' | 'max_length'>

/** Converts a value and checks every rule of its declaration. */
export function convertValue(rules: Rules, given: unknown, work: PatternWork): Converted {
  if (rules.type === 'list') return convertList(rules, given, work)
  const converted = convertScalar(rules.type, given)
  return 'error' in converted ? converted : checkRules(rules, rules.type, converted.value, work)
}

function convertList(rules: Rules, given: unknown, work: PatternWork): Converted {
  const list = typeof given === 'string' ? listFromText(given) : given
  if (!Array.isArray(list)) return { error: `must be a list, not ${shown(given)}.` }
  if (list.length > MAX_ITEMS) return { error: `may have at most ${MAX_ITEMS} items.` }
  const type = rules.items ?? 'string'
  const itemRules = { ...rules, max_length: null }
  const items: unknown[] = []
  for (const [index, item] of list.entries()) {
    const converted = convertScalar(type, item)
    const checked = 'error' in converted ? converted : checkRules(itemRules, type, converted.value, work)
    if ('error' in checked) return { ...checked, error: `item ${index + 1} ${checked.error}` }
    items.push(checked.value)
  }
  if (rules.max_length !== null && items.length > rules.max_length) {
    return { error: `may have at most ${rules.max_length} items.` }
  }
  return { value: items }
}

/** Reads a list from JSON text, or from text with commas. */
function listFromText(text: string): unknown {
  const trimmed = text.trim()
  if (trimmed === '') return []
  if (trimmed.startsWith('[')) {
    try {
      return JSON.parse(trimmed)
    } catch {
      return trimmed
    }
  }
  return trimmed.split(',').map((part) => part.trim())
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

const CONVERT: Record<Exclude<VariableType, 'list'>, (given: unknown) => Converted> = {
  string: asText,
  integer: asInteger,
  number: asNumber,
  boolean: asBoolean,
  date: asDate,
  timestamp: asTimestamp,
  period: asPeriod,
  column: asColumn,
  file: asFile,
}

function convertScalar(type: VariableType, given: unknown): Converted {
  return type === 'list' ? { error: 'cannot hold lists.' } : CONVERT[type](given)
}

function asText(given: unknown): Converted {
  if (typeof given === 'number' && Number.isFinite(given)) return { value: String(given) }
  if (typeof given !== 'string') return { error: `must be text, not ${shown(given)}.` }
  if (given.length > MAX_TEXT) return { error: `may have at most ${MAX_TEXT} characters.` }
  if (given.includes('\0')) return { error: 'must not hold NUL characters.' }
  return given.isWellFormed() ? { value: given } : { error: 'must be well-formed Unicode.' }
}

function asInteger(given: unknown): Converted {
  if (typeof given === 'number' && Number.isSafeInteger(given)) return { value: given === 0 ? 0 : given }
  const text = typeof given === 'string' ? given.trim() : ''
  if (!/^[+-]?\d{1,30}$/.test(text)) return { error: `must be a whole number, not ${shown(given)}.` }
  const exact = BigInt(text.replace('+', ''))
  if (exact < -INT64 || exact >= INT64) return { error: `must fit in 64 bits; ${text} does not.` }
  const number = Number(exact)
  return { value: Number.isSafeInteger(number) ? number : exact.toString() }
}

function asNumber(given: unknown): Converted {
  const text = typeof given === 'string' ? given.trim() : ''
  const numeric = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : given
  if (typeof numeric !== 'number' || !Number.isFinite(numeric)) {
    return { error: `must be a number, not ${shown(given)}.` }
  }
  return { value: numeric === 0 ? 0 : numeric }
}

function asBoolean(given: unknown): Converted {
  const text = typeof given === 'string' ? given.trim().toLowerCase() : given
  if (text === true || text === 'true' || text === '1' || text === 1) return { value: true }
  if (text === false || text === 'false' || text === '0' || text === 0) return { value: false }
  return { error: `must be true or false, not ${shown(given)}.` }
}

function asDate(given: unknown): Converted {
  const text = typeof given === 'string' ? given.trim() : ''
  return isDay(text) ? { value: text } : { error: `must be a day such as 2024-03-31, not ${shown(given)}.` }
}

const TIMESTAMP = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?$/

/** Reads a timestamp. A time with a zone is converted to UTC with "Z"; one without a zone is kept. */
function asTimestamp(given: unknown): Converted {
  const text = typeof given === 'string' ? given.trim() : ''
  const match = TIMESTAMP.exec(isDay(text) ? `${text}T00:00:00` : text)
  const [, day, hour, minute, second = '00', fraction = '', zone] = match ?? []
  const bad = !match || !isDay(day!) || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59
  if (bad) return { error: `must be a time such as 2024-03-31T12:30:00Z, not ${shown(given)}.` }
  const local = `${day}T${hour}:${minute}:${second}`
  if (zone === undefined) return { value: `${local}${fraction}` }
  const offset = zone === 'Z' ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(-2)}`
  const instant = Date.parse(`${local}${offset}`)
  if (Number.isNaN(instant)) return { error: `has no such zone: ${zone}.` }
  return { value: `${new Date(instant).toISOString().slice(0, 19)}${fraction}Z` }
}

function asPeriod(given: unknown): Converted {
  const text = typeof given === 'string' ? given.trim() : ''
  return isPeriod(text) ? { value: text } : { error: `must be ${PERIOD_HELP}, not ${shown(given)}.` }
}

function asColumn(given: unknown): Converted {
  if (typeof given !== 'string' || given === '' || given.length > 255 || /\p{Cc}/u.test(given)) {
    return { error: `must be a column's name, not ${shown(given)}.` }
  }
  return { value: given }
}

function asFile(given: unknown): Converted {
  if (typeof given !== 'string') return { error: `must be a path, not ${shown(given)}.` }
  const fault = vetPath(given)
  return fault === null ? { value: given } : { error: `${fault} It is ${shown(given)}.` }
}

function checkRules(rules: Rules, type: VariableType, value: unknown, work: PatternWork): Converted {
  if (rules.enum !== null && !rules.enum.some((allowed) => sameValue(allowed, value))) {
    return { error: `cannot be ${shown(value)}. ${suggest(String(value), rules.enum.map(String))}` }
  }
  if (typeof value === 'string' && rules.max_length !== null && value.length > rules.max_length) {
    return { error: `may have at most ${rules.max_length} characters; it has ${value.length}.` }
  }
  if (rules.min !== null && compareValues(type, value, rules.min) < 0) {
    return { error: `must be at least ${shown(rules.min)}; it is ${shown(value)}.` }
  }
  if (rules.max !== null && compareValues(type, value, rules.max) > 0) {
    return { error: `must be at most ${shown(rules.max)}; it is ${shown(value)}.` }
  }
  if (rules.pattern === null || typeof value !== 'string') return { value }
  return checkPattern(rules.pattern, value, work)
}

function checkPattern(pattern: string, value: string, work: PatternWork): Converted {
  switch (work.test(pattern, value)) {
    case 'matches':
      return { value }
    case 'differs':
      return { error: `must match the pattern ${pattern}; ${shown(value)} does not.` }
    case 'too_long':
      return { error: `may have at most ${MAX_PATTERN_INPUT} characters to be tested by its pattern.` }
    case 'too_much':
      return {
        error:
          `cannot be tested: its pattern would take the patterns beyond the ${MAX_STEPS} steps ` +
          '(characters times the size of the pattern) that all values together may take. Give fewer values, or use a shorter pattern.',
        spent: true,
      }
  }
}

function sameValue(left: unknown, right: unknown): boolean {
  return left === right || String(left) === String(right)
}

/** Returns a number below zero, zero or above, for types with an order. Integers beyond 2^53 are compared exactly. */
export function compareValues(type: VariableType, left: unknown, right: unknown): number {
  if (type === 'integer') {
    const [a, b] = [BigInt(left as string | number), BigInt(right as string | number)]
    return a < b ? -1 : a > b ? 1 : 0
  }
  if (type === 'number') return (left as number) - (right as number)
  const [a, b] = [String(left), String(right)]
  return a < b ? -1 : a > b ? 1 : 0
}
