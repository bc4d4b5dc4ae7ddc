/** Workspaces, users and tokens. */
import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import {
  DEFAULT_WORKSPACE,
  fullScopes,
  includesScope,
  isServiceAccount,
  LOGIN_TOKEN,
  LOGINS_MOST,
  NO_WORKSPACE_CAPS,
  type Principal,
  type Scope,
  SETTING_TOKEN,
  TOKENS_MOST,
  type Token,
  USERS_MOST,
  type User,
  type Workspace,
} from '@assay/model/token'
import type { Page, PageQuery } from '../../contract/page.ts'
import { listOf } from '../../list.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import { statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { GRANTS } from '../../tables/accounts/grants.ts'
import { by } from '../../tables/table.ts'
import { TOKENS, USERS, type UserRow, WORKSPACES } from '../../tables/workspaces/accounts.ts'
import { SIGN_INS } from '../../tables/workspaces/sign-ins.ts'
import { FORGET_DRAFTS } from '../accounts/kept-drafts.ts'
import { FORGET_PINS } from '../jobs/collections.ts'
import { admitOneMore, type Cap } from '../workspace-lock.ts'
import { FORGET_USER } from './readers.ts'
import { bounded, deleteSignIns, HELD, type Held, withHeld } from './sign-ins.ts'

const WORKSPACE = WORKSPACES.except('deleted_at', 'outgoing')
const OPEN = 'WHERE workspace_id = :workspace_id AND deleted_at IS NULL'
const FIND_WORKSPACE = WORKSPACES.select(OPEN, WORKSPACE)
const LOCK_WORKSPACE = WORKSPACES.select(`${OPEN} FOR NO KEY UPDATE`, WORKSPACE)
const INSERT_WORKSPACE = WORKSPACES.insert(WORKSPACE, 'ON CONFLICT DO NOTHING')
const UPDATE_WORKSPACE = WORKSPACES.update(
  WORKSPACES.except('workspace_id', 'created_at', 'deleted_at', 'outgoing'),
  by('workspace_id'),
)
// The list of workspaces filters deleted ones row by row, because few are being deleted.
const WORKSPACE_LIST = listOf(WORKSPACES, {
  columns: WORKSPACE,
  id: 'workspace_id',
  always: 'deleted_at IS NULL',
  indexed: [],
})

const USER = USERS.except('password_hash', 'subject')
type KnownUser = Omit<UserRow, 'subject'>
const KNOWN_USER = USERS.except('subject')
const INSERT_USER = USERS.insert(USERS.columns, 'ON CONFLICT DO NOTHING')
const FIND_USER = USERS.select(
  `JOIN workspaces USING (workspace_id)
   WHERE workspace_id = :workspace_id AND username = :username AND deleted_at IS NULL`,
  KNOWN_USER,
)
const GET_USER = USERS.select(by('workspace_id', 'user_id'), KNOWN_USER)
const FIND_USERS = USERS.select('WHERE workspace_id = :workspace_id AND user_id = ANY (:user_ids)', [
  'user_id',
])
const LOCK_USER = USERS.select(`${by('workspace_id', 'user_id')} FOR UPDATE`)
const UPDATE_USER = USERS.update(
  ['scopes', 'disabled', 'password_hash', 'display_name', 'admitted_until'],
  by('workspace_id', 'user_id'),
)
const FIND_IDENTITY = USERS.select(
  `JOIN workspaces USING (workspace_id)
   WHERE issuer = :issuer AND subject = :subject AND deleted_at IS NULL`,
  USER,
)
// The locks have one order, so that two calls at once do not wait for each other.
const LOCK_IDENTITY = USERS.select(`${by('issuer', 'subject')} ORDER BY workspace_id FOR UPDATE`)
const USER_CAP: Cap = {
  others: statement('SELECT count(*) AS count FROM users WHERE workspace_id = :workspace_id'),
  most: USERS_MOST,
  what: 'users',
}
const DELETE_USER = USERS.delete(by('workspace_id', 'user_id'))
const USER_LIST = listOf(USERS, { columns: USER, id: 'user_id', indexed: [['workspace_id']] })

