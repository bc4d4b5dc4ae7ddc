/**
 * A collection: insights that belong together for their readers, by a name. It holds insights, and series of which it shows the
 * newest run. What a user pins is a collection, too: one of her own that nobody else sees.
 */
import type { Static } from 'typebox'
import { uuidFor } from '../ids.ts'
import { nullable, Type } from '../schema.ts'

/** The most that one collection holds. */
export const HELD_MOST = 200

/** How many collections a workspace has, without what users pin. */
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

/** The collection of what the user pins. No operation on collections finds it. */
export function pinsId(workspace_id: string, user_id: string): string {
  return uuidFor(0, `pins ${workspace_id} ${user_id}`)
}

/** A subscription that follows a series by a collection, with the variables that all runs of the series have. */
export interface CollectionFollower {
  webhook_id: string
  variables: Record<string, unknown>
}

/** The subscriptions that follow what a job with these values becomes a run of. */
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
