/**
 * The JSON Schema of a template's front matter, for parse.ts and for editors. parse.ts checks afterwards what a schema
 * cannot express, such as a time zone that exists or a default that fits its type.
 */
import { CONNECTION_NAME } from '@assay/model/connection'
import { CHART_FORMS } from '@assay/model/insight'
import { MOST_TILES } from '@assay/model/reading'
import { TEMPLATE_ID, VARIABLE_TYPES } from '@assay/model/template'
import { columnsSchema, dialectProperties } from './dialect-schema.ts'

const NAME = '^[a-z_][a-z0-9_]{0,62}$'
const text = (description: string) => ({ type: 'string', minLength: 1, description }) as const

const variable = {
  type: 'object',
  description: 'What a job may be given',
  additionalProperties: false,
  required: ['type'],
  properties: {
    type: { type: 'string', enum: [...VARIABLE_TYPES], description: 'The type that values are converted to' },
    required: { type: 'boolean', description: 'A job without it is refused' },
    default: { description: 'The value where none is given; without it: null' },
    description: text('Shown in forms and in the list of templates'),
    enum: { type: 'array', minItems: 1, description: 'The only values allowed' },
    min: { type: ['number', 'string'], description: 'The least value (numbers, dates, timestamps)' },
    max: { type: ['number', 'string'], description: 'The greatest value (numbers, dates, timestamps)' },
    pattern: text(
      'A regular expression (ECMAScript, with the flag u; no look-around, no back-references) that the text must match somewhere',
    ),
    max_length: { type: 'integer', minimum: 1, description: 'The most characters, or items of a list' },
    items: {
      type: 'string',
      enum: ['string', 'integer', 'number', 'boolean', 'date', 'timestamp'],
      description: 'list: the type of its items (default string)',
    },
    of: text('column: the source that it names a column of'),
    until: {
      type: 'string',
      pattern: '^[a-z_][a-z0-9_]*\\..+$',
      description: 'period: source.column; relative periods are counted back from its latest value',
    },
  },
} as const

const source = {
  type: 'object',
  description: 'A data file, or several of the same shape; or what a query over a connection gives',
  additionalProperties: false,
  if: { required: ['query'] },
  // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's own word
  then: { required: ['connection'] },
  else: { required: ['file'] },
  properties: {
    file: text('A path or glob below the data folder, or sample/NAME; may hold Liquid over vars'),
    connection: {
      type: 'string',
      pattern: CONNECTION_NAME,
      description: 'A connection by its name: the query is run there',
    },
    query: text("One query in the database's own SQL; $name is bound, [[ ... ]] is an optional clause"),
    columns: columnsSchema,
    rows: text('The rows that a reader sees, such as region = $reader.region'),
    where: text('Parquet: the rows that are read, such as day >= $since; what can hold none is not fetched'),
    ...dialectProperties,
  },
} as const

const meaning = {
  type: 'object',
  description: 'What a column is to a reader',
  additionalProperties: false,
  properties: {
    label: text('The name that readers see, such as Late flights'),
    unit: text('The unit behind the number, such as minutes, EUR or %'),
    fmt: text('A format code, such as num1, pct1 or eur0'),
    good: {
      type: 'string',
      enum: ['up', 'down', 'none'],
      description: 'Which direction is good; default none',
    },
    target: { type: 'number', description: 'The value that is aimed at' },
  },
} as const

const amount = (description: string) => ({ type: ['string', 'integer'], description }) as const

export const frontMatterSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Front matter of an Assay template',
  type: 'object',
  additionalProperties: false,
  properties: {
    id: {
      type: 'string',
      pattern: TEMPLATE_ID,
      description: "The name under which jobs ask for it; default: the file's name",
    },
    title: text('May hold Liquid over vars and the blocks; default: the first heading, then the id'),
    description: text('One sentence: what the reader learns'),
    tags: { type: 'array', items: text('A tag'), uniqueItems: true, description: 'For filtering the list' },
    variables: {
      type: 'object',
      propertyNames: { pattern: NAME },
      maxProperties: 200,
      additionalProperties: variable,
      description: 'By name',
    },
    sources: {
      type: 'object',
      propertyNames: { pattern: NAME },
      additionalProperties: source,
      description: 'By the name that SQL reads them under',
    },
    time_zone: text('An IANA time zone in which periods are resolved; default UTC'),
    limits: {
      type: 'object',
      additionalProperties: false,
      properties: {
        timeout: amount('Such as 60s: sources, SQL, analyses and rendering'),
        memory: amount('Such as 1GB, for the engine'),
        threads: { type: 'integer', minimum: 1, description: 'More than 1 gives up identical repeats' },
        rows: { type: 'integer', minimum: 1, description: 'The most rows kept of a block' },
        output: amount('Such as 10MB: the most that an insight may hold'),
      },
    },
    columns: {
      type: 'object',
      maxProperties: 500,
      additionalProperties: meaning,
      description: 'What columns are to a reader, by name: sentences, tables and axes use it',
    },
    tiles: {
      type: 'array',
      maxItems: MOST_TILES,
      uniqueItems: true,
      items: {
        type: 'string',
        pattern: '^[a-z_][a-z0-9_]{0,62}(\\.[^.]+)?$',
        description: 'An analysis, or block.field: a column of a block or a number of an outcome',
      },
      description: 'The figures at the top of the page; default: those of the analyses',
    },
    charts: { type: 'string', enum: [...CHART_FORMS], description: 'The form of charts in the Markdown' },
    deliver_if: text('A Liquid condition; where it is false no webhook is notified'),
    written_by: {
      type: 'string',
      minLength: 1,
      maxLength: 200,
      description: 'The language model that wrote the template: its insights say so',
    },
    lineage: {
      type: 'string',
      enum: ['full', 'none'],
      description: 'none leaves "How this was computed" out of the Markdown',
    },
  },
} as const

/** An analysis block. The method adds its own options. */
export const analysisSchema = {
  type: 'object',
  required: ['method', 'of'],
  properties: {
    method: text('One of the methods'),
    of: text('The block or source that it works on'),
  },
} as const
