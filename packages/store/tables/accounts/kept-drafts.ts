/** The columns of kept drafts. */
import type { KeptDraftWithSource } from '@assay/model/kept-draft'
import { Table } from '../table.ts'

export const KEPT_DRAFTS = new Table<KeptDraftWithSource & { workspace_id: string }>(
  'kept_drafts',
  ['draft_id'],
  {
    draft_id: 'text',
    workspace_id: 'text',
    kind: 'text',
    name: 'text',
    user_id: 'text',
    source: 'text',
    created_at: 'time',
    updated_at: 'time',
  },
)