const LOGINS_RETRY_SECONDS = 3600

const TOKEN = TOKENS.except('token_hash')
// A repeat after a crash has the same id and a new hash. Nobody has seen the first token.
const INSERT_TOKEN = TOKENS.insert<Token>(
  TOKENS.columns,
  `ON CONFLICT (token_id) DO UPDATE SET token_hash = excluded.token_hash
     WHERE tokens.workspace_id = excluded.workspace_id`,
)
const TOKEN_CAP: Cap = {
  others: TOKENS.sql(
    `SELECT count(*) AS count FROM tokens WHERE workspace_id = :workspace_id AND name <> '${LOGIN_TOKEN}' AND token_id <> :token_id`,
  ),
  most: TOKENS_MOST,
  what: 'tokens',
}
const LOGINS = TOKENS.sql<{ count: number }>(
  `SELECT count(*) AS count FROM tokens
   WHERE workspace_id = :workspace_id AND user_id = :user_id AND name = :name AND token_id <> :token_id`,
)
const FIND_TOKEN = withHeld<Principal & Held>(
  `SELECT token_id, tokens.workspace_id, tokens.user_id, tokens.scopes, templates, collections, rate_limit, reader_id, ${HELD}
   FROM tokens JOIN workspaces ON workspaces.workspace_id = tokens.workspace_id
   LEFT JOIN users ON users.workspace_id = tokens.workspace_id AND users.user_id = tokens.user_id
   LEFT JOIN readers ON readers.workspace_id = tokens.workspace_id AND readers.user_id = tokens.user_id
   WHERE token_hash = :token_hash AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
     AND users.disabled IS NOT TRUE`,
  TOKENS.kinds,
)
const NOTE_USE = TOKENS.sql(
  `UPDATE tokens SET last_used_at = :at
   WHERE token_id = :token_id AND (last_used_at IS NULL OR last_used_at < :at)`,
)
const LOCK_TOKEN = TOKENS.select(`${by('workspace_id', 'token_id')} FOR UPDATE`, TOKEN)
const GET_TOKEN = TOKENS.select(by('workspace_id', 'token_id'), TOKEN)
const UPDATE_TOKEN = TOKENS.update(['name', 'scopes', 'expires_at'], by('workspace_id', 'token_id'))
const FIND_GRANT = GRANTS.select(by('token_id'), ['token_id'])
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

export function* lockWorkspace(tx: Writer, workspace_id: string): Routine<Workspace | null> {
  return (yield* tx.find(LOCK_WORKSPACE, { workspace_id })) ?? null
}

export function* updateWorkspace(
  tx: Writer,
  { workspace_id, patch }: Input<'updateWorkspace'>,
): Routine<Workspace | null> {
  const found = yield* lockWorkspace(tx, workspace_id)
  if (!found) return null
  const workspace: Workspace = { ...found, ...patch }
  yield* tx.run(UPDATE_WORKSPACE, workspace)
  // The change may allow more jobs to run now.
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
  const none = { display_name: null, issuer: null, subject: null, admitted_until: null }
  const made = { ...none, disabled: false, created_at: tx.now }
  return yield* insertUser(tx, { ...made, ...input })
}

function* insertUser(tx: Writer, row: UserRow): Routine<User> {
  yield* admitOneMore(tx, row, USER_CAP)
  if ((yield* tx.run(INSERT_USER, row)) === 0)
    throw new AppError('name_taken', `There is already a user ${JSON.stringify(row.username)}.`)
  return shown(row)
}

const shown = (row: UserRow): User => USERS.pick(row, USER)

export function* findUser(from: Reader, input: Input<'findUser'>): Routine<KnownUser | null> {
  return (yield* from.find(FIND_USER, input)) ?? null
}

