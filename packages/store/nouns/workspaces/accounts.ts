/** Workspaces, users and tokens. */
import { AppError } from '@assay/model/errors'
import {
  DEFAULT_WORKSPACE,
  NO_WORKSPACE_CAPS,
  type Principal,
  type Token,
  type User,
  type Workspace,
} from '@assay/model/token'
import type { Page, PageQuery } from '../../contract/page.ts'
import { listOf } from '../../list.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { TOKENS, USERS, type UserRow, WORKSPACES } from '../../tables/workspaces/accounts.ts'
import { SIGN_INS } from '../../tables/workspaces/sign-ins.ts'
import { FORGET_USER } from './readers.ts'
import { deleteSignIns } from './sign-ins.ts'

const WORKSPACE = WORKSPACES.except('deleted_at', 'outgoing')
const OPEN = 'WHERE workspace_id = :workspace_id AND deleted_at IS NULL'
const FIND_WORKSPACE = WORKSPACES.select(OPEN, WORKSPACE)
const LOCK_WORKSPACE = WORKSPACES.select(`${OPEN} FOR NO KEY UPDATE`, WORKSPACE)
const INSERT_WORKSPACE = WORKSPACES.insert(WORKSPACE, 'ON CONFLICT DO NOTHING')
const UPDATE_WORKSPACE = WORKSPACES.update(
  WORKSPACES.except('workspace_id', 'created_at', 'deleted_at', 'outgoing'),
  by('workspace_id'),
)
// Those that are being deleted are few.
const WORKSPACE_LIST = listOf(WORKSPACES, {
  columns: WORKSPACE,
  id: 'workspace_id',
  always: 'deleted_at IS NULL',
  indexed: [],
})

const USER = USERS.except('password_hash')
const INSERT_USER = USERS.insert(USERS.columns, 'ON CONFLICT DO NOTHING')
const FIND_USER = USERS.select(
  `JOIN workspaces USING (workspace_id)
   WHERE workspace_id = :workspace_id AND username = :username AND deleted_at IS NULL`,
)
const GET_USER = USERS.select(by('workspace_id', 'user_id'))
const FIND_USERS = USERS.select('WHERE workspace_id = :workspace_id AND user_id = ANY (:user_ids)', [
  'user_id',
])
const LOCK_USER = USERS.select(`${by('workspace_id', 'user_id')} FOR UPDATE`)
const UPDATE_USER = USERS.update(['scopes', 'disabled', 'password_hash'], by('workspace_id', 'user_id'))
const DELETE_USER = USERS.delete(by('workspace_id', 'user_id'))
const USER_LIST = listOf(USERS, { columns: USER, id: 'user_id', indexed: [['workspace_id']] })

const TOKEN = TOKENS.except('token_hash')
// A repeat after a crash brings the same id with a new hash: nobody has seen the first token.
const INSERT_TOKEN = TOKENS.insert<Token>(
  TOKENS.columns,
  `ON CONFLICT (token_id) DO UPDATE SET token_hash = excluded.token_hash
     WHERE tokens.workspace_id = excluded.workspace_id`,
)
const FIND_TOKEN = TOKENS.sql<Principal>(
  `SELECT token_id, tokens.workspace_id, tokens.user_id, tokens.scopes, templates, rate_limit, reader_id
   FROM tokens JOIN workspaces ON workspaces.workspace_id = tokens.workspace_id
   LEFT JOIN users ON users.workspace_id = tokens.workspace_id AND users.user_id = tokens.user_id
   LEFT JOIN readers ON readers.workspace_id = tokens.workspace_id AND readers.user_id = tokens.user_id
   WHERE token_hash = :token_hash AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
     AND users.disabled IS NOT TRUE`,
)
const NOTE_USE = TOKENS.sql(
  `UPDATE tokens SET last_used_at = :at
   WHERE token_id = :token_id AND (last_used_at IS NULL OR last_used_at < :at)`,
)
const DELETE_TOKEN = TOKENS.delete(by('workspace_id', 'token_id'))
const DELETE_TOKENS = TOKENS.delete(by('workspace_id', 'user_id'))
const END_SIGN_INS = SIGN_INS.delete(by('workspace_id', 'user_id'))
const END_SIGN_INS_OF_TOKEN = SIGN_INS.delete(by('workspace_id', 'token_id'))
const TOKEN_LIST = listOf(TOKENS, { columns: TOKEN, id: 'token_id', indexed: [['workspace_id']] })

export function* createWorkspace(tx: Writer, input: Input<'createWorkspace'>): Routine<Workspace> {
  const workspace: Workspace = { ...NO_WORKSPACE_CAPS, ...input, created_at: tx.now }
  if ((yield* tx.run(INSERT_WORKSPACE, workspace)) === 0)
    throw new AppError('name_taken', `There is already a workspace ${JSON.stringify(input.workspace_id)}.`)
  return workspace
}

