/**
 * Makes one plain form of a schema for validation and for the OpenAPI document: `anyOf: [X, null]` becomes `type: [x,
 * null]`, so that a fault is one sentence and not one for each branch, and objects are closed where they come from a
 * client.
 */
import type { TSchema } from 'typebox'

export interface PlainSchema {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  format?: string
  title?: string
  description?: string
  required?: string[]
  properties?: Record<string, PlainSchema>
  items?: PlainSchema
  additionalProperties?: boolean | PlainSchema
  anyOf?: PlainSchema[]
  $ref?: string
  [keyword: string]: unknown
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function withoutAnyOf({ anyOf = [], ...rest }: PlainSchema): PlainSchema {
  const present = anyOf.filter((branch) => branch.type !== 'null')
  const [only] = present
  // A schema with a title becomes a component of the document. A component cannot be null in one place and not in
  // another, so it keeps its `anyOf`.
  const plainNull =
    present.length === 1 && anyOf.length === 2 && typeof only?.type === 'string' && only.title === undefined
  if (!plainNull) return { ...rest, anyOf }
  const values = only.enum ? { enum: [...only.enum, null] } : {}
  return { ...only, ...rest, ...values, type: [only.type as string, 'null'] }
}

function withType(schema: PlainSchema): PlainSchema {
  if (schema.type === undefined && schema.enum?.every((value) => typeof value === 'string'))
    return { type: 'string', ...schema }
  return schema
}

/** Returns the plain form of a schema. `closed`: objects refuse keys that they do not name. */
export function plainSchema(schema: TSchema | PlainSchema, closed: boolean): PlainSchema {
  const plain: PlainSchema = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties' && isObject(value)) {
      plain.properties = Object.fromEntries(
        Object.entries(value).map(([name, field]) => [name, plainSchema(field as PlainSchema, closed)]),
      )
    } else if (keyword === 'patternProperties' && isObject(value)) {
      plain.additionalProperties = plainSchema(Object.values(value)[0] as PlainSchema, closed)
    } else if ((keyword === 'anyOf' || keyword === 'oneOf') && Array.isArray(value)) {
      plain.anyOf = value.map((branch) => plainSchema(branch as PlainSchema, closed))
    } else if ((keyword === 'items' || keyword === 'additionalProperties') && isObject(value)) {
      plain[keyword] = plainSchema(value, closed)
    } else plain[keyword] = value
  }
  const result = withType(plain.anyOf ? withoutAnyOf(plain) : plain)
  if (closed && result.properties && result.additionalProperties === undefined)
    result.additionalProperties = false
  return result
}
