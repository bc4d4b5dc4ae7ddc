/** A link: the page of one insight for who has no token, until it expires or is revoked. Only a hash of its secret is kept. */
import Type, { type Static } from 'typebox'

export const LINK_SECONDS = { least: 60, most: 366 * 86_400, usual: 7 * 86_400 }

/** Links that one insight may have at a time. */
export const LINKS_MOST = 1000

export const Link = Type.Object(
  {
    link_id: Type.String({ format: 'uuid' }),
    insight_id: Type.String({ format: 'uuid' }),
    user_id: Type.String({ description: 'Who made it' }),
    label: Type.Union([Type.String(), Type.Null()], { description: 'A note for people' }),
    expires_at: Type.String({ format: 'date-time' }),
    opened_count: Type.Integer({ minimum: 0, description: 'How often the page was opened' }),
    last_opened_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Link' },
)
export type Link = Static<typeof Link>

/** Where the page is read; without a public address from the root of the service. */
export function linkAddress(secret: string, publicUrl: string | null): string {
  return `${publicUrl ?? ''}/links/${secret}`
}
