/** The JSON Schema of an analysis block, for editors that complete and explain YAML by one: the options of each method. */
import type { TSchema } from 'typebox'
import { METHODS, OWN } from '../catalog.ts'
import { COMMON, type FieldSchema, type Fields } from './fields.ts'

/** The question that each method answers, for lists of methods. A test holds the names to the catalog. */
export const QUESTIONS: Record<string, string> = {
  describe: 'How are these numbers spread?',
  profile: 'What is in this table?',
  compare: 'Is the last day, week or month unusual beside those before?',
  trend: 'Does it rise or fall over time?',
  changepoints: 'When did its level change?',
  seasonality: 'Does it repeat by the week, the month or the year?',
  anomalies: 'Which values stand out over time? With a list as by: where, and why?',
  drivers: 'What moved the number from one period to the next?',
  ab_test: 'Do two groups of units differ in one measure?',
  experiment: 'Did a randomised test work, in all its metrics?',
  plan: 'How many units and days must a test have?',
  cohorts: 'Do those who came once come back?',
  funnel: 'Between which steps do they drop out?',
  forecast: 'What comes next, and between which bounds?',
  correlation: 'Do these columns of numbers go together?',
  regression: 'How does one number depend on others?',
  anova: 'Do the means of several groups differ?',
  compare_groups: 'Do groups differ in level, spread or distribution, by the test that fits?',
  association: 'Do two columns go together, whatever their types?',
  normality: 'Do the values follow a normal or another distribution?',
  outliers: 'Which values stand far apart from the others?',
  pareto: 'How few make up how much of the sum?',
}

const OF = {
  type: 'string',
  description: 'The source, SQL block or analysis whose rows it works on',
} as const

/**
 * Returns the schema of an option that may also be filled in from the job's variables, as may each member of an option
 * that is a map.
 */
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
  // An option with a default is filled in before a method sees it, so an author need not give it.
  const asked = required.filter((option) => !('default' in properties[option]!))
  const mapped = Object.fromEntries(
    Object.entries(properties).map(([option, schema]) => [option, filled(schema)]),
  )
  return {
    title: name,
    description: `${QUESTIONS[name]} Gives ${Object.keys(COMMON).join(', ')}, ${fieldList(fields)}`,
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

/** A method, as a writer of templates needs it. */
export interface MethodEntry {
  name: string
  question: string
  /** The required options. */
  required: string[]
  /** The JSON Schema of its options. */
  options: object
  /** The fields of its outcome beside those of every outcome. */
  fields: string
}

/** Returns all methods, and the fields that every outcome has. */
export function methodList(): { common: string[]; methods: MethodEntry[] } {
  return {
    common: Object.keys(COMMON),
    methods: analysisSchema.oneOf.map(({ title, required, properties: { method: _method, ...options } }) => ({
      name: title,
      question: QUESTIONS[title]!,
      required,
      options,
      fields: fieldList(OWN[title]!.fields),
    })),
  }
}

/** Lists the fields of an outcome: "a, b, points (time, value of each)". `mark` may set names as code. */
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

/** Returns the fields of each item of a list or of a map, or of an object. */
function insideOf(schema: FieldSchema): { fields: Record<string, FieldSchema>; each: string } | null {
  const { items, properties, patternProperties = {}, anyOf = [], keysFrom } = schema
  const [item] = Object.values(patternProperties)
  if (item?.properties) return { fields: item.properties, each: `under each name of ${keysFrom}` }
  if (items?.properties) return { fields: items.properties, each: 'of each' }
  if (properties) return { fields: properties, each: '' }
  return anyOf.map(insideOf).find((found) => found !== null) ?? null
}

/** Writes the list of the fields of each method, for the guide. */
export function fieldsSection(): string {
  const code = (name: string): string => `\`${name}\``
  const common = Object.keys(COMMON).map(code).join(', ')
  return [
    `Every outcome has ${common}. Beside them:`,
    '',
    ...Object.values(OWN).map(({ name, fields }) => `- ${code(name)}: ${fieldList(fields, code)}`),
  ].join('\n')
}
