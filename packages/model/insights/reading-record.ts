/** A reading of an insight by a user, from the audit trail. */
import type { Static } from 'typebox'
import { nullable, Type } from '../schema.ts'

/** The number of the newest records of an insight that are looked at, and the most users that are returned. */
export const READINGS_LOOKED_AT = 5000
export const READINGS_MOST = 200

export const Reading = Type.Object(
  {
    user_id: Type.String(),
    username: nullable(Type.String({ description: 'null: the user is gone, or an account of a service' })),
    count: Type.Integer({ minimum: 1, description: 'How often, each form by itself' }),
    last_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Reading' },
)
export type Reading = Static<typeof Reading>
