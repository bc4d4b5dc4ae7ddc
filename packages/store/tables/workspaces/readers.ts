/** The columns of readers. */
import type { StoredReader } from '@assay/model/readers'
import { Table } from '../table.ts'

export const READERS = new Table<StoredReader>('readers', ['workspace_id', 'reader_id'], {
  workspace_id: 'text',
  reader_id: 'text',
  name: 'text',
  email: 'text?',
  user_id: 'text?',
  attributes: 'json',
  created_at: 'time',
  updated_at: 'time',
})
