/** Readers in the store. */
import type { StoredReader } from '@assay/model/readers'
import type { Page, PageQuery } from '../page.ts'

export type NewReader = Omit<StoredReader, 'workspace_id' | 'created_at' | 'updated_at'>

export interface ReaderStore {
  /**
   * Creates or replaces readers, all or none. The list names each reader and each user at most once. Throws
   * `conflict` beyond READERS_MOST, and `name_taken` if a user is another reader already.
   */
  putReaders(input: {
    workspace_id: string
    readers: readonly NewReader[]
  }): Promise<{ created: number; replaced: number }>
  getReader(input: { workspace_id: string; reader_id: string }): Promise<StoredReader | null>
  /** Lists readers by id. */
  listReaders(query: PageQuery & { workspace_id: string }): Promise<Page<StoredReader>>
  /** Returns readers sorted by id, from the first id greater than `after`. */
  readersAfter(input: { workspace_id: string; after: string; limit: number }): Promise<StoredReader[]>
  /** Returns the readers of these ids that exist, sorted by id. */
  findReaders(input: { workspace_id: string; reader_ids: readonly string[] }): Promise<StoredReader[]>
  /** Returns the reader who is this user; null if there is none. */
  findReaderOf(input: { workspace_id: string; user_id: string }): Promise<StoredReader | null>
  /** Deletes a reader. Her insights stay and are seen by admins only. Returns false if there is no such reader. */
  deleteReader(input: { workspace_id: string; reader_id: string }): Promise<boolean>
}
