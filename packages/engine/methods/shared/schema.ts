/** The JSON Schema of an analysis block, for editors that complete and explain YAML by one: the options of each method. */
import type { TSchema } from 'typebox'
import { METHODS, OWN } from '../catalog.ts'
import { COMMON, type FieldSchema, type Fields } from './fields.ts'

const OF = {
  type: 'string',
  description: 'The source, SQL block or analysis whose rows it works on',
} as const

/** An option may also be filled in from the job's variables, and so may each member of an option that is a map. */
function filled(option: TSchema): object {
  const { type, properties } = option as { type?: string; properties?: Record<string, TSchema> }
  if (type === 'string') return option
  const members =
    properties &&
    Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, filled(member)]))
  const given = members ? { ...option, properties: members } : option
  return { anyOf: [given, { type: 'string', pattern: '^\\$[a-z_]' }] }
}

function branch(name: string, options: TSchema, fields: Fields) {
  const { properties = {}, required = [] } = options as {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  // What has a default is filled in before a method sees it: a writer need not give it.
  const asked = required.filter((option) => !('default' in properties[option]!))
  const mapped = Object.fromEntries(
    Object.entries(properties).map(([option, schema]) => [option, filled(schema)]),
  )
  return {
    title: name,
    description: `Gives ${Object.keys(COMMON).join(', ')}, ${fieldList(fields)}`,
    type: 'object',
    additionalProperties: false,
    required: ['method', 'of', ...asked],
    properties: { method: { const: name }, of: OF, ...mapped },
  }
}

export const analysisSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: "An analysis block of Assay's templates",
  type: 'object',
  required: ['method', 'of'],
  properties: {
    method: { enum: Object.keys(METHODS), description: 'What is done with the rows' },
    of: OF,
  },
  oneOf: Object.values(METHODS).map(({ name, options }) => branch(name, options, OWN[name]!.fields)),
}

/** "a, b, points (time, value of each)": the fields of an outcome; `mark` may set names as code. */
function fieldList(fields: Fields, mark: (name: string) => string = (name) => name): string {
  return Object.entries(fields)
    .map(([name, schema]) => {
      const inside = insideOf(schema)
      if (inside === null) return mark(name)
      const { each } = inside
      return `${mark(name)} (${fieldList(inside.fields, mark)}${each === '' ? '' : ` ${each}`})`
    })
    .join(', ')
}

/** The fields of each item of a list or of a map, or of an object. */
function insideOf(schema: FieldSchema): { fields: Record<string, FieldSchema>; each: string } | null {
  const { items, properties, patternProperties = {}, anyOf = [], keysFrom } = schema
  const [item] = Object.values(patternProperties)
  if (item?.properties) return { fields: item.properties, each: `under each name of ${keysFrom}` }
  if (items?.properties) return { fields: items.properties, each: 'of each' }
  if (properties) return { fields: properties, each: '' }
  return anyOf.map(insideOf).find((found) => found !== null) ?? null
}

/** The list of the fields of each method, for the guide. */
export function fieldsSection(): string {
  const code = (name: string): string => `\`${name}\``
  const common = Object.keys(COMMON).map(code).join(', ')
  return [
    `Every outcome has ${common}. Beside them:`,
    '',
    ...Object.values(OWN).map(({ name, fields }) => `- ${code(name)}: ${fieldList(fields, code)}`),
  ].join('\n')
}
