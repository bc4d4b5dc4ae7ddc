/**
 * Makes api.generated.ts from the OpenAPI document: a type for each schema and a row for each operation. It knows the
 * JSON Schema that packages/service writes, and throws for any other (docs/decisions/0035-generated-client.md).
 */
import type { Document, Operation, Schema } from './openapi-document.ts'

const PREFIX = '/v1alpha'
const KEY = '#/components/parameters/IdempotencyKey'

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value)
const union = (types: string[]): string =>
  types.includes('unknown') ? 'unknown' : [...new Set(types)].join(' | ')
const comment = (text: string | undefined, indent: string): string =>
  text ? `${indent}/** ${text.replaceAll('*/', '* /').replaceAll('\n', ' ')} */\n` : ''

/**
 * Returns the TypeScript type of a schema. `given`: the type of a caller's value, where `undefined` stands for an
 * absent field.
 */
function typeOf(schema: Schema, given: boolean, indent: string): string {
  const { $ref, type, items } = schema
  if ($ref) return $ref.slice($ref.lastIndexOf('/') + 1)
  if ('const' in schema) return literal(schema.const)
  if (schema.enum) return union(schema.enum.map(literal))
  if (schema.anyOf) return union(schema.anyOf.map((one) => typeOf(one, given, indent)))
  if (Array.isArray(type)) return union(type.map((one) => typeOf({ ...schema, type: one }, given, indent)))
  switch (type) {
    case undefined:
      return 'unknown'
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'integer':
    case 'number':
      return 'number'
    case 'array': {
      const item = typeOf(items ?? {}, given, indent)
      return item.includes(' | ') ? `(${item})[]` : `${item}[]`
    }
    case 'object':
      return schema.properties ? objectOf(schema, given, indent) : recordOf(schema, given, indent)
    default:
      throw new Error(`api.generated.ts has no type for ${JSON.stringify(type)}.`)
  }
}

function recordOf({ additionalProperties: other }: Schema, given: boolean, indent: string): string {
  return `Record<string, ${typeof other === 'object' ? typeOf(other, given, indent) : 'unknown'}>`
}

function objectOf({ properties = {}, required = [] }: Schema, given: boolean, indent: string): string {
  const inner = `${indent}  `
  const lines = Object.entries(properties).map(([name, schema]) => {
    const optional = !required.includes(name)
    const own = typeOf(schema, given, inner)
    const type = optional && given && own !== 'unknown' ? `${own} | undefined` : own
    return `${comment(schema.description, inner)}${inner}${name}${optional ? '?' : ''}: ${type}\n`
  })
  return lines.length === 0 ? '{}' : `{\n${lines.join('')}${indent}}`
}

/** Returns the names of the schemas that only requests use. */
function inputsOf({ paths, components }: Document): Set<string> {
  const namesIn = (part: unknown): string[] =>
    [...(JSON.stringify(part) ?? '').matchAll(/#\/components\/schemas\/(\w+)/g)].flatMap(([, name]) => [
      name!,
      ...namesIn(components.schemas[name!]),
    ])
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const results = new Set(namesIn(operations.map(({ responses }) => responses)))
  return new Set(
    namesIn(operations.map(({ requestBody }) => requestBody)).filter((name) => !results.has(name)),
  )
}

function resultOf({ responses }: Operation): string {
  const types = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content = {} }]) => content['application/json']?.schema)
    .map((schema) => (schema ? typeOf(schema, false, '    ') : 'undefined'))
  return union(types)
}

function queryOf({ parameters = [] }: Operation): Schema {
  const found = parameters.filter((one) => one.in === 'query')
  return {
    type: 'object',
    required: found.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(
      found.map(({ name, schema, description = '' }) => [name, { ...schema, description }]),
    ),
  }
}

function bodyOf({ requestBody }: Operation): [type: string, schema: Schema] | null {
  const first = Object.entries(requestBody?.content ?? {})[0]
  return first ? [first[0], first[1].schema] : null
}

function typeRow(path: string, operation: Operation): string {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `${name}: string`)
  const body = bodyOf(operation)
  return (
    comment(operation.summary, '  ') +
    `  ${operation.operationId}: {\n    path: [${names.join(', ')}]\n` +
    `    query: ${typeOf(queryOf(operation), true, '    ')}\n` +
    `    body: ${body ? typeOf(body[1], true, '    ') : 'undefined'}\n` +
    `    result: ${resultOf(operation)}\n  }\n`
  )
}

function valueRow(method: string, path: string, operation: Operation): string {
  const body = bodyOf(operation)
  const keyed = operation.parameters?.some(({ $ref }) => $ref === KEY) ?? false
  const fields = [`method: '${method.toUpperCase()}'`, `path: '${path}'`]
  if (body) fields.push(`body: '${body[0]}'`)
  if (keyed) fields.push('keyed: true')
  return `  ${operation.operationId}: { ${fields.join(', ')} },\n`
}

/** Returns the text of api.generated.ts. */
export function clientTypes(openapi: string): string {
  const document = JSON.parse(openapi) as Document
  const { paths, components } = document
  const inputs = inputsOf(document)
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith(PREFIX))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => [method, path.slice(PREFIX.length), one] as const),
    )
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `${comment(schema.description, '')}export type ${name} = ${typeOf(schema, inputs.has(name), '')}\n`,
  )
  return `/** The HTTP interface as types. Generated by "npm run gen" from openapi.json. */

${schemas.join('\n')}
/** The names in the path, the query, the body and the answer of each operation. */
export interface Operations {
${operations.map(([, path, one]) => typeRow(path, one)).join('')}}

/** The method and the path of each operation. \`keyed\`: it takes an idempotency key. */
export const OPERATIONS = {
${operations.map(([method, path, one]) => valueRow(method, path, one)).join('')}} as const
`
}
