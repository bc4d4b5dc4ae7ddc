/**
 * Makes requests for every operation from the OpenAPI document. Half of them fit their schemas; the others are
 * changed at one place or many. Pure except for the ids that the caller adds as it finds them.
 */
import * as fc from 'fast-check'

export interface JsonSchema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  required?: string[]
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  additionalProperties?: boolean | JsonSchema
  anyOf?: JsonSchema[]
}

interface Parameter {
  $ref?: string
  name: string
  in: string
  required: boolean
  schema: JsonSchema
}

interface DescribedOperation {
  operationId: string
  parameters: Parameter[]
  requestBody?: { content: Record<string, { schema: JsonSchema }> }
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: JsonSchema }> }>
}

export interface Document {
  paths: Record<string, Record<string, DescribedOperation>>
  components: {
    schemas: Record<string, JsonSchema>
    responses: Record<string, { content?: Record<string, { schema: JsonSchema }> }>
  }
}

export interface FuzzRequest {
  operation: string
  method: string
  /** The path with the query, as in the request line. */
  target: string
  headers: Record<string, string>
  body: Buffer | null
}

/** Values of earlier answers that requests may use, by the name of their field. */
export type Known = Map<string, string[]>

const HOSTILE_TEXT =
  '|  |\0|\ud800|a\nb|__proto__|constructor|../../etc/passwd|\' or 1=1 --|{{ 7 | times: 7 }}|0|-1|1e9|NaN|null|true|[]|"quoted"|%00'
const ODD_VALUES: unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  -1e308,
  2 ** 53,
  [],
  {},
  [[[[]]]],
  { a: { b: null } },
]
const LONG = ['\ufdfa'.repeat(500), 'x'.repeat(20_000)]

const HOSTILE: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXT.split('|'), ...LONG, ...ODD_VALUES),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.jsonValue({ maxDepth: 3 }),
)

function text(schema: JsonSchema): fc.Arbitrary<string> {
  if (schema.format === 'uuid') return fc.uuid().map((id) => (id.endsWith('0') ? `"${id}"` : id))
  if (schema.format === 'date-time')
    return fc
      .date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
      .map((date) => date.toISOString())
  if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern))
  const minLength = schema.minLength ?? 0
  return fc.string({
    unit: 'grapheme',
    minLength,
    maxLength: Math.min(schema.maxLength ?? 30, minLength + 30),
  })
}

/** Returns values that fit the schema. It prefers `known` ones of the field. */
function fitting(schema: JsonSchema, name: string, document: Document, known: Known): fc.Arbitrary<unknown> {
  const again = known.get(name) ?? []
  if (again.length > 0 && schema.properties === undefined)
    return fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...again) },
      { weight: 1, arbitrary: plain(schema, document, known) },
    )
  return plain(schema, document, known)
}

function plain(schema: JsonSchema, document: Document, known: Known): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined)
    return plain(document.components.schemas[schema.$ref.split('/').at(-1)!]!, document, known)
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((branch) => plain(branch, document, known)))
  const [type, ...others] = [schema.type ?? 'any'].flat()
  if (others.length > 0)
    return fc.oneof(...[type!, ...others].map((one) => plain({ ...schema, type: one }, document, known)))
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1000, max: Math.min(schema.maximum ?? 1000, 2 ** 31 - 1) })
    case 'number': {
      const min = schema.minimum ?? schema.exclusiveMinimum ?? -1000
      return fc.double({
        min,
        max: schema.maximum ?? 1000,
        noNaN: true,
        minExcluded: schema.exclusiveMinimum !== undefined,
      })
    }
    case 'string':
      return text(schema)
    case 'array': {
      const maxLength = Math.min(schema.maxItems ?? 4, 4)
      return fc.array(plain(schema.items ?? {}, document, known), {
        minLength: schema.minItems ?? 0,
        maxLength,
      })
    }
    case 'object':
      return object(schema, document, known)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

function object(schema: JsonSchema, document: Document, known: Known): fc.Arbitrary<unknown> {
  const { properties, additionalProperties } = schema
  if (!properties) {
    const values =
      typeof additionalProperties === 'object'
        ? plain(additionalProperties, document, known)
        : fc.jsonValue({ maxDepth: 1 })
    return fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), values, { maxKeys: 3 })
  }
  const fields = Object.entries(properties).map(
    ([name, field]) => [name, fitting(field, name, document, known)] as const,
  )
  return fc.record(Object.fromEntries(fields), { requiredKeys: schema.required ?? [], noNullPrototype: true })
}

/** Returns a text, because objects are not allowed in a path or query. */
function nameOf(hostile: unknown): string {
  return typeof hostile === 'string' ? hostile.slice(0, 50) : typeof hostile
}

/** Returns the value with one part of it replaced, dropped or added. */
function bent(value: unknown, random: number[], hostile: unknown): unknown {
  const [turn = 0, ...rest] = random
  if (typeof value !== 'object' || value === null || rest.length === 0 || turn % 5 === 0) return hostile
  if (Array.isArray(value)) {
    const place = turn % (value.length + 1)
    return [...value.slice(0, place), bent(value[place], rest, hostile), ...value.slice(place + 1)]
  }
  const keys = Object.keys(value)
  const key = keys[turn % (keys.length + 1)]
  if (key === undefined) return { ...value, [nameOf(hostile)]: hostile }
  const { [key]: old, ...others } = value as Record<string, unknown>
  return turn % 7 === 0 ? others : { ...others, [key]: bent(old, rest, hostile) }
}

