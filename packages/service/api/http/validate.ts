/**
 * Validates what a client sends by its schema and finds every fault, each with its path and a sentence. It first normalizes
 * values: ids without JSON's quotes, times in UTC with milliseconds, query parameters in their types. Text that a database
 * cannot keep (NUL, halves of surrogate pairs) and keys that could reach a prototype are faults, so that no later code
 * meets them.
 */

import { nearest } from '@assay/engine/values/near'
import { AppError, type FieldError } from '@assay/model/errors'
import { isUuid } from '@assay/model/ids'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import { type PlainSchema, plainSchema } from './plain-schema.ts'

const MOST_FAULTS = 100
const MOST_DEPTH = 64
const LATEST = Date.parse('9999-12-31T23:59:59.999Z')
const TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/

/** Tells whether the date exists. Date.parse reads the 30th of February as the 2nd of March. */
function isDay(text: string): boolean {
  const [year, month, day] = text.slice(0, 10).split('-').map(Number)
  return day! <= new Date(Date.UTC(year!, month, 0)).getUTCDate()
}

function isTime(text: string): boolean {
  const ms = TIME.test(text) && isDay(text) ? Date.parse(text.toUpperCase()) : Number.NaN
  return ms >= 0 && ms <= LATEST
}

const rules = { allowUnionTypes: true, formats: { uuid: isUuid, 'date-time': isTime } }
const withEvery = new Ajv({ ...rules, allErrors: true })
const withFirst = new Ajv(rules)
/**
 * The most parts of a value of which every fault is reported. A larger value gets its first fault only, because
 * listing all faults of a body of 1 MiB takes half a second.
 */
const MOST_PARTS = 5000

/** Tells whether a parsed value has more than `most` parts at all levels together. */
export function hasMany(value: unknown, most = MOST_PARTS): boolean {
  let parts = 0
  const rest = [value]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const fields = Array.isArray(next) ? (next as unknown[]) : Object.values(next)
    parts += fields.length
    if (parts > most) return true
    for (const field of fields) if (typeof field === 'object' && field !== null) rest.push(field)
  }
  return false
}

/** A compiled schema. `faults` has paths that start with `at`; `value` is normalized. */
export type Validator = (value: unknown, at: string) => { value: unknown; faults: FieldError[] }

/**
 * Returns a validator that compiles its schema at first use. Compiling all schemas at the start would take a tenth of
 * a second.
 */
export function validator(schema: TSchema): Validator {
  const plain = plainSchema(schema, true)
  let toEvery: ValidateFunction | undefined
  let toFirst: ValidateFunction | undefined
  return (value, at) => {
    const many = hasMany(value)
    const validate = many ? (toFirst ??= withFirst.compile(plain)) : (toEvery ??= withEvery.compile(plain))
    // This check comes before normalization, so that a list with too many items is not walked.
    if (many && !validate(value) && tooMany(validate.errors))
      return { value, faults: faultsOf(validate.errors ?? [], plain, at) }
    const formed = canonical(plain, value)
    if (validate(formed)) return { value: formed, faults: [] }
    return { value: formed, faults: faultsOf(validate.errors ?? [], plain, at) }
  }
}

const tooMany = (errors: ValidateFunction['errors']): boolean =>
  ['maxItems', 'maxProperties', 'additionalProperties'].includes(errors?.[0]?.keyword ?? '')

/** Returns a validator of query parameters. They arrive as text and are converted to their declared types first. */
export function queryValidator(schema: TSchema): Validator {
  const plain = plainSchema(schema, true)
  const check = validator(schema)
  return (query, at) => {
    const given = query as Record<string, string | string[]>
    const typed: Record<string, unknown> = {}
    const faults: FieldError[] = []
    for (const name of Object.keys(given)) {
      const text = given[name]!
      if (Array.isArray(text)) faults.push({ path: name, message: 'was given more than once' })
      else typed[name] = fromText(plain.properties?.[name]?.type, text)
    }
    const checked = check(typed, at)
    if (faults.length === 0) return checked
    const repeated = new Set(faults.map((fault) => fault.path))
    return {
      value: checked.value,
      faults: [...faults, ...checked.faults.filter((fault) => !repeated.has(fault.path))],
    }
  }
}

