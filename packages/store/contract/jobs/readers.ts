/** Readers in the store. */
import type { StoredReader } from '@assay/model/readers'
import type { Page, PageQuery } from '../page.ts'

export type NewReader = Omit<StoredReader, 'workspace_id' | 'created_at' | 'updated_at'>

export interface ReaderStore {
  /**
   * Creates or replaces readers, all or none. The list names each reader and each user at most once. `conflict`: beyond READERS_MOST.
   * `name_taken`: a user is another reader already.
   */
  putReaders(input: {
    workspace_id: string
    readers: readonly NewReader[]
  }): Promise<{ created: number; replaced: number }>
  getReader(input: { workspace_id: string; reader_id: string }): Promise<StoredReader | null>
  /** By id. */
  listReaders(query: PageQuery & { workspace_id: string }): Promise<Page<StoredReader>>
  /** Sorted by id, from the first id greater than `after`. */
  readersAfter(input: { workspace_id: string; after: string; limit: number }): Promise<StoredReader[]>
  /** The readers of these ids that exist, sorted by id. */
  findReaders(input: { workspace_id: string; reader_ids: readonly string[] }): Promise<StoredReader[]>
  /** The reader who is this user. */
  findReaderOf(input: { workspace_id: string; user_id: string }): Promise<StoredReader | null>
  /** Deletes a reader. Her insights stay and are seen by admins only. Returns false if there is no such reader. */
  deleteReader(input: { workspace_id: string; reader_id: string }): Promise<boolean>
}
