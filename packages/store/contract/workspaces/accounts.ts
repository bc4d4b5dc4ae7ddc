/** What the store promises of workspaces, users and tokens. Every store has the default workspace from its first start. */
import type {
  Identity,
  Principal,
  Token,
  TokenPatch,
  User,
  UserPatch,
  Workspace,
  WorkspaceCaps,
  WorkspacePatch,
} from '@assay/model/token'
import type { Page, PageQuery } from '../page.ts'

export interface AccountStore {
  /** `name_taken` where the id exists. */
  createWorkspace(
    input: Pick<Workspace, 'workspace_id' | 'name' | 'data_folder'> & Partial<WorkspaceCaps>,
  ): Promise<Workspace>
  /** Null: not there. */
  updateWorkspace(input: { workspace_id: string; patch: WorkspacePatch }): Promise<Workspace | null>
  getWorkspace(workspace_id: string): Promise<Workspace | null>
  listWorkspaces(query: PageQuery): Promise<Page<Workspace>>
  /** With all that is in it, unseen from the first step; `conflict` for the default one and for one with unfinished jobs. False: not there. */
  deleteWorkspace(workspace_id: string): Promise<boolean>
  /** `name_taken` where the workspace has a user of this name. */
  createUser(
    input: Pick<User, 'user_id' | 'workspace_id' | 'username' | 'scopes'> &
      Partial<Pick<User, 'display_name'>> & { password_hash: string | null },
  ): Promise<User>
  findUser(input: {
    workspace_id: string
    username: string
  }): Promise<(User & { password_hash: string | null }) | null>
  getUser(input: {
    workspace_id: string
    user_id: string
  }): Promise<(User & { password_hash: string | null }) | null>
  /** The ids among these that are users of the workspace. */
  findUsers(input: { workspace_id: string; user_ids: readonly string[] }): Promise<string[]>
  /** A change ends the sign-ins of the user but `except`, and the tokens of logins. Null: not there. */
  updateUser(input: {
    workspace_id: string
    user_id: string
    patch: UserPatch
    except?: string | undefined
  }): Promise<User | null>
  /** The users that a person of a sign-in provider has: one in each workspace that she has been let into. */
  findIdentity(identity: Identity): Promise<User[]>
  /**
   * Lets a person of a sign-in provider into one workspace with these scopes, and into no other: her users elsewhere lose
   * their scopes. Sign-ins of users whose scopes change end. `name_taken` where she is new and another user has the name.
   */
  admitUser(
    input: Identity &
      Pick<User, 'user_id' | 'workspace_id' | 'username' | 'display_name' | 'scopes'> & {
        /** So long from now tokens of hers are taken. */
        life_ms: number
      },
  ): Promise<User>
  /** Takes all scopes from a person of a sign-in provider and ends her sign-ins. False: she had none. */
  withdrawUser(identity: Identity): Promise<boolean>
  listUsers(query: PageQuery & { workspace_id: string }): Promise<Page<User>>
  /** With its tokens and sign-ins; a reader who is this user stays, without it. False: not there. */
  deleteUser(input: { workspace_id: string; user_id: string }): Promise<boolean>
  createToken(
    input: Omit<Token, 'created_at' | 'last_used_at' | 'templates'> &
      Partial<Pick<Token, 'templates'>> & { token_hash: string },
  ): Promise<Token>
  /** The hot path of every request: null where there is none, it has expired or its user is disabled. */
  findToken(token_hash: string): Promise<Principal | null>
  /** `last_used_at` of each, if it is later than what stands there. */
  noteTokenUses(uses: { token_id: string; at: string }[]): Promise<void>
  listTokens(query: PageQuery & { workspace_id: string }): Promise<Page<Token>>
  /**
   * `conflict` for scopes that it does not hold, for a later end of the token of another person than `caller` (null: nobody of
   * the workspace), and for the token of a login. Other scopes or another end also end the sign-ins that were begun with it.
   * Null: not there.
   */
  updateToken(input: {
    workspace_id: string
    token_id: string
    caller: string | null
    patch: TokenPatch
  }): Promise<Token | null>
  /** With the sign-ins that were begun with it. */
  deleteToken(input: { workspace_id: string; token_id: string }): Promise<boolean>
}
