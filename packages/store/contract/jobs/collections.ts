/** What the store promises of collections of insights. What a user pins is one of them, which lists leave out. */
import type { Collection, CollectionFollower } from '@assay/model/collection'
import type { Page, PageQuery } from '../page.ts'

interface Key {
  workspace_id: string
  collection_id: string
}

export interface CollectionStore {
  /** Where the id exists in the workspace it is answered as it is. `conflict` beyond COLLECTIONS_MOST. */
  createCollection(
    input: Key & { user_id: string; name: string; description: string | null },
  ): Promise<Collection>
  getCollection(input: Key): Promise<Collection | null>
  /** Newest first. `insight_id`: those that hold it, or the newest of its series. */
  listCollections(
    query: PageQuery & { workspace_id: string; insight_id?: string | undefined },
  ): Promise<Page<Collection>>
  /** Null: not there. */
  updateCollection(
    input: Key & { patch: { name?: string | undefined; description?: string | null | undefined } },
  ): Promise<Collection | null>
  /** False: not there. */
  deleteCollection(input: Key): Promise<boolean>
  /**
   * Puts the insight in, or (`newest`) its series. `pins`: it is what the user pins, and is made with its first insight.
   * `not_found` where the collection or the insight is not there, `conflict` beyond HELD_MOST.
   */
  addToCollection(
    input: Key & { insight_id: string; newest: boolean; user_id: string; pins: boolean },
  ): Promise<void>
  /** Takes the insight and its series out. `pins`: of what the user pins. False: it held neither, or is not there. */
  removeFromCollection(input: Key & { insight_id: string; pins: boolean }): Promise<boolean>
  /** Who follows a run of the template by a collection: the first 1,000. */
  collectionFollowers(input: { workspace_id: string; template_id: string }): Promise<CollectionFollower[]>
}
