/** The columns of answers of language models. */
import type { NarrativeKey } from '../../contract/workspaces/narratives.ts'
import { Table } from '../table.ts'

export interface NarrativeRow extends NarrativeKey {
  text: string
  created_at: string
}

export const NARRATIVES = new Table<NarrativeRow>('narratives', ['workspace_id', 'hash'], {
  workspace_id: 'text',
  hash: 'text',
  text: 'text',
  created_at: 'time',
})
