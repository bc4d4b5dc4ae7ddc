/** A link: opens the page of one insight, or of the newest one of its series, to a reader without a token until it expires or is revoked. The store keeps a hash of its secret. */
import type { Static } from 'typebox'
import { nullable, Type } from './schema.ts'

export const LINK_SECONDS = { least: 60, most: 366 * 86_400, usual: 7 * 86_400 }

/** The most links that one insight or collection may have at a time. */
export const LINKS_MOST = 1000

export const Link = Type.Object(
  {
    link_id: Type.String({ format: 'uuid' }),
    insight_id: Type.String({ format: 'uuid' }),
    user_id: Type.String({ description: 'The user who created it' }),
    label: Type.Union([Type.String(), Type.Null()], { description: 'A note for people' }),
    newest: Type.Boolean({
      description:
        'Whether it opens the newest run of the same template with the same variables but the period; `insight_id` is the one that was opened last',
    }),
    rows: Type.Boolean({
      description:
        'Whether its readers see the rows behind the numbers, too: the tables from which the text and its charts come',
    }),
    expires_at: Type.String({ format: 'date-time' }),
    opened_count: Type.Integer({ minimum: 0, description: 'How often the page was opened' }),
    last_opened_at: nullable(Type.String({ format: 'date-time' })),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Link' },
)
export type Link = Static<typeof Link>

/** A link to a collection: opens the insights that the collection holds when it is opened. */
export const CollectionLink = Type.Object(
  {
    link_id: Type.String({ format: 'uuid' }),
    collection_id: Type.String({ format: 'uuid' }),
    user_id: Link.properties.user_id,
    label: Link.properties.label,
    expires_at: Link.properties.expires_at,
    opened_count: Type.Integer({ minimum: 0, description: 'How often it or an insight by it was opened' }),
    last_opened_at: Link.properties.last_opened_at,
    created_at: Link.properties.created_at,
  },
  { title: 'CollectionLink' },
)
export type CollectionLink = Static<typeof CollectionLink>

/** Returns the address of the page. It is relative to the service's root if `publicUrl` is null. */
export function linkAddress(secret: string, publicUrl: string | null): string {
  return `${publicUrl ?? ''}/links/${secret}`
}
