/**
 * Makes hostile requests for every operation of the OpenAPI document that takes text. One field at a time is a
 * hostile text; all others fit. The text is as long as the field allows, and far longer in another request.
 */
import type { Document, JsonSchema } from '../../test/hostile/fuzz.ts'
import { SHAPE_NAMES, shaped } from './shapes.ts'

export interface Entry {
  name: string
  method: string
  /** The path with the query. */
  target: string
  headers: Record<string, string>
  body: Buffer | null
  /** True sends no token. */
  anonymous?: boolean
}

/** Fitting values by the name of their field: the ids of existing objects. */
export type Fitting = Readonly<Record<string, unknown>>

/** The characters of a body just below the largest, as JSON or Markdown. */
export const BODY_MOST = 900_000
/** The most characters of an address. Node refuses a head of more than 16 KiB. */
const ADDRESS_MOST = 12_000

interface Field {
  steps: string[]
  schema: JsonSchema
}

function resolved(schema: JsonSchema, document: Document): JsonSchema {
  const named =
    schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1)!]!
  const branch = named.anyOf?.find((one) => one.type !== 'null')
  return branch ? resolved(branch, document) : named
}

const typeOf = (schema: JsonSchema): string | undefined =>
  [schema.type].flat().find((type) => type !== 'null')

/** Returns the smallest fitting value, with required fields only. */
function least(given: JsonSchema, name: string, known: Fitting, document: Document): unknown {
  const schema = resolved(given, document)
  if (schema.const !== undefined) return schema.const
  if (name in known) return known[name]
  if (schema.enum) return schema.enum[0]
  switch (typeOf(schema)) {
    case 'object': {
      const required = schema.required ?? []
      return Object.fromEntries(
        required.map((key) => [key, least(schema.properties?.[key] ?? {}, key, known, document)]),
      )
    }
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () =>
        least(schema.items ?? {}, name, known, document),
      )
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return false
    default:
      return schema.format === 'date-time'
        ? '2026-01-01T00:00:00Z'
        : 'a'.repeat(Math.max(1, schema.minLength ?? 1))
  }
}

/**
 * Returns every text within a schema, by its path. A map of texts has the path of one key, a list that of its first
 * item.
 */
function textsIn(given: JsonSchema, document: Document, steps: string[] = []): Field[] {
  const schema = resolved(given, document)
  if (schema.const !== undefined || schema.enum || steps.length > 4) return []
  const type = typeOf(schema)
  if (type === 'string') return [{ steps, schema }]
  if (type === 'array') return textsIn(schema.items ?? {}, document, [...steps, '0'])
  if (type !== 'object' && type !== undefined) return []
  const fields = Object.entries(schema.properties ?? {}).flatMap(([key, field]) =>
    textsIn(field, document, [...steps, key]),
  )
  const { additionalProperties: values } = schema
  if (typeof values === 'object' && schema.properties === undefined)
    fields.push({ steps: [...steps, 'key'], schema: { type: 'string' } })
  return fields
}

function placed(root: unknown, [step, ...rest]: string[], text: string): unknown {
  if (step === undefined) return text
  if (step === '0') return [placed(undefined, rest, text)]
  const fields = (typeof root === 'object' && root !== null ? root : {}) as Record<string, unknown>
  return { ...fields, [step]: placed(fields[step], rest, text) }
}

interface Described {
  method: string
  path: string
  operation: Document['paths'][string][string]
}

function formBody(fields: unknown): string {
  return new URLSearchParams(fields as Record<string, string>).toString()
}

/** Returns the shapes in turn, so that two seeds test other pairs of field and shape. */
function turns(seed: number): () => string {
  let next = seed % SHAPE_NAMES.length
  return () => {
    next = (next + 7) % SHAPE_NAMES.length
    return SHAPE_NAMES[next]!
  }
}

function bodyEntries(
  { operation, path, method }: Described,
  known: Fitting,
  document: Document,
  turn: () => string,
  target: (over?: Record<string, string>) => string,
): Entry[] {
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  if (type === undefined || content === undefined || type === '*/*') return []
  const json = type === 'application/json'
  const bytes = (value: unknown): Buffer =>
    Buffer.from(json ? JSON.stringify(value) : typeof value === 'string' ? value : formBody(value))
  const entry = (what: string, value: unknown): Entry => ({
    name: `${operation.operationId} ${what}`,
    method,
    target: target(),
    headers: { 'content-type': type },
    body: bytes(value),
  })
  const base = least(content.schema, path, known, document)
  return textsIn(content.schema, document).flatMap((field) => {
    const { steps, schema } = field
    const where = steps.join('.') || 'body'
    const lengths = new Set([Math.min(schema.maxLength ?? BODY_MOST, BODY_MOST), BODY_MOST])
    return [...lengths].flatMap((length) => {
      const shape = turn()
      // A character may have several bytes, and JSON escapes some.
      let text = shaped(shape, length)
      while (bytes(placed(base, steps, text)).length > 1_000_000)
        text = text.slice(0, text.length / 2).toWellFormed()
      return entry(`${where} ${shape} ${text.length}`, placed(base, steps, text))
    })
  })
}

function entriesOf(described: Described, known: Fitting, document: Document, turn: () => string): Entry[] {
  const { path, method, operation } = described
  const parameters = operation.parameters.filter(({ $ref }) => $ref === undefined)
  const values = Object.fromEntries(
    parameters
      .filter(({ required }) => required)
      .map(({ name, schema }) => [name, String(least(schema, name, known, document))]),
  )
  const target = (over: Record<string, string> = {}): string => {
    const all = { ...values, ...over }
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(all[name]!))
    const query = parameters
      .filter((one) => one.in === 'query' && all[one.name] !== undefined)
      .map(({ name }) => `${name}=${encodeURIComponent(all[name]!)}`)
    return query.length === 0 ? filled : `${filled}?${query.join('&')}`
  }
  const inAddress = parameters
    .filter(({ schema }) => textsIn(schema, document).length > 0)
    .map((parameter): Entry => {
      const shape = turn()
      let text = shaped(shape, ADDRESS_MOST)
      while (encodeURIComponent(text).length > ADDRESS_MOST)
        text = text.slice(0, text.length / 2).toWellFormed()
      return {
        name: `${operation.operationId} ${parameter.name} ${shape} ${text.length}`,
        method,
        target: target({ [parameter.name]: text }),
        headers: {},
        body: null,
      }
    })
  return [...inAddress, ...bodyEntries(described, known, document, turn, target)]
}

/** The operations that are left out. Signing out ends the token of the run. */
const LEFT_OUT = ['logout']

export function entriesFromDocument(document: Document, known: Fitting, seed: number): Entry[] {
  const turn = turns(seed)
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => !LEFT_OUT.includes(operation.operationId))
      .flatMap(([method, operation]) =>
        entriesOf({ path, method: method.toUpperCase(), operation }, known, document, turn),
      ),
  )
}
