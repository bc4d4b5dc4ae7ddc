/** Workspaces, users and tokens in the store. Every store has the default workspace from its first start. */
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
  /** Makes a workspace. Throws `name_taken` if the id exists. */
  createWorkspace(
    input: Pick<Workspace, 'workspace_id' | 'name' | 'data_folder'> & Partial<WorkspaceCaps>,
  ): Promise<Workspace>
  /** Changes a workspace. Returns null if it does not exist. */
  updateWorkspace(input: { workspace_id: string; patch: WorkspacePatch }): Promise<Workspace | null>
  getWorkspace(workspace_id: string): Promise<Workspace | null>
  listWorkspaces(query: PageQuery): Promise<Page<Workspace>>
  /**
   * Deletes the workspace with everything in it. Nobody sees it after the first step. Throws `conflict` for the
   * default one, and for one with unfinished jobs. Returns false if there is no such workspace.
   */
  deleteWorkspace(workspace_id: string): Promise<boolean>
  /** Makes a user. Throws `name_taken` if the workspace has a user of this name. */
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
  /** Returns those of the ids that are users of the workspace. */
  findUsers(input: { workspace_id: string; user_ids: readonly string[] }): Promise<string[]>
  /**
   * Changes a user. Ends the user's sign-ins except `except`, and the tokens of logins. Returns null if there is no
   * such user.
   */
  updateUser(input: {
    workspace_id: string
    user_id: string
    patch: UserPatch
    except?: string | undefined
  }): Promise<User | null>
  /** Returns the users of a person of a sign-in provider, one in each workspace that she may enter. */
  findIdentity(identity: Identity): Promise<User[]>
  /**
   * Lets a person of a sign-in provider into exactly one workspace with these scopes. Her users elsewhere lose their
   * scopes. Sign-ins of users whose scopes change end. Throws `name_taken` if she is new and another user has the
   * name.
   */
  admitUser(
    input: Identity &
      Pick<User, 'user_id' | 'workspace_id' | 'username' | 'display_name' | 'scopes'> & {
        /** Milliseconds from now for which her tokens are valid. */
        life_ms: number
      },
  ): Promise<User>
  /** Takes all scopes from a person of a sign-in provider and ends her sign-ins. Returns false if she had none. */
  withdrawUser(identity: Identity): Promise<boolean>
  listUsers(query: PageQuery & { workspace_id: string }): Promise<Page<User>>
  /**
   * Deletes the user with tokens and sign-ins. A reader who is this user stays, without the user. Returns false if
   * there is no such user.
   */
  deleteUser(input: { workspace_id: string; user_id: string }): Promise<boolean>
  createToken(
    input: Omit<Token, 'created_at' | 'last_used_at' | 'templates' | 'collections'> &
      Partial<Pick<Token, 'templates' | 'collections'>> & { token_hash: string },
  ): Promise<Token>
  /**
   * Returns the caller of a token. It is read with every request. Null if there is no such token, it has expired, or
   * its user is disabled.
   */
  findToken(token_hash: string): Promise<Principal | null>
  /** Writes `last_used_at` of each token if it is later than the present one. */
  noteTokenUses(uses: { token_id: string; at: string }[]): Promise<void>
  getToken(input: { workspace_id: string; token_id: string }): Promise<Token | null>
  listTokens(query: PageQuery & { workspace_id: string }): Promise<Page<Token>>
  /**
   * Changes a token. Throws `conflict` for scopes that it does not have, for a later end of the token of a person
   * other than `caller` (null: nobody of the workspace), and for the token of a login. New scopes or a new end also
   * end the sign-ins that began with it. Returns null if there is no such token.
   */
  updateToken(input: {
    workspace_id: string
    token_id: string
    caller: string | null
    patch: TokenPatch
  }): Promise<Token | null>
  /** Deletes a token and ends the sign-ins that began with it. Returns false if there is no such token. */
  deleteToken(input: { workspace_id: string; token_id: string }): Promise<boolean>
}
