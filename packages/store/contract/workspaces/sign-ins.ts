/** What the store promises of sign-ins. One that has ended is as if it were not there. */
import type { Principal, Scope, SignIn } from '@assay/model/token'
import type { Page, PageQuery } from '../page.ts'

export interface SignInStore {
  /** Null: the token is gone meanwhile. */
  createSignIn(
    input: Pick<SignIn, 'sign_in_id' | 'device' | 'address'> & {
      secret_hash: string
      workspace_id: string
      user_id: string
      scopes: Scope[]
      /** Null: all. */
      templates?: string[] | null
      /** The token that it is begun with, and ends with; null: a password. */
      token_id: string | null
      /** It ends this long after its last use, */
      idle_ms: number
      /** and this long after its beginning in any case, or when the token ends. */
      life_ms: number
    },
  ): Promise<SignIn | null>
  /** The hot path of the console's requests. `token_id` is the id of the sign-in. Null where there is none, or its user is disabled. */
  findSignIn(secret_hash: string): Promise<Principal | null>
  /** Each is used: it ends `idle_ms` after `at`, unless its life ends before. A use that is older than the last one changes nothing. */
  noteSignInUses(uses: { sign_in_id: string; at: string; address: string; idle_ms: number }[]): Promise<void>
  /** Those of one user, newest first. */
  listSignIns(query: PageQuery & { workspace_id: string; user_id: string }): Promise<Page<SignIn>>
  /** False: the user has no such sign-in. */
  deleteSignIn(input: { workspace_id: string; user_id: string; sign_in_id: string }): Promise<boolean>
  /** All of a user but `except`, with the tokens that logins made. Returns their number. */
  deleteSignIns(input: {
    workspace_id: string
    user_id: string
    except?: string | undefined
  }): Promise<number>
  /** Ends what began by a password in every workspace: sign-ins, tokens of logins, and programs that were let in there. Returns how many. */
  endPasswordSignIns(): Promise<number>
}
