/** The columns of sign-ins. */
import type { Scope, SignIn } from '@assay/model/token'
import { Table } from '../table.ts'

export interface SignInRow extends SignIn {
  secret_hash: string
  workspace_id: string
  user_id: string
  scopes: Scope[]
  /** The scopes, equal to those of its token. */
  templates: string[] | null
  /** The token with which the sign-in begins and ends; null for a password. */
  token_id: string | null
}

export const SIGN_INS = new Table<SignInRow>('sign_ins', ['sign_in_id'], {
  sign_in_id: 'text',
  secret_hash: 'text',
  workspace_id: 'text',
  user_id: 'text',
  token_id: 'text?',
  scopes: 'json',
  templates: 'json?',
  device: 'text',
  address: 'text',
  created_at: 'time',
  last_used_at: 'time',
  idle_ends_at: 'time',
  ends_at: 'time',
})
