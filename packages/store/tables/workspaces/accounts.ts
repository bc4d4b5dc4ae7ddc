/** The columns of workspaces, users and tokens. */
import type { OutgoingRules } from '@assay/model/outgoing'
import type { Token, User, Workspace } from '@assay/model/token'
import { Table } from '../table.ts'

export interface WorkspaceRow extends Workspace {
  /** The rules of what may leave the workspace; null if none are set. */
  outgoing: OutgoingRules | null
  /** The time when its deletion began; null if it has not. Nobody sees the workspace since. */
  deleted_at: string | null
}

export const WORKSPACES = new Table<WorkspaceRow>('workspaces', ['workspace_id'], {
  workspace_id: 'text',
  name: 'text',
  data_folder: 'text?',
  max_queued: 'integer?',
  max_running: 'integer?',
  max_processor_seconds: 'integer?',
  max_spill_bytes: 'bigint?',
  max_stored_bytes: 'bigint?',
  rate_limit: 'integer?',
  max_file_bytes: 'bigint?',
  max_files_bytes: 'bigint?',
  created_at: 'time',
  outgoing: 'json?',
  deleted_at: 'time?',
})

export interface UserRow extends User {
  /** The user's id at the issuer; null if the user comes from no provider. */
  subject: string | null
  password_hash: string | null
}

export const USERS = new Table<UserRow>('users', ['workspace_id', 'user_id'], {
  user_id: 'text',
  workspace_id: 'text',
  username: 'text',
  display_name: 'text?',
  issuer: 'text?',
  subject: 'text?',
  admitted_until: 'time?',
  password_hash: 'text?',
  scopes: 'json',
  disabled: 'boolean',
  created_at: 'time',
})

export interface TokenRow extends Token {
  token_hash: string
}

export const TOKENS = new Table<TokenRow>('tokens', ['token_id'], {
  token_id: 'text',
  token_hash: 'text',
  workspace_id: 'text',
  user_id: 'text',
  name: 'text',
  scopes: 'json',
  templates: 'json?',
  collections: 'json?',
  expires_at: 'time?',
  created_at: 'time',
  last_used_at: 'time?',
})
