/** Sign-ins in the store. A sign-in that has ended counts as none. */
import type { Principal, Scope, SignIn } from '@assay/model/token'
import type { Page, PageQuery } from '../page.ts'

export interface SignInStore {
  /** Creates a sign-in. Returns null if its token was deleted meanwhile. */
  createSignIn(
    input: Pick<SignIn, 'sign_in_id' | 'device' | 'address'> & {
      secret_hash: string
      workspace_id: string
      user_id: string
      scopes: Scope[]
      /** The templates that the sign-in is limited to; null for all. */
      templates?: string[] | null
      /** The token with which the sign-in begins and ends; null for a password. */
      token_id: string | null
      /** Milliseconds after its last use at which the sign-in ends. */
      idle_ms: number
      /** Milliseconds after its beginning at which it ends in any case. It also ends with its token. */
      life_ms: number
    },
  ): Promise<SignIn | null>
  /**
   * Returns the caller of a sign-in, read with every request of the console. `token_id` is the id of the sign-in.
   * Null if there is no such sign-in or its user is disabled.
   */
  findSignIn(secret_hash: string): Promise<Principal | null>
  /** Records uses. Each sign-in ends `idle_ms` after `at`, or with its life if that is sooner. An older use changes nothing. */
  noteSignInUses(uses: { sign_in_id: string; at: string; address: string; idle_ms: number }[]): Promise<void>
  /** Lists the sign-ins of one user, newest first. */
  listSignIns(query: PageQuery & { workspace_id: string; user_id: string }): Promise<Page<SignIn>>
  /** Ends a sign-in. Returns false if the user has no such sign-in. */
  deleteSignIn(input: { workspace_id: string; user_id: string; sign_in_id: string }): Promise<boolean>
  /** Ends all sign-ins of a user except `except`, and the tokens of logins. Returns their number. */
  deleteSignIns(input: {
    workspace_id: string
    user_id: string
    except?: string | undefined
  }): Promise<number>
  /**
   * Ends everything that began with a password, in every workspace: sign-ins, tokens of logins, and their grants.
   * Returns their number.
   */
  endPasswordSignIns(): Promise<number>
}
