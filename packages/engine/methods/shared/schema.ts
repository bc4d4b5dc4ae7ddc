/** The JSON Schema of an analysis block, for editors that complete and explain YAML by one: the options of each method. */
import type { TSchema } from 'typebox'
import { METHODS } from '../catalog.ts'

const OF = {
  type: 'string',
  description: 'The source, SQL block or analysis whose rows it works on',
} as const

/** An option may also be filled in from the job's variables. */
const filled = (option: TSchema) =>
  (option as { type?: string }).type === 'string'
    ? option
    : { anyOf: [option, { type: 'string', pattern: '^\\$[a-z_]' }] }

function branch(name: string, options: TSchema, fields: readonly string[]) {
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
    description: `Gives summary, n, method, notes, ${fields.join(', ')}`,
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
  oneOf: Object.values(METHODS).map(({ name, options, fields }) => branch(name, options, fields)),
}
