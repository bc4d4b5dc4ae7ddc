/** Links to the pages of insights: the part of the contract that both databases keep for them. */
import type { CollectionLink, Link } from '@assay/model/link'
import type { Page, PageQuery } from '../page.ts'

export interface NewLink {
  link_id: string
  workspace_id: string
  insight_id: string
  user_id: string
  label: string | null
  /** Whether it opens the newest insight of the series of this one. */
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
   * Where the id exists for the same insight its hash and its end are replaced (a repeat after a crash). `not_found`
   * where the insight is not there, `conflict` where it has LINKS_MOST that have not expired.
   */
  createLink(input: NewLink): Promise<Link>
  /** What a reader's secret opens: null where there is none, it was revoked, or it has expired. */
  findLink(link_hash: string): Promise<FoundLink | null>
  /** Makes it a link of another insight, the newest of its series; nothing happens where either is gone. */
  moveLink(input: { workspace_id: string; link_id: string; insight_id: string }): Promise<void>
  /** Newest first; expired ones are kept as long as events. */
  listLinks(query: PageQuery & { workspace_id: string; insight_id: string }): Promise<Page<Link>>
  /** False: not there. */
  deleteLink(input: { workspace_id: string; insight_id: string; link_id: string }): Promise<boolean>
  /** As `createLink`, of a collection that people see. */
  createCollectionLink(input: NewCollectionLink): Promise<CollectionLink>
  /** As `findLink`. */
  findCollectionLink(link_hash: string): Promise<(CollectionLink & { workspace_id: string }) | null>
  /** As `listLinks`. */
  listCollectionLinks(query: PageQuery & OfCollection): Promise<Page<CollectionLink>>
  /** False: not there. */
  deleteCollectionLink(input: OfCollection & { link_id: string }): Promise<boolean>
  /** Adds to what was counted before; links that are gone are passed over. */
  countOpenings(openings: { link_id: string; count: number; at: string }[]): Promise<void>
}
