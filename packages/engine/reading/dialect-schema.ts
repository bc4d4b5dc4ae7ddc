/** What a source of files can declare of how its texts are written: in templates and in metrics. */
import { type ColumnDialect, type Dialect, NUMBER_DATES, WORD_DATES } from '@assay/model/dialect'

const marks = {
  type: 'array',
  items: { type: ['string', 'null'] },
  maxItems: 50,
  description:
    'Texts that stand for a missing value; without it the usual ones, in columns of numbers and dates only',
} as const

const ORDERS = ['dmy', 'mdy', 'ymd']
const dates = (words: readonly string[]) => ({
  type: 'string',
  pattern: `^(${[...ORDERS, ...words].join('|')}|.*%.*)$`,
  description: `dmy: the day first; mdy: the month first; ymd; a form such as %d %b %Y; or ${words.join(', ')}`,
})

const sourceProperties = {
  dates: dates(WORD_DATES),
  decimal: { type: 'string', enum: ['.', ','], description: 'The decimal mark' },
  thousands: {
    type: 'string',
    enum: ['', '.', ',', ' ', "'"],
    description: 'The mark between thousands',
  },
  percent: {
    type: 'string',
    enum: ['share', 'number'],
    description: 'What 12.5 % is: share (default): 0.125; number: 12.5',
  },
  minus: {
    type: 'string',
    enum: ['front', 'brackets', 'behind'],
    description: 'How negative numbers are marked: by a minus in front, by brackets, or by a minus behind',
  },
  missing: marks,
} as const

const columnProperties = { ...sourceProperties, dates: dates([...WORD_DATES, ...NUMBER_DATES]) } as const

export const dialectProperties = {
  encoding: {
    type: 'string',
    minLength: 1,
    description: 'The encoding of the text, such as windows-1252 or utf-16le; default: found by its bytes',
  },
  separator: {
    type: 'string',
    minLength: 1,
    maxLength: 4,
    description: 'What stands between values; default: found',
  },
  quote: { type: 'string', maxLength: 1, description: 'What stands around quoted values; "": nothing does' },
  header: { type: 'boolean', description: 'Whether a row names the columns; default: found' },
  skip: {
    type: 'integer',
    minimum: 0,
    maximum: 1000,
    description: 'Lines above the row of names',
  },
  sheet: {
    type: 'string',
    minLength: 1,
    maxLength: 200,
    description: 'Of a workbook: the sheet by its name; default: the first that is not hidden',
  },
  range: {
    type: 'string',
    pattern: '^\\$?[A-Za-z]{1,3}\\$?[0-9]{0,7}:\\$?[A-Za-z]{1,3}\\$?[0-9]{0,7}$',
    description: 'Of a workbook: the cells, such as B3:F20, B3:F or B:F; default: all',
  },
  list: {
    type: 'string',
    maxLength: 200,
    description:
      'Of JSON: the list within an object that holds the rows, such as data or result.items; "": the object itself is a row; default: the only list',
  },
  ...sourceProperties,
  bad_rows: {
    type: 'string',
    enum: ['refuse', 'skip'],
    description: 'What becomes of a row with too many or too few values; default refuse; skip counts them',
  },
  totals: {
    type: 'string',
    enum: ['keep', 'skip'],
    description: 'What becomes of rows of totals below the table; default: such a row is refused',
  },
} as const

export const columnsSchema = {
  type: 'object',
  description: "Columns by name: the type in DuckDB's words, or how the column is written",
  additionalProperties: {
    anyOf: [
      { type: 'string', minLength: 1 },
      {
        type: 'object',
        additionalProperties: false,
        properties: {
          type: { type: 'string', minLength: 1, description: "In DuckDB's words" },
          ...columnProperties,
        },
      },
    ],
  },
} as const

type Mapping = Record<string, unknown>

/** The declared types and the dialect of a source that fits the schema. */
export function readDialect(declared: Mapping): { columns: Record<string, string>; dialect: Dialect } {
  const types: Record<string, string> = {}
  const columns: Record<string, ColumnDialect> = {}
  for (const [name, given] of Object.entries((declared.columns ?? {}) as Mapping)) {
    if (typeof given === 'string') types[name] = given
    else {
      const { type, ...own } = given as ColumnDialect & { type?: string }
      if (type !== undefined) types[name] = type
      columns[name] = withTexts(own)
    }
  }
  const known = Object.keys(dialectProperties).filter((key) => declared[key] !== undefined)
  const dialect: Dialect = withTexts(Object.fromEntries(known.map((key) => [key, declared[key]])))
  return { columns: types, dialect: Object.keys(columns).length > 0 ? { ...dialect, columns } : dialect }
}

/** `missing: [null]` is what YAML reads where the text null is meant. */
function withTexts<T extends { missing?: unknown }>(given: T): T & ColumnDialect {
  const { missing } = given
  if (!Array.isArray(missing)) return given as T & ColumnDialect
  return { ...given, missing: missing.map((mark) => (mark === null ? 'null' : String(mark))) }
}
