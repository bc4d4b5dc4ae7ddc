/** Collections of insights in the store. A user's pins are a collection, too; lists leave it out. */
import type { Collection, CollectionFollower } from '@assay/model/collection'
import type { Page, PageQuery } from '../page.ts'

interface Key {
  workspace_id: string
  collection_id: string
}

export interface CollectionStore {
  /** Makes a collection. If the id exists in the workspace, returns that one. Throws `conflict` beyond COLLECTIONS_MOST. */
  createCollection(
    input: Key & { user_id: string; name: string; description: string | null },
  ): Promise<Collection>
  getCollection(input: Key): Promise<Collection | null>
  /**
   * Lists collections, newest first. `insight_id`: only collections that hold this insight or its series.
   * `collection_ids`: only these.
   */
  listCollections(
    query: PageQuery & {
      workspace_id: string
      insight_id?: string | undefined
      collection_ids?: readonly string[] | undefined
    },
  ): Promise<Page<Collection>>
  /** Changes a collection. Returns null if it does not exist. */
  updateCollection(
    input: Key & { patch: { name?: string | undefined; description?: string | null | undefined } },
  ): Promise<Collection | null>
  /** Deletes a collection. Returns false if it does not exist. */
  deleteCollection(input: Key): Promise<boolean>
  /**
   * Adds the insight, or its series if `newest`. `pins`: adds to the user's pins, which the first insight makes.
   * Throws `not_found` if there is no such collection or insight, and `conflict` beyond HELD_MOST.
   */
  addToCollection(
    input: Key & { insight_id: string; newest: boolean; user_id: string; pins: boolean },
  ): Promise<void>
  /**
   * Removes the insight and its series. `pins`: from the user's pins. Returns false if it held neither or there is no
   * such collection.
   */
  removeFromCollection(input: Key & { insight_id: string; pins: boolean }): Promise<boolean>
  /** Returns the first 1,000 subscriptions that follow a run of the template through a collection. */
  collectionFollowers(input: { workspace_id: string; template_id: string }): Promise<CollectionFollower[]>
}