export function* getUser(from: Reader, input: Input<'getUser'>): Routine<KnownUser | null> {
  return (yield* from.find(GET_USER, input)) ?? null
}

export function* findUsers(from: Reader, input: Input<'findUsers'>): Routine<string[]> {
  return (yield* from.all(FIND_USERS, input)).map(({ user_id }) => user_id)
}

export function* lockUser(tx: Writer, key: Input<'getUser'>): Routine<User | null> {
  const found = yield* tx.find(LOCK_USER, key)
  return found ? shown(found) : null
}

/** Changes a user. A user with fewer scopes or another password must sign in again. */
export function* updateUser(tx: Writer, input: Input<'updateUser'>): Routine<User | null> {
  const { patch, except, ...key } = input
  const found = yield* tx.find(LOCK_USER, key)
  if (!found) return null
  const user = { ...found, ...patch }
  yield* tx.run(UPDATE_USER, user)
  // A new display name changes no right, so sign-ins stay.
  if (Object.keys(patch).some((name) => name !== 'display_name')) yield* deleteSignIns(tx, { ...key, except })
  return shown(user)
}

export function* findIdentity(from: Reader, input: Input<'findIdentity'>): Routine<User[]> {
  return yield* from.all(FIND_IDENTITY, input)
}

export function* admitUser(tx: Writer, input: Input<'admitUser'>): Routine<User> {
  const { workspace_id, scopes, display_name, life_ms } = input
  const admitted_until = iso(Date.parse(tx.now) + life_ms)
  const known = yield* tx.all(LOCK_IDENTITY, input)
  for (const user of known.filter((one) => one.workspace_id !== workspace_id)) yield* giveScopes(tx, user, [])
  const own = known.find((one) => one.workspace_id === workspace_id)
  if (own) return yield* giveScopes(tx, { ...own, display_name, admitted_until }, scopes)
  const made = { password_hash: null, disabled: false, created_at: tx.now }
  return yield* insertUser(tx, { ...input, ...made, admitted_until })
}

export function* withdrawUser(tx: Writer, input: Input<'withdrawUser'>): Routine<boolean> {
  const known = yield* tx.all(LOCK_IDENTITY, input)
  for (const user of known) yield* giveScopes(tx, user, [])
  return known.some((user) => user.scopes.length > 0)
}

function* giveScopes(tx: Writer, user: UserRow, scopes: Scope[]): Routine<User> {
  const isSame = fullScopes(user.scopes).join() === fullScopes(scopes).join()
  yield* tx.run(UPDATE_USER, { ...user, scopes })
  if (!isSame) yield* deleteSignIns(tx, user)
  return shown({ ...user, scopes })
}

export function listUsers(from: Reader, query: Input<'listUsers'>): Routine<Page<User>> {
  return USER_LIST.page(from, query)
}

export function* deleteUser(tx: Writer, input: Input<'deleteUser'>): Routine<boolean> {
  // The lock makes a sign-in under way wait, and it then finds no user.
  yield* tx.find(LOCK_USER, input)
  yield* tx.run(DELETE_TOKENS, input)
  yield* tx.run(END_SIGN_INS, input)
  yield* tx.run(FORGET_USER, input)
  yield* tx.run(FORGET_PINS, input)
  yield* tx.run(FORGET_DRAFTS, input)
  return (yield* tx.run(DELETE_USER, input)) > 0
}

/**
 * Throws if the user has as many logins as one may. Other users log in however many this one has. Logins at the same
 * moment may pass together.
 */
function* admitLogin(tx: Writer, token: Input<'createToken'>): Routine<void> {
  if ((yield* tx.find(LOGINS, token))!.count >= LOGINS_MOST)
    throw new AppError(
      'rate_limited',
      `The user has ${LOGINS_MOST} logins that have not ended: use the token of one of them, or log out of some.`,
      { retryAfter: LOGINS_RETRY_SECONDS },
    )
}

