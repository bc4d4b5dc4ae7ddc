/** Validates a value against a JSON Schema. Each error becomes a fault with a position and a remedy. */

import type { Fault } from '@assay/model/template'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { makeFault, type Position } from '../language/fault.ts'
import { suggest } from '../values/near.ts'

type Path = readonly (string | number)[]
type PositionOf = (path: Path, what?: 'key' | 'value') => Position

/** The most errors that are reported. A text may have tens of thousands. */
const MAX_ERRORS = 200

/**
 * The schemas are the program's own, and a test checks them (methods/shared/schema.test.ts). Validating them here
 * would take 30 ms of each start.
 */
const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  strict: false,
  addUsedSchema: false,
  validateSchema: false,
})
const compiled = new WeakMap<object, ValidateFunction>()

function validator(schema: object): ValidateFunction {
  let validate = compiled.get(schema)
  if (!validate) {
    const { $schema: _, ...rest } = schema as { $schema?: string }
    validate = ajv.compile(rest)
    compiled.set(schema, validate)
  }
  return validate
}

/** Returns the faults. `subject` names the whole value in messages, such as "the front matter". */
export function schemaFaults(
  schema: object,
  value: unknown,
  subject: string,
  positionOf: PositionOf,
): Fault[] {
  const validate = validator(schema)
  if (validate(value)) return []
  const errors = (validate.errors ?? []).slice(0, MAX_ERRORS)
  const unions = errors.filter((error) => error.keyword === 'anyOf' || error.keyword === 'oneOf')
  return errors
    .filter((error) => !unions.some((union) => union !== error && isBranchOf(error, union)))
    .filter((error) => error.keyword !== 'propertyNames' && error.keyword !== 'if')
    .map((error) => toFault(error, errors, subject, positionOf))
}

function isBranchOf(error: ErrorObject, union: ErrorObject): boolean {
  return (
    error.schemaPath.startsWith(`${union.schemaPath}/`) && error.instancePath.startsWith(union.instancePath)
  )
}

function pathOf(error: ErrorObject): (string | number)[] {
  return error.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function toFault(error: ErrorObject, all: ErrorObject[], subject: string, positionOf: PositionOf): Fault {
  const path = pathOf(error)
  const named = path.length === 0 ? capital(subject) : `"${path.join('.')}"`
  const params = error.params as Record<string, unknown>
  if (error.propertyName !== undefined) {
    const message = `${JSON.stringify(error.propertyName)} cannot be a name.`
    const remedy = 'Use lower-case letters, digits and underscores, a letter first.'
    return makeFault('bad_name', positionOf([...path, error.propertyName], 'key'), message, remedy)
  }
  switch (error.keyword) {
    case 'additionalProperties': {
      const key = String(params.additionalProperty)
      const known = Object.keys((error.parentSchema as { properties?: object }).properties ?? {})
      const owner = path.length === 0 ? subject : named
      const position = positionOf([...path, key], 'key')
      return makeFault(
        'unknown_key',
        position,
        `${JSON.stringify(key)} is not a key of ${owner}.`,
        suggest(key, known),
      )
    }
    case 'required':
      return makeFault(
        'missing_key',
        positionOf(path, 'key'),
        `${named} needs ${JSON.stringify(params.missingProperty)}.`,
        'Add it.',
      )
    case 'enum': {
      const allowed = (params.allowedValues as unknown[]).map(String)
      const given = typeof error.data === 'string' ? error.data : JSON.stringify(error.data)
      const message = `${named} cannot be ${JSON.stringify(error.data)}.`
      return makeFault('bad_value', positionOf(path), message, suggest(given, allowed))
    }
    case 'anyOf':
    case 'oneOf': {
      const wanted = all.filter((other) => other !== error && isBranchOf(other, error)).map(expected)
      const message = `${named} must be ${[...new Set(wanted)].join(' or ') || 'of another form'}.`
      return makeFault('bad_value', positionOf(path), message, 'Correct it.')
    }
    default:
      return makeFault('bad_value', positionOf(path), `${named} must be ${expected(error)}.`, 'Correct it.')
  }
}

function expected(error: ErrorObject): string {
  const params = error.params as Record<string, unknown>
  switch (error.keyword) {
    case 'type':
      return [params.type].flat().map(withArticle).join(' or ')
    case 'enum':
      return `one of ${(params.allowedValues as unknown[]).map((value) => JSON.stringify(value)).join(', ')}`
    case 'const':
      return JSON.stringify(params.allowedValue)
    case 'minLength':
    case 'minItems':
      return params.limit === 1 ? 'not empty' : `at least ${String(params.limit)} long`
    case 'minimum':
      return `at least ${String(params.limit)}`
    case 'maximum':
      return `at most ${String(params.limit)}`
    case 'exclusiveMinimum':
      return `above ${String(params.limit)}`
    case 'exclusiveMaximum':
      return `below ${String(params.limit)}`
    case 'maxProperties':
      return `a map of at most ${String(params.limit)} keys`
    case 'uniqueItems':
      return 'without duplicates'
    default:
      return (error.message ?? 'valid').replace(/^must (be )?/, '')
  }
}

const ARTICLES: Record<string, string> = {
  object: 'a map of keys',
  array: 'a list',
  integer: 'a whole number',
  string: 'text',
  boolean: 'true or false',
  null: 'null',
  number: 'a number',
}
const withArticle = (type: unknown): string => ARTICLES[String(type)] ?? String(type)
const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)
