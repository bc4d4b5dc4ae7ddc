/** The columns of collections and of their entries. */
import type { Collection } from '@assay/model/collection'
import { Table } from '../table.ts'

export interface CollectionRow extends Collection {
  workspace_id: string
  /** True for the collection of a user's pins. */
  pins: boolean
}

export const COLLECTIONS = new Table<CollectionRow>('collections', ['collection_id'], {
  collection_id: 'text',
  workspace_id: 'text',
  name: 'text',
  description: 'text?',
  user_id: 'text',
  pins: 'boolean',
  created_at: 'time',
  updated_at: 'time',
})

export interface CollectionItemRow {
  collection_id: string
  /** An entry: an insight or (`newest`) a series. */
  item_id: string
  workspace_id: string
  newest: boolean
  template_id: string
  /** Of a series: the variables that all its runs share. */
  variables: Record<string, unknown>
  user_id: string
  created_at: string
}

export const COLLECTION_ITEMS = new Table<CollectionItemRow>(
  'collection_items',
  ['collection_id', 'item_id'],
  {
    collection_id: 'text',
    item_id: 'text',
    workspace_id: 'text',
    newest: 'boolean',
    template_id: 'text',
    variables: 'json',
    user_id: 'text',
    created_at: 'time',
  },
)
