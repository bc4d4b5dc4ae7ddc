/**
 * A collection: insights that belong together for their readers, under a name. It holds insights, and series of which
 * it shows the newest run. The pins of a user are a collection of her own that nobody else sees.
 */
import type { Static } from 'typebox'
import { uuidFor } from '../ids.ts'
import { nullable, Type } from '../schema.ts'

/** The most entries of one collection. */
export const HELD_MOST = 200

/** The most collections of a workspace. Pins do not count. */
export const COLLECTIONS_MOST = 1000

export const CollectionName = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' })
export const CollectionDescription = Type.String({ maxLength: 500, description: 'What it is for' })

export const Collection = Type.Object(
  {
    collection_id: Type.String({ format: 'uuid' }),
    name: CollectionName,
    description: nullable(CollectionDescription),
    user_id: Type.String({ description: 'The user who made it' }),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Collection' },
)
export type Collection = Static<typeof Collection>

/** Returns the id of the collection of the user's pins. No operation on collections finds it. */
export function pinsId(workspace_id: string, user_id: string): string {
  return uuidFor(0, `pins ${workspace_id} ${user_id}`)
}

/** A subscription that follows a series by a collection, with the variables that all runs of the series have. */
export interface CollectionFollower {
  webhook_id: string
  variables: Record<string, unknown>
}

/** Returns the subscriptions that follow the series of a job with these values. */
export function followersOf(
  followers: readonly CollectionFollower[],
  values: Readonly<Record<string, unknown>>,
): string[] {
  const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
  const found = followers.filter(({ variables }) =>
    Object.entries(variables).every(([name, value]) => same(values[name], value)),
  )
  return [...new Set(found.map(({ webhook_id }) => webhook_id))]
}