export function* updateWorkspace(
  tx: Writer,
  { workspace_id, patch }: Input<'updateWorkspace'>,
): Routine<Workspace | null> {
  const found = yield* tx.find(LOCK_WORKSPACE, { workspace_id })
  if (!found) return null
  const workspace: Workspace = { ...found, ...patch }
  yield* tx.run(UPDATE_WORKSPACE, workspace)
  // More may be allowed to run now.
  tx.hint({ topic: 'jobs' })
  return workspace
}

/** Every store has the default workspace from its first start. */
export function* ensureDefaultWorkspace(tx: Writer): Routine<void> {
  const workspace: Workspace = {
    ...NO_WORKSPACE_CAPS,
    workspace_id: DEFAULT_WORKSPACE,
    name: 'Default',
    data_folder: null,
    created_at: tx.now,
  }
  yield* tx.run(INSERT_WORKSPACE, workspace)
}

export function* getWorkspace(from: Reader, workspace_id: string): Routine<Workspace | null> {
  return (yield* from.find(FIND_WORKSPACE, { workspace_id })) ?? null
}

export function listWorkspaces(from: Reader, query: PageQuery): Routine<Page<Workspace>> {
  return WORKSPACE_LIST.page(from, query)
}

export function* createUser(tx: Writer, input: Input<'createUser'>): Routine<User> {
  const row: UserRow = { ...input, disabled: false, created_at: tx.now }
  if ((yield* tx.run(INSERT_USER, row)) === 0)
    throw new AppError('name_taken', `There is already a user ${JSON.stringify(input.username)}.`)
  const { password_hash: _, ...user } = row
  return user
}

export function* findUser(from: Reader, input: Input<'findUser'>): Routine<UserRow | null> {
  return (yield* from.find(FIND_USER, input)) ?? null
}

export function* getUser(from: Reader, input: Input<'getUser'>): Routine<UserRow | null> {
  return (yield* from.find(GET_USER, input)) ?? null
}

export function* findUsers(from: Reader, input: Input<'findUsers'>): Routine<string[]> {
  return (yield* from.all(FIND_USERS, input)).map(({ user_id }) => user_id)
}

/** Who may do less, or has another password, signs in anew. */
export function* updateUser(tx: Writer, input: Input<'updateUser'>): Routine<User | null> {
  const { patch, except, ...key } = input
  const found = yield* tx.find(LOCK_USER, key)
  if (!found) return null
  const { password_hash, ...user } = { ...found, ...patch }
  yield* tx.run(UPDATE_USER, { ...user, password_hash })
  if (Object.keys(patch).length > 0) yield* deleteSignIns(tx, { ...key, except })
  return user
}

export function listUsers(from: Reader, query: Input<'listUsers'>): Routine<Page<User>> {
  return USER_LIST.page(from, query)
}

export function* deleteUser(tx: Writer, input: Input<'deleteUser'>): Routine<boolean> {
  yield* tx.run(DELETE_TOKENS, input)
  yield* tx.run(END_SIGN_INS, input)
  yield* tx.run(FORGET_USER, input)
  return (yield* tx.run(DELETE_USER, input)) > 0
}

export function* createToken(tx: Writer, input: Input<'createToken'>): Routine<Token> {
  const { token_hash, ...rest } = input
  const token: Token = { templates: null, ...rest, created_at: tx.now, last_used_at: null }
  if ((yield* tx.run(INSERT_TOKEN, { ...token, token_hash })) === 0)
    throw new AppError('name_taken', `There is already a token ${input.token_id}.`)
  return token
}

export function* findToken(from: Reader, token_hash: string): Routine<Principal | null> {
  return (yield* from.find(FIND_TOKEN, { token_hash })) ?? null
}

/** In the order of the ids, so that nodes that write at once do not wait for each other in a circle. */
export function* noteTokenUses(tx: Writer, uses: Input<'noteTokenUses'>): Routine<void> {
  for (const use of uses.toSorted((a, b) => (a.token_id < b.token_id ? -1 : 1))) yield* tx.run(NOTE_USE, use)
}

export function listTokens(from: Reader, query: Input<'listTokens'>): Routine<Page<Token>> {
  return TOKEN_LIST.page(from, query)
}

export function* deleteToken(tx: Writer, input: Input<'deleteToken'>): Routine<boolean> {
  yield* tx.run(END_SIGN_INS_OF_TOKEN, input)
  return (yield* tx.run(DELETE_TOKEN, input)) > 0
}
