/** A connection as the API answers it: nothing of its secrets but their fingerprints. */
import Type, { type Static } from 'typebox'
import { CONNECTION_KINDS } from './connection.ts'

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const LimitsView = Type.Object({
  timeout_seconds: Type.Integer({ description: 'The most that one query may take' }),
  rows: Type.Integer({ description: 'The most rows that one query may give' }),
  bytes: Type.Integer({ description: 'The most bytes of values that one query may give' }),
  concurrent: Type.Integer({ description: 'Queries at a time, on each node' }),
})

export const ConnectionView = Type.Object(
  {
    name: Type.String(),
    kind: Type.Enum([...CONNECTION_KINDS]),
    description: nullable(Type.String()),
    options: Type.Record(Type.String(), Type.Unknown(), { description: 'See docs/sources.md, by kind' }),
    secrets: Type.Record(Type.String(), Type.String(), { description: 'Hidden: •••• and a fingerprint' }),
    limits: LimitsView,
    origin: Type.Enum(['store', 'file'], { description: 'file: read-only, from ASSAY_CONNECTIONS' }),
    created_at: nullable(Type.String({ format: 'date-time' })),
    updated_at: nullable(Type.String({ format: 'date-time' })),
  },
  { title: 'Connection' },
)
export type ConnectionView = Static<typeof ConnectionView>
