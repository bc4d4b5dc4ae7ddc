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
import type { Input, Page, PageQuery } from '../store.ts'
import type { Connection } from './connection.ts'
import { newestFirst } from './page.ts'

interface UserRow extends Omit<User, 'scopes'> {
  scopes: string
  password_hash: string | null
}
interface TokenRow extends Omit<Token, 'scopes'> {
  scopes: string
  token_hash: string
}

function toWorkspace(row: Workspace): Workspace {
  const { workspace_id, name, data_folder, max_queued, max_running, rate_limit, created_at } = row
  const { max_file_bytes, max_files_bytes } = row
  const caps = { max_queued, max_running, rate_limit, max_file_bytes, max_files_bytes }
  return { workspace_id, name, data_folder, ...caps, created_at }
}

function toUser(row: UserRow): User {
  const { user_id, workspace_id, username, created_at } = row
  return { user_id, workspace_id, username, scopes: JSON.parse(row.scopes) as User['scopes'], created_at }
}

function toToken(row: TokenRow): Token {
  const { token_id, workspace_id, user_id, name, expires_at, created_at } = row
  const scopes = JSON.parse(row.scopes) as Token['scopes']
  return { token_id, workspace_id, user_id, name, scopes, expires_at, created_at }
}

export function createWorkspace(connection: Connection, input: Input<'createWorkspace'>): Workspace {
  const workspace: Workspace = { ...NO_WORKSPACE_CAPS, ...input, created_at: connection.now() }
  const created = connection.run(
    `INSERT INTO workspaces (workspace_id, name, data_folder, max_queued, max_running, rate_limit,
       max_file_bytes, max_files_bytes, created_at)
     VALUES (:workspace_id, :name, :data_folder, :max_queued, :max_running, :rate_limit,
       :max_file_bytes, :max_files_bytes, :created_at)
     ON CONFLICT DO NOTHING`,
    workspace,
  )
  if (created === 0)
    throw new AppError('name_taken', `There is already a workspace ${JSON.stringify(input.workspace_id)}.`)
  return workspace
}

export function updateWorkspace(
  connection: Connection,
  { workspace_id, patch }: Input<'updateWorkspace'>,
): Workspace | null {
  const found = getWorkspace(connection, workspace_id)
  if (!found) return null
  const { created_at, ...row } = { ...found, ...patch }
  connection.run(
    `UPDATE workspaces SET name = :name, data_folder = :data_folder, max_queued = :max_queued,
       max_running = :max_running, rate_limit = :rate_limit,
       max_file_bytes = :max_file_bytes, max_files_bytes = :max_files_bytes WHERE workspace_id = :workspace_id`,
    row,
  )
  // More may be allowed to run now.
  connection.hint({ topic: 'jobs' })
  return { ...row, created_at }
}

/** Every store has the default workspace from its first start. */
export function ensureDefaultWorkspace(connection: Connection): void {
  connection.run(
    'INSERT INTO workspaces (workspace_id, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    DEFAULT_WORKSPACE,
    'Default',
    connection.now(),
  )
}

export function getWorkspace(connection: Connection, workspace_id: string): Workspace | null {
  const row = connection.one<Workspace>(
    'SELECT * FROM workspaces WHERE workspace_id = ? AND deleted_at IS NULL',
    workspace_id,
  )
  return row ? toWorkspace(row) : null
}

/** Those that are being deleted are few. */
const OPEN = '(deleted_at IS NULL) = ?'

export function listWorkspaces(connection: Connection, query: PageQuery): Page<Workspace> {
  const list = { name: 'workspaces', table: 'workspaces', id: 'workspace_id', indexed: [[OPEN]] }
  return newestFirst(connection, list, query, { [OPEN]: 1 }, toWorkspace)
}

export function createUser(connection: Connection, input: Input<'createUser'>): User {
  const row = { ...input, scopes: JSON.stringify(input.scopes), created_at: connection.now() }
  const created = connection.run(
    `INSERT INTO users (user_id, workspace_id, username, password_hash, scopes, created_at)
     VALUES (:user_id, :workspace_id, :username, :password_hash, :scopes, :created_at) ON CONFLICT DO NOTHING`,
    row,
  )
  if (created === 0)
    throw new AppError('name_taken', `There is already a user ${JSON.stringify(input.username)}.`)
  return toUser(row)
}

export function findUser(
  connection: Connection,
  username: string,
): (User & { password_hash: string | null }) | null {
  const row = connection.one<UserRow>(
    'SELECT users.* FROM users JOIN workspaces USING (workspace_id) WHERE username = ? AND deleted_at IS NULL',
    username,
  )
  return row ? { ...toUser(row), password_hash: row.password_hash } : null
}

export function listUsers(connection: Connection, query: Input<'listUsers'>): Page<User> {
  const list = { name: 'users', table: 'users', id: 'user_id', indexed: [['workspace_id = ?']] }
  return newestFirst(connection, list, query, { 'workspace_id = ?': query.workspace_id }, toUser)
}

export function deleteUser(connection: Connection, input: Input<'deleteUser'>): boolean {
  const { workspace_id, user_id } = input
  connection.run('DELETE FROM tokens WHERE workspace_id = ? AND user_id = ?', workspace_id, user_id)
  return connection.run('DELETE FROM users WHERE workspace_id = ? AND user_id = ?', workspace_id, user_id) > 0
}

/** A repeat after a crash brings the same id with a new hash: nobody has seen the first token. */
export function createToken(connection: Connection, input: Input<'createToken'>): Token {
  const row = { ...input, scopes: JSON.stringify(input.scopes), created_at: connection.now() }
  const created = connection.run(
    `INSERT INTO tokens (token_id, token_hash, workspace_id, user_id, name, scopes, expires_at, created_at)
     VALUES (:token_id, :token_hash, :workspace_id, :user_id, :name, :scopes, :expires_at, :created_at)
     ON CONFLICT (token_id) DO UPDATE SET token_hash = excluded.token_hash
       WHERE tokens.workspace_id = excluded.workspace_id`,
    row,
  )
  if (created === 0) throw new AppError('name_taken', `There is already a token ${input.token_id}.`)
  return toToken(row)
}

export function findToken(connection: Connection, token_hash: string): Principal | null {
  const row = connection.one<TokenRow & Pick<Workspace, 'rate_limit'>>(
    `SELECT tokens.*, rate_limit FROM tokens JOIN workspaces USING (workspace_id)
     WHERE token_hash = ? AND deleted_at IS NULL`,
    token_hash,
  )
  if (!row || (row.expires_at !== null && row.expires_at <= connection.now())) return null
  const { token_id, workspace_id, user_id, rate_limit } = row
  const scopes = JSON.parse(row.scopes) as Principal['scopes']
  return { token_id, workspace_id, user_id, scopes, rate_limit }
}

export function listTokens(connection: Connection, query: Input<'listTokens'>): Page<Token> {
  const list = { name: 'tokens', table: 'tokens', id: 'token_id', indexed: [['workspace_id = ?']] }
  return newestFirst(connection, list, query, { 'workspace_id = ?': query.workspace_id }, toToken)
}

export function deleteToken(connection: Connection, input: Input<'deleteToken'>): boolean {
  const { workspace_id, token_id } = input
  return (
    connection.run('DELETE FROM tokens WHERE workspace_id = ? AND token_id = ?', workspace_id, token_id) > 0
  )
}
