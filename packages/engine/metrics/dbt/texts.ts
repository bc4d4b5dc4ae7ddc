/**
 * The SQL and Jinja of dbt's YAML, as far as they have a form in the expressions of metrics. A text without such a form
 * throws NotTaken.
 */
import { GRAINS, type Grain } from '@assay/model/metric'

/** Stops the import of one metric. The message ends a sentence that begins with its name. */
export class NotTaken extends Error {}

const NAME = '[A-Za-z_]\\w*'

/** Returns a column name; null for a computed text. */
export function columnName(text: string): string | null {
  const plain = text.trim()
  return new RegExp(`^${NAME}$`).test(plain) ? plain : null
}

export interface TimeText {
  column: string
  /** The step to which the text cuts the column; null for none. */
  grain: string | null
}

const CUTS: { shape: RegExp; grain: (match: RegExpExecArray) => string | null; column: number }[] = [
  { shape: new RegExp(`^(${NAME})$`), grain: () => null, column: 1 },
  {
    shape: new RegExp(`^cast\\s*\\(\\s*(${NAME})\\s+as\\s+(date|timestamp\\w*|datetime)\\s*\\)$`, 'i'),
    grain: (match) => (match[2]!.toLowerCase() === 'date' ? 'day' : null),
    column: 1,
  },
  {
    shape: new RegExp(`^(${NAME})\\s*::\\s*(date|timestamp\\w*|datetime)$`, 'i'),
    grain: (match) => (match[2]!.toLowerCase() === 'date' ? 'day' : null),
    column: 1,
  },
  { shape: new RegExp(`^(?:to_)?date\\s*\\(\\s*(${NAME})\\s*\\)$`, 'i'), grain: () => 'day', column: 1 },
  {
    shape: new RegExp(`^date_trunc\\s*\\(\\s*['"](\\w+)['"]\\s*,\\s*(${NAME})\\s*\\)$`, 'i'),
    grain: (match) => match[1]!.toLowerCase(),
    column: 2,
  },
  {
    shape: new RegExp(
      `^(?:date|timestamp|datetime)_trunc\\s*\\(\\s*(${NAME})\\s*,\\s*['"]?(\\w+)['"]?\\s*\\)$`,
      'i',
    ),
    grain: (match) => match[2]!.toLowerCase(),
    column: 1,
  },
]

/**
 * Reads a time. `cast(ordered_at as date)` and `date_trunc('day', ordered_at)` are the column ordered_at, because
 * Assay cuts times itself.
 */
export function readTime(text: string): TimeText | null {
  const plain = text.trim()
  for (const { shape, grain, column } of CUTS) {
    const match = shape.exec(plain)
    if (match) return { column: match[column]!, grain: grain(match) }
  }
  return null
}

const FINER = /^(nanosecond|microsecond|millisecond|second|minute)$/

/** Returns a granularity of dbt as a step; null for one of the project's own. */
export function grainOf(granularity: string): Grain | null {
  const plain = granularity.toLowerCase()
  if (FINER.test(plain)) return 'hour'
  return (GRAINS as readonly string[]).includes(plain) ? (plain as Grain) : null
}

/** Returns the index of the bracket that closes the one at `open`; -1 if there is none. Texts in quotes are skipped. */
function closing(text: string, open: number): number {
  let depth = 0
  for (let at = open; at < text.length; at += 1) {
    const sign = text[at]!
    if (sign === "'" || sign === '"') {
      at = text.indexOf(sign, at + 1)
      if (at < 0) return -1
    } else if (sign === '(') depth += 1
    else if (sign === ')') {
      depth -= 1
      if (depth === 0) return at
    }
  }
  return -1
}

/** Returns the parts of a text between commas outside of brackets. */
function argumentsOf(text: string): string[] {
  const parts: string[] = []
  let from = 0
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at]!
    if (sign === "'" || sign === '"') at = Math.max(text.indexOf(sign, at + 1), at)
    else if (sign === '(') at = Math.max(closing(text, at), at)
    else if (sign === ',') {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  return [...parts, text.slice(from)].map((part) => part.trim())
}

