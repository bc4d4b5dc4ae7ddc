/** The JSON Schema of a test file, `NAME.test.yaml` beside the template NAME.md. */

const text = (description: string) => ({ type: 'string', minLength: 1, description }) as const
const byName = (description: string, value: object) =>
  ({ type: 'object', description, additionalProperties: value }) as const
const patterns = { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] } as const
const columns = byName("Column types by name, in DuckDB's words", { type: 'string', minLength: 1 })
const rows = { type: 'array', maxItems: 10_000, items: { type: 'object' } } as const

const fixture = {
  description: 'Rows; or `rows`, `csv` or `file`, and the types of columns',
  anyOf: [
    rows,
    {
      type: 'object',
      additionalProperties: false,
      properties: {
        rows,
        csv: text('A table with its row of names'),
        file: text('A file beside the test'),
        columns,
      },
    },
  ],
} as const

const close = {
  type: 'object',
  additionalProperties: false,
  required: ['value', 'within'],
  properties: { value: { type: 'number' }, within: { type: 'number', minimum: 0 } },
} as const
const value = { anyOf: [{ type: ['string', 'number', 'boolean', 'null'] }, close] } as const

const expected = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: {
    error: text('The run fails, and its message matches this pattern'),
    title: text('A pattern of the title'),
    skipped: { type: 'boolean', description: 'Whether `deliver_if` is false' },
    facts: byName('Facts by name', value),
    rows: byName('The number of rows of a block, or of a list of an analysis: "unusual.points"', {
      type: 'integer',
      minimum: 0,
    }),
    headlines: byName('Patterns of headlines, by analysis', { type: 'string' }),
    grades: byName('Grades by analysis', { enum: ['firm', 'likely', 'unclear', 'withheld'] }),
    codes: byName('The codes of all blockers and caveats, by analysis', {
      type: 'array',
      items: { type: 'string' },
    }),
    values: byName('Values of blocks and analyses by path: "slope.low", "daily.0.n"', value),
    text: { ...patterns, description: 'Patterns that the Markdown matches' },
    markdown: text('A file beside the test that holds the Markdown without its lineage'),
  },
} as const

export const testsSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Tests of a template of Assay',
  type: 'object',
  additionalProperties: false,
  required: ['tests'],
  properties: {
    template: text('The template file; default: the name of this file'),
    tests: {
      type: 'array',
      minItems: 1,
      maxItems: 200,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['test', 'expect'],
        properties: {
          test: text('What must hold, as a sentence'),
          started_at: text('The clock of the run, RFC 3339; default 2026-01-01T12:00:00Z'),
          variables: { type: 'object', description: 'Values by name' },
          reader: { type: 'object', description: 'Of a personal template: attributes by name' },
          sources: byName('Small tables in place of sources, by name', fixture),
          metrics: byName('Small tables in place of the rows of metrics, by name', fixture),
          expect: expected,
        },
      },
    },
  },
} as const
