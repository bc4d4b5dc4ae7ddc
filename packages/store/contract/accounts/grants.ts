/** What the store promises of grants: what a person has let a client do in her name. One ends with its token, however that is deleted. */
import type { LetIn, Scope } from '@assay/model/token'

export interface Grant {
  token_id: string
  workspace_id: string
  user_id: string
  client_id: string
  redirect_uri: string
  challenge: string
  resource: string
  scopes: Scope[]
  generation: number
}

export type StoredLetIn = Omit<LetIn, 'redirect_host'> & Pick<Grant, 'redirect_uri'>

export interface GrantStore {
  /** With a token of this name that nobody can use until the code is redeemed. Codes of the user that wait are deleted. */
  createGrant(
    input: Omit<Grant, 'generation'> & {
      name: string
      code_hash: string
      /** Of a secret that nobody has. */
      token_hash: string
      /** How long the code may be redeemed. */
      code_ms: number
    },
  ): Promise<true>
  /** By its code or its token. Null: there is none, or it has ended. */
  findGrant(by: { code_hash: string } | { token_id: string }): Promise<Grant | null>
  /** The newest of a user, whose codes are redeemed. */
  listGrants(query: { workspace_id: string; user_id: string; limit: number }): Promise<StoredLetIn[]>
  /** Gives the token another secret. False: somebody has used this generation before, or the grant is gone. */
  useGrant(input: {
    token_id: string
    generation: number
    token_hash: string
    scopes: Scope[]
    /** How long the secret is taken. */
    token_ms: number
    /** The grant ends so long after its last use, */
    idle_ms: number
    /** and so long after its beginning in any case. */
    life_ms: number
  }): Promise<boolean>
}
