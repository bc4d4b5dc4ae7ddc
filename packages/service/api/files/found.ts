/** The schemas of the part of an upload's answer that says how its table was read. */
import type { FoundColumn, FoundDialect } from '@assay/model/dialect'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'

const Sure = Type.Enum(['declared', 'settled', 'likely'], {
  description: 'settled: by the bytes, or by a value that fits one reading only; likely: by what is usual',
})
const Mark = Type.Object({ is: Type.String(), sure: Sure })

const Doubt = Type.Object(
  {
    kind: Type.Enum(['two_readings', 'mixed'], {
      description: 'two_readings: every value fits both; mixed: a few values fit no reading of the others',
    }),
    sample: Type.String({ description: 'A value as it is written' }),
    readings: Type.Array(
      Type.Object({
        as: Type.String({ description: 'What the sample is in this reading' }),
        write: Type.String({ description: 'The line of the source that chooses it' }),
      }),
    ),
    says: Type.String({ description: 'A sentence for people' }),
  },
  { title: 'ColumnDoubt', description: 'Why the column stays text' },
)

export const ColumnReading = Type.Object(
  {
    name: Type.String(),
    repeats: Type.Optional(
      Type.String({ description: 'The name in the file, which a column before has, too' }),
    ),
    dates: Type.Optional(Mark),
    decimal: Type.Optional(Mark),
    thousands: Type.Optional(Mark),
    currency: Type.Optional(Mark),
    percent: Type.Optional(
      Type.Object(
        { is: Type.Enum(['share', 'number']), sure: Sure },
        { description: 'What a number with a % is: with share, 12.5 % is 0.125' },
      ),
    ),
    minus: Type.Optional(
      Type.Object(
        { is: Type.Enum(['brackets', 'behind']), sure: Sure },
        { description: 'How negative numbers are marked, where it is not by a minus in front' },
      ),
    ),
    missing: Type.Optional(
      Type.Array(Type.Object({ mark: Type.String(), n: Type.Integer({ minimum: 0 }) }), {
        description:
          'The texts that are read as missing values, with their counts in the rows that were seen',
      }),
    ),
    doubt: Type.Optional(Doubt),
  },
  { title: 'ColumnReading' },
)

const FileSheet = Type.Object(
  {
    is: Type.String({ description: 'The sheet that is read, by its name' }),
    sure: Sure,
    others: Type.Array(Type.String(), { description: 'The other sheets that are not hidden' }),
    hidden: Type.Array(Type.String(), { description: 'The other sheets that are hidden' }),
    range: Type.Optional(Type.String({ description: 'The cells that the source declares' })),
    joined: Type.Optional(
      Type.Integer({ description: 'The rows of names under merged cells that were joined to one' }),
    ),
    filled: Type.Optional(
      Type.Integer({ description: 'The cells that got the text of merged cells that begin above them' }),
    ),
  },
  { title: 'FileSheet', description: 'Of a workbook: the sheet that is read' },
)

export const FileDialect = Type.Object(
  {
    encoding: Type.Optional(Mark),
    separator: Type.Optional(Mark),
    quote: Type.Optional(Mark),
    sheet: Type.Optional(FileSheet),
    header: Type.Object({ is: Type.Boolean(), sure: Sure }),
    skipped: Type.Integer({ minimum: 0, description: 'Lines above the row of names' }),
  },
  { title: 'FileDialect' },
)

/** The fields of an upload's answer besides the columns. */
export const foundProperties = {
  dialect: Type.Union([FileDialect, Type.Null()], {
    description: 'How a CSV or TSV is divided, or which sheet of a workbook is read; null for other formats',
  }),
  list: Type.Union([Type.String(), Type.Null()], {
    description: 'Of JSON: the list within the object of the file that holds the rows; null: there is none',
  }),
  readings: Type.Array(ColumnReading, {
    description:
      'The columns that are read in another way than by their plain values, or stay text for a doubt',
  }),
}

export interface Found {
  dialect: Static<typeof FileDialect> | null
  list: string | null
  readings: Static<typeof ColumnReading>[]
}

/**
 * Returns the found dialect, readings and list as the API answers them. The readings describe the columns, so the
 * dialect leaves them out.
 */
export function foundOf({ dialect, readings, list }: Reading): Found {
  const found = { list: list ?? null, readings: [...readings] }
  if (dialect === undefined) return { dialect: null, ...found }
  const { columns: _columns, bad_rows: _rows, ...told } = dialect
  return { dialect: told, ...found }
}

interface Reading {
  dialect?: FoundDialect
  readings: readonly FoundColumn[]
  list?: string
}
