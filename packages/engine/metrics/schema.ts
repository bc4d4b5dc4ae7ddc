/** The JSON Schemas of a metric's file and of a template's fence `metric NAME`. */
import { CONNECTION_NAME } from '@assay/model/connection'
import { GRAINS, METRIC_ID } from '@assay/model/metric'
import { columnsSchema, dialectProperties } from '../reading/dialect-schema.ts'

const text = (description: string) => ({ type: 'string', minLength: 1, description }) as const
const column = text('A column of the source')

const test = {
  type: 'object',
  description: 'One of not_null, unique, fresh and accepted',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: {
    not_null: text('A column that has a value in each row'),
    unique: text('A column whose values differ in all rows'),
    fresh: {
      type: ['string', 'integer'],
      description: 'The greatest age of the newest row, such as 2d or 12h',
    },
    accepted: {
      type: 'object',
      description: 'Columns by name, each with the values that it may have',
      minProperties: 1,
      additionalProperties: { type: 'array', minItems: 1, items: { type: ['string', 'number', 'boolean'] } },
    },
  },
} as const

export const metricSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Metric of Assay',
  type: 'object',
  additionalProperties: false,
  required: ['metric', 'source', 'time', 'value'],
  properties: {
    metric: { type: 'string', pattern: METRIC_ID, description: "Its name: the file's name" },
    label: text('The name that readers see'),
    description: text('One sentence: what it counts'),
    source: {
      type: 'object',
      description: 'A file as in templates; or a table or a query of a connection',
      additionalProperties: false,
      properties: {
        file: text('A path or glob below the data folder, or sample/NAME'),
        connection: { type: 'string', pattern: CONNECTION_NAME, description: 'A connection by its name' },
        table: text('connection: a table, with its schema where it needs one'),
        sql: text("connection: one query in the database's own SQL, whose rows are read"),
        columns: columnsSchema,
        ...dialectProperties,
      },
    },
    time: {
      type: 'object',
      additionalProperties: false,
      required: ['column'],
      properties: {
        column: text('The date or timestamp of a row'),
        grain: {
          type: 'string',
          enum: [...GRAINS],
          description: 'The finest step of the series; default day',
        },
        zone: text('The IANA time zone whose days count; default UTC'),
      },
    },
    value: {
      description: 'sum(...), count(*), count(distinct ...), avg, min, max and arithmetic; or a ratio',
      anyOf: [
        { type: 'string', minLength: 1 },
        {
          type: 'object',
          additionalProperties: false,
          required: ['ratio'],
          properties: {
            ratio: {
              type: 'object',
              additionalProperties: false,
              required: ['numerator', 'denominator'],
              properties: { numerator: text('What is divided'), denominator: text('By what') },
            },
          },
        },
      ],
    },
    where: text('Only rows for which this holds count'),
    rows: text('The rows that count for a reader, such as region = $reader.region'),
    unit: text('The unit behind the number, such as EUR or %'),
    fmt: text('A format code, such as num1, pct1 or eur0'),
    good: {
      type: 'string',
      enum: ['up', 'down', 'none'],
      description: 'Which direction is good; default none',
    },
    missing: {
      type: 'string',
      enum: ['gap', 'zero'],
      description: 'What a step without rows means; default gap',
    },
    target: {
      type: 'object',
      additionalProperties: false,
      required: ['value', 'per'],
      properties: { value: { type: 'number' }, per: { type: 'string', enum: [...GRAINS] } },
    },
    partitions: {
      type: 'object',
      description: 'connection: statistics of days are kept, and a run reads new days only',
      additionalProperties: false,
      required: ['reopen', 'deletes'],
      properties: {
        reopen: {
          type: 'string',
          pattern: '^[0-9]{1,3}d$',
          description: 'How long after its end a day gets rows, such as 3d; these days are read by each run',
        },
        deletes: {
          type: 'string',
          enum: ['none', 'marked'],
          description:
            'none: rows of older days never change. marked: a row that is deleted or changed stays, and "changed" tells when',
        },
        changed: text('deletes marked: the column with the moment at which a row was last written'),
      },
    },
    dimensions: {
      type: 'array',
      items: column,
      maxItems: 20,
      uniqueItems: true,
      description: 'Columns that may explain a change',
    },
    tests: {
      type: 'array',
      items: test,
      maxItems: 50,
      description: 'What must hold of the rows; checked with every use',
    },
    events: {
      type: 'array',
      maxItems: 1000,
      description: 'What happened when',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['date', 'label'],
        properties: { date: text('YYYY-MM-DD'), label: text('What happened') },
      },
    },
  },
} as const

/** The options of a fence `metric NAME`. */
export const metricUseSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['metric'],
  properties: {
    metric: {
      type: 'string',
      pattern: '^\\$?[a-z_][a-z0-9_]{0,62}$',
      description: 'The name of a metric, or $NAME of a variable that lists some',
    },
    by: {
      anyOf: [
        { type: 'string', minLength: 1 },
        { type: 'array', items: column, maxItems: 20, uniqueItems: true },
      ],
      description: 'A column or several; all: its dimensions',
    },
    grain: { type: 'string', enum: [...GRAINS], description: "Default: the metric's own" },
    period: text('$NAME of a period variable, or two days: 2024-01-01..2024-03-31'),
    where: text("Further rows are left out; as in the metric's file, and $NAME is a variable"),
  },
} as const
