/** Links to insights and collections in the store. */
import type { CollectionLink, Link } from '@assay/model/link'
import type { Page, PageQuery } from '../page.ts'

export interface NewLink {
  link_id: string
  workspace_id: string
  insight_id: string
  user_id: string
  label: string | null
  /** Whether the link opens the newest insight of this one's series. */
  newest: boolean
  /** Whether its readers see the rows behind the numbers. */
  rows: boolean
  /** From now, in milliseconds. */
  lifetime_ms: number
  /** `hashToken` of its secret. */
  link_hash: string
}

export interface FoundLink extends Link {
  workspace_id: string
  /** The insight to open: its own, or the newest of the series. */
  opens: string
}

export interface NewCollectionLink
  extends Pick<NewLink, 'link_id' | 'workspace_id' | 'user_id' | 'label' | 'lifetime_ms' | 'link_hash'> {
  collection_id: string
}

interface OfCollection {
  workspace_id: string
  collection_id: string
}

export interface LinkStore {
  /**
   * Makes a link. If the id exists for the same insight, replaces its hash and end: a repeat after a crash. `not_found`: no such
   * insight. `conflict`: the insight has LINKS_MOST links that have not expired.
   */
  createLink(input: NewLink): Promise<Link>
  /**
   * Finds what the secret of a link opens. Returns null if there is no such link, it was revoked, or it has expired.
   */
  findLink(link_hash: string): Promise<FoundLink | null>
  /** Moves the link to the newest insight of its series. Does nothing if link or insight is gone. */
  moveLink(input: { workspace_id: string; link_id: string; insight_id: string }): Promise<void>
  /** Newest first. Expired links are kept as long as events. */
  listLinks(query: PageQuery & { workspace_id: string; insight_id: string }): Promise<Page<Link>>
  /** Deletes a link. Returns false if it does not exist. */
  deleteLink(input: { workspace_id: string; insight_id: string; link_id: string }): Promise<boolean>
  /** As `createLink`, for a collection. Pins have no link. */
  createCollectionLink(input: NewCollectionLink): Promise<CollectionLink>
  /** As `findLink`. */
  findCollectionLink(link_hash: string): Promise<(CollectionLink & { workspace_id: string }) | null>
  /** As `listLinks`. */
  listCollectionLinks(query: PageQuery & OfCollection): Promise<Page<CollectionLink>>
  /** Deletes a link of a collection. Returns false if it does not exist. */
  deleteCollectionLink(input: OfCollection & { link_id: string }): Promise<boolean>
  /** Adds to the counts of openings. Ignores links that are gone. */
  countOpenings(openings: { link_id: string; count: number; at: string }[]): Promise<void>
}