const CALL = /'(?:[^']|'')*'|"[^"]*"|\b(coalesce|ifnull|nvl|nullif)\s*\(/gi

/** The most characters of an expression. Each call within another doubles it, and no metric is so long. */
const TEXT_MOST = 20_000

/** Returns the text. Throws NotTaken if it is too long. */
export function bounded(text: string): string {
  if (text.length > TEXT_MOST)
    throw new NotTaken(`an expression has more than ${TEXT_MOST} characters once it is written out`)
  return text
}

/**
 * Replaces coalesce() and nullif() by `case`, which the expressions of metrics have. A text that is too long, before
 * or after, stays as it is.
 */
export function withoutCalls(text: string): string {
  return rewritten(text) ?? text
}

/** Returns the text without the calls; null if it becomes too long. */
function rewritten(text: string): string | null {
  if (text.length > TEXT_MOST) return null
  for (const match of text.matchAll(CALL)) {
    const name = match[1]?.toLowerCase()
    if (name === undefined) continue
    const open = match.index + match[0].length - 1
    const close = closing(text, open)
    if (close < 0) return text
    const given = argumentsOf(text.slice(open + 1, close))
    const inner = rewritten(name === 'nullif' ? nullif(given) : coalesced(given))
    const rest = inner === null ? null : rewritten(text.slice(close + 1))
    if (inner === null || rest === null) return null
    const whole = text.slice(0, match.index) + inner + rest
    return whole.length > TEXT_MOST ? null : whole
  }
  return text
}

function nullif([value, other]: string[]): string {
  return `(case when (${value}) = (${other}) then null else (${value}) end)`
}

function coalesced(values: string[]): string {
  const last = values.at(-1)!
  const branches = values.slice(0, -1).map((value) => `when (${value}) is not null then (${value})`)
  return `(case ${branches.join(' ')} else (${last}) end)`
}

const NUMERIC = 'float\\w*|double(?:\\s+precision)?|real|numeric|decimal|number'
const CASTS = [
  new RegExp(`\\bcast\\s*\\(\\s*(${NAME})\\s+as\\s+(?:${NUMERIC})(?:\\([^)]*\\))?\\s*\\)`, 'gi'),
  new RegExp(`(${NAME})\\s*::\\s*(?:${NUMERIC})(?:\\([^)]*\\))?`, 'gi'),
]

/** Removes casts to a number. A metric is a number, and division is exact here, so such a cast changes nothing. */
export function withoutCasts(text: string): string {
  return CASTS.reduce((left, shape) => left.replaceAll(shape, '$1'), text)
}

export interface Names {
  /** Returns the SQL of a dimension by the path in a filter, such as `order__status`. Throws NotTaken. */
  dimension(path: string): string
  /** Returns the column of an entity. Throws NotTaken. */
  entity(path: string): string
}

const REFERENCE = /\{\{\s*(Dimension|Entity)\(\s*['"]([^'"]+)['"]\s*\)\s*\}\}/g

/** Returns a filter of dbt as a condition: `{{ Dimension('order__status') }}` becomes its column. */
export function filterText(filter: string, names: Names): string {
  const text = filter.replaceAll(REFERENCE, (_, kind: string, path: string) =>
    kind === 'Entity' ? names.entity(path) : names.dimension(path),
  )
  if (/\{\{\s*TimeDimension/.test(text))
    throw new NotTaken(`its filter is over a time: write "period" or "where" in the template`)
  if (/\{\{\s*Metric/.test(text)) throw new NotTaken('its filter is over another metric')
  if (/entity_path/.test(text)) throw new NotTaken('its filter reads a column of another model by a join')
  if (/\{[{%]/.test(text)) throw new NotTaken(`its filter cannot be read: ${filter.trim().slice(0, 100)}`)
  return withoutCalls(text.trim())
}
