/** The columns of grants. A grant belongs to a token and ends with it. */
import type { Scope } from '@assay/model/token'
import { Table } from '../table.ts'

export interface GrantRow {
  token_id: string
  client_id: string
  redirect_uri: string
  /** The challenge of PKCE, by S256. */
  challenge: string
  /** The address that the token is for (RFC 8707). */
  resource: string
  /** The scopes that the person agreed to. The token holds at most her user's present ones. */
  scopes: Scope[]
  /** The hash of the code, then of the refresh token. */
  code_hash: string
  /** The number of uses: 0 until the code is redeemed, then one more with each refresh. */
  generation: number
  begun_at: string
  ends_at: string
}

export const GRANTS = new Table<GrantRow>('grants', ['token_id'], {
  token_id: 'text',
  client_id: 'text',
  redirect_uri: 'text',
  challenge: 'text',
  resource: 'text',
  scopes: 'json',
  code_hash: 'text',
  generation: 'integer',
  begun_at: 'time',
  ends_at: 'time',
})