function bending(arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const turns = fc.array(fc.nat(100), { minLength: 1, maxLength: 4 })
  const wrong = fc
    .tuple(arbitrary, turns, HOSTILE)
    .map(([value, random, hostile]) => bent(value, random, hostile))
  return fc.oneof(arbitrary, wrong)
}

/** Encodes a value. Unpaired surrogates cannot be percent-encoded, so their replacement is sent. */
const encode = (value: unknown): string =>
  encodeURIComponent((typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed())

const BYTES = fc.oneof(
  fc
    .constantFrom('', '{', '[', '"', 'null', '{"a":1,}', '\ufeff{}', '{"payload":{"payload":', '\u0000')
    .map((raw) => Buffer.from(raw)),
  fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
)

const HEADERS: fc.Arbitrary<Record<string, string>> = fc
  .record(
    {
      accept: fc.constantFrom(
        '*/*',
        'application/json',
        'text/html',
        'text/plain',
        'text/markdown;q=0.5, */*;q=x',
        ',;,',
        'a/b',
      ),
      'idempotency-key': fc.constantFrom('k1', 'k2', 'k3', '', 'x'.repeat(300)),
      'if-none-match': fc.constantFrom('*', '"x"', 'W/'),
      'last-event-id': fc.constantFrom('0', '1', '9', '-1', 'x'),
      'content-type': fc.constantFrom(
        'text/plain',
        'application/json; charset=latin1',
        'nonsense',
        'application/xml',
      ),
      'content-encoding': fc.constantFrom('identity', 'gzip'),
    },
    { requiredKeys: [] },
  )
  .map((headers) => ({ ...headers }))

const EXTRA = fc.constantFrom('x=1', 'limit=2&limit=3', '__proto__=1', '%ff=%zz', '&&=')

export interface Fuzzer {
  operations: string[]
  request(operation: string, seed: number): FuzzRequest
}

/** Makes a fuzzer. The same seed and the same known values give the same request. */
export function createFuzzer(document: Document, known: Known): Fuzzer {
  const described = new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]) => [operation.operationId, { path, method, operation }] as const,
      ),
    ),
  )
  return {
    operations: [...described.keys()],
    request(name, seed) {
      const { path, method, operation } = described.get(name)!
      const parameters = operation.parameters.filter((parameter) => parameter.$ref === undefined)
      const [bodyType, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
      const parts = (bend: (fitting: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>) => ({
        values: fc.record(
          Object.fromEntries(
            parameters.map((parameter) => {
              const value = bend(fitting(parameter.schema, parameter.name, document, known))
              return [parameter.name, parameter.required ? value : fc.option(value, { nil: undefined })]
            }),
          ),
        ),
        body: content ? bend(plain(content.schema, document, known)) : fc.constant(undefined),
        slash: fc.boolean(),
      })
      const right = fc.record({ ...parts((fits) => fits), headers: fc.constant({}), extra: fc.constant('') })
      const wrong = fc.record({
        ...parts(bending),
        ...(content ? { body: fc.oneof({ weight: 6, arbitrary: parts(bending).body }, BYTES) } : {}),
        headers: fc.oneof(fc.constant({}), HEADERS),
        extra: fc.oneof({ weight: 5, arbitrary: fc.constant('') }, EXTRA),
      })
      const [made] = fc.sample<Made>(fc.oneof(right, wrong), { seed, numRuns: 1 })
      return assemble({ name, path, method, parameters, bodyType, made: made! })
    },
  }
}

interface Made {
  values: Record<string, unknown>
  body: unknown
  headers: Record<string, string>
  extra: string
  slash: boolean
}

function assemble(input: {
  name: string
  path: string
  method: string
  parameters: Parameter[]
  bodyType: string | undefined
  made: Made
}): FuzzRequest {
  const { values, body, headers, extra, slash } = input.made
  const path = input.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encode(values[name]) || '%20')
  const query = input.parameters
    .filter((parameter) => parameter.in === 'query' && values[parameter.name] !== undefined)
    .map((parameter) => `${parameter.name}=${encode(values[parameter.name])}`)
  const search = [...query, ...(extra === '' ? [] : [extra])].join('&')
  const bytes = bodyBytes(body, input.bodyType)
  return {
    operation: input.name,
    method: input.method.toUpperCase(),
    target: `${slash ? path : path.replace(/(.)\/$/, '$1')}${search === '' ? '' : `?${search}`}`,
    headers: { ...(bytes && input.bodyType ? { 'content-type': input.bodyType } : {}), ...headers },
    body: bytes,
  }
}

function bodyBytes(body: unknown, type: string | undefined): Buffer | null {
  if (body === undefined) return null
  if (Buffer.isBuffer(body)) return body
  if (type === 'application/json') return Buffer.from(JSON.stringify(body))
  if (typeof body === 'string') return Buffer.from(body)
  const fields = Object.entries(body ?? {}).map(([name, value]) => `${encode(name)}=${encode(value)}`)
  return Buffer.from(fields.join('&'))
}