function fromText(type: PlainSchema['type'], text: string): unknown {
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

const acceptsNull = ({ type, anyOf, const: only }: PlainSchema): boolean =>
  (type === undefined && only === undefined && anyOf === undefined) ||
  [type].flat().includes('null') ||
  (anyOf ?? []).some(acceptsNull)

function canonicalFields(schema: PlainSchema, fields: Record<string, unknown>): void {
  const { properties = {}, required = [] } = schema
  for (const key of Object.keys(fields)) {
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (!known) continue
    if (fields[key] === null && !required.includes(key) && !acceptsNull(known)) delete fields[key]
    else fields[key] = canonical(known, fields[key])
  }
}

/** Normalizes a value in place. Null for an optional member that does not accept null removes the member. */
function canonical(schema: PlainSchema, value: unknown): unknown {
  if (typeof value === 'string') {
    if (schema.format === 'uuid')
      return (value.startsWith('"') ? value.replace(/^"(.*)"$/s, '$1') : value).toLowerCase()
    if (schema.format === 'date-time' && isTime(value))
      return new Date(Date.parse(value.toUpperCase())).toISOString()
    return value
  }
  if (Array.isArray(value)) return schema.items ? value.map((item) => canonical(schema.items!, item)) : value
  if (schema.properties && typeof value === 'object' && value !== null)
    canonicalFields(schema, value as Record<string, unknown>)
  return value
}

/** Returns the faults to show, at most MOST_FAULTS, because a body may have a hundred thousand. */
function faultsOf(errors: ErrorObject[], schema: PlainSchema, at: string): FieldError[] {
  const told = new Map<string, FieldError>()
  for (const error of errors.slice(0, 2 * MOST_FAULTS)) {
    const fault = faultOf(error, schema, at)
    told.set(`${fault.path} ${fault.message}`, fault)
  }
  return [...told.values()]
}

function faultOf(error: ErrorObject, schema: PlainSchema, at: string): FieldError {
  const steps = error.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const path = [...(at === '' ? [] : [at]), ...steps]
  const params = error.params as Record<string, unknown>
  if (error.keyword === 'required')
    return { path: dotted([...path, params.missingProperty as string]), message: 'is required' }
  if (error.keyword === 'additionalProperties') {
    const key = params.additionalProperty as string
    const near = nearest(key, Object.keys(schemaAt(schema, steps)?.properties ?? {}))
    const hint = near ? `; did you mean ${JSON.stringify(near)}?` : ''
    return { path: dotted([...path, key]), message: `is not a known key${hint}` }
  }
  return { path: dotted(path), message: sentence(error, params) }
}

function dotted(steps: string[]): string {
  return steps.map((step) => (step.length > 100 ? `${step.slice(0, 100)}...` : step)).join('.') || 'body'
}

function sentence(error: ErrorObject, params: Record<string, unknown>): string {
  if (error.keyword === 'enum')
    return `must be one of ${(params.allowedValues as unknown[]).map((value) => JSON.stringify(value)).join(', ')}`
  if (error.keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}`
  if (error.keyword === 'type') return `must be ${[params.type].flat().map(nameOfType).join(' or ')}`
  if (error.keyword === 'format')
    return params.format === 'uuid' ? 'must be a UUID' : 'must be a time such as 2026-01-31T12:00:00Z'
  if (error.keyword === 'pattern') return patternWords(String(params.pattern))
  const bound = BOUNDS[error.keyword]?.(Number(params.limit))
  return bound ?? error.message ?? 'does not fit'
}

/** Describes the patterns of names in words, and shows any other pattern. */
function patternWords(pattern: string): string {
  const [, first, rest] = /^\^\[(a-z0-9|a-z_)\]\[a-z0-9_-\]\{0,(\d+)\}\$$/.exec(pattern) ?? []
  if (first === undefined) return `must match the pattern ${pattern}`
  const begins = first === 'a-z_' ? '"_"' : 'a digit'
  return `must be at most ${Number(rest) + 1} of a-z, 0-9, "-" and "_", beginning with a letter or ${begins}`
}

const BOUNDS: Record<string, (limit: number) => string> = {
  minimum: (limit) => `must be at least ${limit}`,
  maximum: (limit) => `must be at most ${limit}`,
  minLength: (limit) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`),
  maxLength: (limit) => `must have at most ${limit} characters`,
  minItems: (limit) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} items`),
  maxItems: (limit) => `must have at most ${limit} items`,
  maxProperties: (limit) => `must have at most ${limit} keys`,
  uniqueItems: () => 'must not hold the same item twice',
}

function nameOfType(type: unknown): string {
  if (type === 'null') return 'null'
  return type === 'integer'
    ? 'a whole number'
    : `${type === 'array' || type === 'object' ? 'an' : 'a'} ${String(type)}`
}

function schemaAt(schema: PlainSchema, steps: string[]): PlainSchema | undefined {
  let found: PlainSchema | undefined = schema
  for (const step of steps) found = /^\d+$/.test(step) ? found?.items : found?.properties?.[step]
  return found
}

function textFault(text: string): string | null {
  if (text.includes('\0')) return 'must not contain the character U+0000'
  return text.isWellFormed() ? null : 'must not contain half of a surrogate pair'
}

const isBadKey = (key: string): boolean => key === '__proto__' || textFault(key) !== null

/** Tells whether a value has no fault of text and is nested at most MOST_DEPTH deep. */
function isSound(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return textFault(value) === null
  if (typeof value !== 'object' || value === null) return true
  if (depth >= MOST_DEPTH) return false
  if (Array.isArray(value)) return value.every((item) => isSound(item, depth + 1))
  const fields = value as Record<string, unknown>
  return Object.keys(fields).every((key) => !isBadKey(key) && isSound(fields[key], depth + 1))
}

/**
 * Returns the faults of text and nesting anywhere in a parsed value. It uses no recursion, so that no nesting can
 * exhaust the stack.
 */
export function textFaults(root: unknown, at: string): FieldError[] {
  const faults: FieldError[] = []
  if (isSound(root, 0)) return faults
  const rest: { value: object; steps: string[] }[] = []
  const look = (value: unknown, steps: string[], key: string | null): void => {
    const path = (): string[] => (key === null ? steps : [...steps, key])
    const fault = typeof value === 'string' ? textFault(value) : null
    if (fault !== null) faults.push({ path: dotted(path()), message: fault })
    else if (typeof value === 'object' && value !== null) rest.push({ value, steps: path() })
  }
  look(root, at === '' ? [] : [at], null)
  for (let next = rest.pop(); next && faults.length < MOST_FAULTS; next = rest.pop()) {
    const { value, steps } = next
    if (steps.length > MOST_DEPTH)
      faults.push({ path: dotted(steps), message: `is nested deeper than ${MOST_DEPTH} levels` })
    else
      for (const [key, field] of Object.entries(value)) {
        if (!isBadKey(key)) look(field, steps, key)
        else
          faults.push({
            path: dotted(steps),
            message: `has the key ${JSON.stringify(key.slice(0, 100))}, which is not allowed`,
          })
      }
  }
  return faults
}

/** Returns a 422 with every fault. */
export function invalid(faults: FieldError[]): AppError {
  const shown = faults.slice(0, MOST_FAULTS)
  const [first] = shown
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  const message = first?.message.replace(/(?<![.?])$/, '.')
  return new AppError('invalid', `${first?.path}: ${message}${more} Correct what errors lists.`, {
    errors: shown,
  })
}
