/** Grants in the store: a grant lets a program act in a person's name. It ends when its token is deleted. */
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
  /** Makes a grant with a token of this name. Nobody can use the token before the code is redeemed. Deletes the user's other open codes. */
  createGrant(
    input: Omit<Grant, 'generation'> & {
      name: string
      code_hash: string
      /** The hash of a secret that nobody has yet. */
      token_hash: string
      /** Milliseconds within which the code must be redeemed. */
      code_ms: number
    },
  ): Promise<true>
  /** Finds a grant by its code or its token. Returns null if there is none or it has ended. */
  findGrant(by: { code_hash: string } | { token_id: string }): Promise<Grant | null>
  /** The newest grants of a user whose codes are redeemed. */
  listGrants(query: { workspace_id: string; user_id: string; limit: number }): Promise<StoredLetIn[]>
  /** Gives the token another secret. Returns false if this generation was used before or the grant is gone. */
  useGrant(input: {
    token_id: string
    generation: number
    token_hash: string
    scopes: Scope[]
    /** Milliseconds for which the secret is valid. */
    token_ms: number
    /** Milliseconds after its last use at which the grant ends. */
    idle_ms: number
    /** Milliseconds after its beginning at which the grant ends in any case. */
    life_ms: number
  }): Promise<boolean>
}
