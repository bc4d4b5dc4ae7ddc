/** What the store promises of readers. */
import type { StoredReader } from '@assay/model/readers'
import type { Page, PageQuery } from '../page.ts'

export type NewReader = Omit<StoredReader, 'workspace_id' | 'created_at' | 'updated_at'>

export interface ReaderStore {
  /**
   * Creates or replaces, all or none. Each reader and each user is named once. `conflict` beyond READERS_MOST; `name_taken`
   * where a user is another reader already.
   */
  putReaders(input: {
    workspace_id: string
    readers: readonly NewReader[]
  }): Promise<{ created: number; replaced: number }>
  getReader(input: { workspace_id: string; reader_id: string }): Promise<StoredReader | null>
  /** By id. */
  listReaders(query: PageQuery & { workspace_id: string }): Promise<Page<StoredReader>>
  /** By id, those who come after `after`. */
  readersAfter(input: { workspace_id: string; after: string; limit: number }): Promise<StoredReader[]>
  /** Those of these ids that are there, by id. */
  findReaders(input: { workspace_id: string; reader_ids: readonly string[] }): Promise<StoredReader[]>
  /** The reader who is this user. */
  findReaderOf(input: { workspace_id: string; user_id: string }): Promise<StoredReader | null>
  /** False: not there. Her insights stay, for admins alone. */
  deleteReader(input: { workspace_id: string; reader_id: string }): Promise<boolean>
}