export function* createToken(tx: Writer, input: Input<'createToken'>): Routine<Token> {
  const { token_hash, ...rest } = input
  yield* input.name === LOGIN_TOKEN ? admitLogin(tx, input) : admitOneMore(tx, input, TOKEN_CAP)
  const token: Token = { templates: null, collections: null, ...rest, created_at: tx.now, last_used_at: null }
  if ((yield* tx.run(INSERT_TOKEN, { ...token, token_hash })) === 0)
    throw new AppError('name_taken', `There is already a token ${input.token_id}.`)
  return token
}

export function* findToken(from: Reader, token_hash: string): Routine<Principal | null> {
  return bounded(yield* from.find(FIND_TOKEN, { token_hash }))
}

/** Writes uses of tokens. It locks in the order of ids, so that nodes that write at once do not wait for each other. */
export function* noteTokenUses(tx: Writer, uses: Input<'noteTokenUses'>): Routine<void> {
  for (const use of uses.toSorted((a, b) => (a.token_id < b.token_id ? -1 : 1))) yield* tx.run(NOTE_USE, use)
}

export function* getToken(from: Reader, key: Input<'getToken'>): Routine<Token | null> {
  return (yield* from.find(GET_TOKEN, key)) ?? null
}

export function* lockToken(tx: Writer, key: Input<'getToken'>): Routine<Token | null> {
  return (yield* tx.find(LOCK_TOKEN, key)) ?? null
}

export function listTokens(from: Reader, query: Input<'listTokens'>): Routine<Page<Token>> {
  return TOKEN_LIST.page(from, query)
}

/** Returns the reason why the token may not be changed in this way; null if it may. */
function tokenFault(
  found: Token,
  { caller, patch }: Input<'updateToken'>,
  isGranted: boolean,
): string | null {
  if (found.name === LOGIN_TOKEN) return 'This is the token of a login: delete it instead.'
  // The next refresh of a granted token sets both again.
  if (isGranted && (patch.scopes || patch.expires_at !== undefined))
    return 'A person gave this token to a program and chose its scopes: revoke it, and let the program ask again.'
  if (found.name === SETTING_TOKEN && patch.name !== undefined)
    return `The setting ${SETTING_TOKEN} sets this token and finds it by its name: leave out name.`
  const more = (patch.scopes ?? []).filter((scope) => !includesScope(found.scopes, scope))
  if (more.length > 0)
    return `The token has the scopes ${found.scopes.join(', ')}, which can only become fewer: create another token with ${more.join(', ')}.`
  const { expires_at: end } = patch
  const later = end !== undefined && found.expires_at !== null && (end === null || end > found.expires_at)
  if (later && found.user_id !== caller && !isServiceAccount(found.user_id))
    return `The token belongs to ${found.user_id}: only its owner can let it end later than ${found.expires_at}.`
  return null
}

/**
 * Changes a token. It checks under the token's lock, so that of two changes at once neither restores what the other
 * removes.
 */
export function* updateToken(tx: Writer, input: Input<'updateToken'>): Routine<Token | null> {
  const { patch, workspace_id, token_id } = input
  const found = yield* lockToken(tx, { workspace_id, token_id })
  if (!found) return null
  const isGranted = (yield* tx.find(FIND_GRANT, { token_id })) !== undefined
  const fault = tokenFault(found, input, isGranted)
  if (fault !== null) throw new AppError('conflict', fault)
  const token: Token = { ...found, ...patch }
  yield* tx.run(UPDATE_TOKEN, token)
  if (patch.scopes || patch.expires_at !== undefined)
    yield* tx.run(END_SIGN_INS_OF_TOKEN, { workspace_id, token_id })
  return token
}

/** Deletes a token. It locks the token first. A sign-in with it is then written already, or finds no token. */
export function* deleteToken(tx: Writer, input: Input<'deleteToken'>): Routine<boolean> {
  if (!(yield* tx.find(LOCK_TOKEN, input))) return false
  yield* tx.run(END_SIGN_INS_OF_TOKEN, input)
  return (yield* tx.run(DELETE_TOKEN, input)) > 0
}
