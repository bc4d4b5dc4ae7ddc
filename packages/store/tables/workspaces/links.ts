/** The columns of links to the pages of insights and of collections. */
import type { CollectionLink, Link } from '@assay/model/link'
import { Table } from '../table.ts'

export interface LinkRow extends Link {
  link_hash: string
  workspace_id: string
}

export const LINKS = new Table<LinkRow>('links', ['link_id'], {
  link_id: 'text',
  link_hash: 'text',
  workspace_id: 'text',
  insight_id: 'text',
  user_id: 'text',
  label: 'text?',
  newest: 'boolean',
  rows: 'boolean',
  expires_at: 'time',
  opened_count: 'integer',
  last_opened_at: 'time?',
  created_at: 'time',
})

export interface CollectionLinkRow extends CollectionLink {
  link_hash: string
  workspace_id: string
}

export const COLLECTION_LINKS = new Table<CollectionLinkRow>('collection_links', ['link_id'], {
  link_id: 'text',
  link_hash: 'text',
  workspace_id: 'text',
  collection_id: 'text',
  user_id: 'text',
  label: 'text?',
  expires_at: 'time',
  opened_count: 'integer',
  last_opened_at: 'time?',
  created_at: 'time',
})
