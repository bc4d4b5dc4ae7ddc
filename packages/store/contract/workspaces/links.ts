/** Links to insights and collections in the store. */
import type { CollectionLink, Link } from '@assay/model/link'
import type { Page, PageQuery } from '../page.ts'

export interface NewLink {
  link_id: string
  workspace_id: string
  insight_id: string
  user_id: string
  label: string | null
  /** True if the link opens the newest insight of this one's series. */
  newest: boolean
  /** True if its readers see the rows behind the numbers. */
  rows: boolean
  /** The lifetime from now, in milliseconds. */
  lifetime_ms: number
  /** The hash of its secret by `hashToken`. */
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
   * Makes a link. If the id exists for the same insight, replaces its hash and end: this is a repeat after a crash.
   * Throws `not_found` if there is no such insight, and `conflict` if the insight has LINKS_MOST links that have not
   * expired.
   */
  createLink(input: NewLink): Promise<Link>
  /**
   * Finds what the secret of a link opens. Returns null if there is no such link, it was revoked, or it has expired.
   */
  findLink(link_hash: string): Promise<FoundLink | null>
  /** Moves the link to the newest insight of its series. Does nothing if link or insight is gone. */
  moveLink(input: { workspace_id: string; link_id: string; insight_id: string }): Promise<void>
  /** Lists links, newest first. Expired links are kept as long as events. */
  listLinks(query: PageQuery & { workspace_id: string; insight_id: string }): Promise<Page<Link>>
  /** Deletes a link. Returns false if it does not exist. */
  deleteLink(input: { workspace_id: string; insight_id: string; link_id: string }): Promise<boolean>
  /** Makes a link to a collection by the rules of `createLink`. Pins have no link. */
  createCollectionLink(input: NewCollectionLink): Promise<CollectionLink>
  /** Finds what the secret of a link to a collection opens, by the rules of `findLink`. */
  findCollectionLink(link_hash: string): Promise<(CollectionLink & { workspace_id: string }) | null>
  /** Lists the links of a collection, newest first. */
  listCollectionLinks(query: PageQuery & OfCollection): Promise<Page<CollectionLink>>
  /** Deletes a link of a collection. Returns false if it does not exist. */
  deleteCollectionLink(input: OfCollection & { link_id: string }): Promise<boolean>
  /** Adds to the counts of openings. Ignores links that are gone. */
  countOpenings(openings: { link_id: string; count: number; at: string }[]): Promise<void>
}
