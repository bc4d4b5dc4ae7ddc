/** How an upload was read, as its answer tells it: the schemas of what the reader of tables in text finds. */
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
    dates: Type.Optional(Mark),
    decimal: Type.Optional(Mark),
    thousands: Type.Optional(Mark),
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

export const FileDialect = Type.Object(
  {
    encoding: Mark,
    separator: Mark,
    quote: Mark,
    header: Type.Object({ is: Type.Boolean(), sure: Sure }),
    skipped: Type.Integer({ minimum: 0, description: 'Lines above the row of names' }),
  },
  { title: 'FileDialect' },
)

/** What the answer of an upload tells beside the columns. */
export const foundProperties = {
  dialect: Type.Union([FileDialect, Type.Null()], {
    description: 'How a CSV or TSV is divided; null for other formats',
  }),
  readings: Type.Array(ColumnReading, {
    description:
      'The columns that are read in another way than by their plain values, or stay text for a doubt',
  }),
}

export interface Found {
  dialect: Static<typeof FileDialect> | null
  readings: Static<typeof ColumnReading>[]
}

/** The readings tell the columns, so that the dialect need not. */
export function foundOf(dialect: FoundDialect | undefined, readings: readonly FoundColumn[]): Found {
  if (dialect === undefined) return { dialect: null, readings: [...readings] }
  const { encoding, separator, quote, header, skipped } = dialect
  return { dialect: { encoding, separator, quote, header, skipped }, readings: [...readings] }
}
