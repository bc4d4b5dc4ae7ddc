/** The explanation of a template: what an analysis would ask of a database, and which rows would be read here. */
import type { Static } from 'typebox'
import { nullable, Type } from '../schema.ts'

const Place = Type.Enum(['database', 'here'], {
  description: 'database: its rows stay there, and statistics are asked for. here: it runs in this service',
})

export const ExplainedStatement = Type.Object(
  {
    sql: Type.String({ description: 'In the SQL of the database' }),
    rows: Type.Integer({ description: 'The rows of the answer, over the sample' }),
    bytes: Type.Integer({ description: 'The bytes of the answer as JSON, over the sample' }),
  },
  { title: 'ExplainedStatement' },
)
export type ExplainedStatement = Static<typeof ExplainedStatement>

export const ForeseenStretch = Type.Object(
  {
    from: Type.String({ description: 'The first day' }),
    until: nullable(Type.String({ description: 'The day after the last. Null: without an end' })),
    because: Type.String({ description: 'Why they are read, as a sentence' }),
  },
  { title: 'ForeseenStretch' },
)
export type ForeseenStretch = Static<typeof ForeseenStretch>

export const ForeseenDays = Type.Object(
  {
    kept: Type.Integer({ description: 'The days that are not read again' }),
    reads: Type.Array(ForeseenStretch, {
      description: 'The days that a run reads, in their order. Rows and bytes of the source are theirs',
    }),
    doubt: nullable(Type.String({ description: 'What an audit of kept days found, as a sentence' })),
  },
  { title: 'ForeseenDays' },
)
export type ForeseenDays = Static<typeof ForeseenDays>

export const ExplainedSource = Type.Object(
  {
    name: Type.String(),
    place: Place,
    connection: nullable(Type.String({ description: 'Null: files' })),
    kind: nullable(Type.String({ description: 'The kind of the connection, such as postgresql' })),
    sql: nullable(
      Type.String({ description: 'The query of the source. Null: files, or a rule of rows is part of it' }),
    ),
    because: nullable(Type.String({ description: 'Why its rows move, or are not counted, as a sentence' })),
    rows: nullable(
      Type.Integer({
        description: 'The rows that move here, as the database counts them. Null: not counted',
      }),
    ),
    bytes: nullable(
      Type.Integer({
        description: 'The bytes that are expected to move: the rows, at the size of those of the sample',
      }),
    ),
    refused: nullable(
      Type.String({ description: 'Why a run would not move them: more rows than limits.rows' }),
    ),
    days: nullable(ForeseenDays),
  },
  { title: 'ExplainedSource' },
)
export type ExplainedSource = Static<typeof ExplainedSource>

export const ExplainedBlock = Type.Object(
  {
    name: Type.String(),
    method: nullable(Type.String({ description: 'Null: an SQL block' })),
    place: Place,
    reads: Type.Array(Type.String(), { description: 'The sources and blocks that it reads' }),
    statements: Type.Array(ExplainedStatement, { description: 'What it asks of the database' }),
    because: nullable(Type.String({ description: 'What the sample does not tell, as a sentence' })),
  },
  { title: 'ExplainedBlock' },
)
export type ExplainedBlock = Static<typeof ExplainedBlock>

export const Explained = Type.Object(
  {
    sample_rows: Type.Integer({
      description:
        'The most rows of a source that were read as a sample: numbers in statements that come from earlier answers are those of the sample',
    }),
    sources: Type.Array(ExplainedSource),
    blocks: Type.Array(ExplainedBlock),
  },
  { title: 'Explained' },
)
export type Explained = Static<typeof Explained>
