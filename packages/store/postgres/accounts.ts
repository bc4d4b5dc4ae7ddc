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
import type { Session, Transaction } from './connection.ts'
import { newestFirst } from './page.ts'

interface UserRow extends User {
  password_hash: string | null
}

function toWorkspace(row: Workspace): Workspace {
  const { workspace_id, name, data_folder, max_queued, max_running, rate_limit, created_at } = row
  const { max_file_bytes, max_files_bytes } = row
  const caps = { max_queued, max_running, rate_limit, max_file_bytes, max_files_bytes }
  return { workspace_id, name, data_folder, ...caps, created_at }
}

function toUser(row: User): User {
  const { user_id, workspace_id, username, scopes, created_at } = row
  return { user_id, workspace_id, username, scopes, created_at }
}

function toToken(row: Token): Token {
  const { token_id, workspace_id, user_id, name, scopes, expires_at, created_at } = row
  return { token_id, workspace_id, user_id, name, scopes, expires_at, created_at }
}

export async function createWorkspace(tx: Transaction, input: Input<'createWorkspace'>): Promise<Workspace> {
  const workspace: Workspace = { ...NO_WORKSPACE_CAPS, ...input, created_at: tx.now }
  const created = await tx.run(
    `INSERT INTO workspaces (workspace_id, name, data_folder, max_queued, max_running, rate_limit,
       max_file_bytes, max_files_bytes, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
    workspace.workspace_id,
    workspace.name,
    workspace.data_folder,
    workspace.max_queued,
    workspace.max_running,
    workspace.rate_limit,
    workspace.max_file_bytes,
    workspace.max_files_bytes,
    workspace.created_at,
  )
  if (created === 0)
    throw new AppError('name_taken', `There is already a workspace ${JSON.stringify(input.workspace_id)}.`)
  return toWorkspace(workspace)
}

export async function updateWorkspace(
  tx: Transaction,
  { workspace_id, patch }: Input<'updateWorkspace'>,
): Promise<Workspace | null> {
  const found = await tx.one<Workspace>(
    'SELECT * FROM workspaces WHERE workspace_id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE',
    workspace_id,
  )
  if (!found) return null
  const workspace = { ...toWorkspace(found), ...patch }
  await tx.run(
    `UPDATE workspaces SET name = $2, data_folder = $3, max_queued = $4, max_running = $5, rate_limit = $6,
       max_file_bytes = $7, max_files_bytes = $8
     WHERE workspace_id = $1`,
    workspace_id,
    workspace.name,
    workspace.data_folder,
    workspace.max_queued,
    workspace.max_running,
    workspace.rate_limit,
    workspace.max_file_bytes,
    workspace.max_files_bytes,
  )
  // More may be allowed to run now.
  tx.hint({ topic: 'jobs' })
  return workspace
}

/** Every store has the default workspace from its first start. */
export async function ensureDefaultWorkspace(tx: Transaction): Promise<void> {
  await tx.run(
    'INSERT INTO workspaces (workspace_id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    DEFAULT_WORKSPACE,
    'Default',
    tx.now,
  )
}

export async function getWorkspace(from: Session, workspace_id: string): Promise<Workspace | null> {
  const row = await from.one<Workspace>(
    'SELECT * FROM workspaces WHERE workspace_id = $1 AND deleted_at IS NULL',
    workspace_id,
  )
  return row ? toWorkspace(row) : null
}

/** Those that are being deleted are few. */
const OPEN = '(deleted_at IS NULL)::text = ?'

export function listWorkspaces(from: Session, query: PageQuery): Promise<Page<Workspace>> {
  const list = { name: 'workspaces', table: 'workspaces', id: 'workspace_id', indexed: [[OPEN]] }
  return newestFirst(from, list, query, { [OPEN]: 'true' }, toWorkspace)
}

export async function createUser(tx: Transaction, input: Input<'createUser'>): Promise<User> {
  const created = await tx.run(
    `INSERT INTO users (user_id, workspace_id, username, password_hash, scopes, created_at)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
    input.user_id,
    input.workspace_id,
    input.username,
    input.password_hash,
    JSON.stringify(input.scopes),
    tx.now,
  )
  if (created === 0)
    throw new AppError('name_taken', `There is already a user ${JSON.stringify(input.username)}.`)
  return toUser({ ...input, created_at: tx.now })
}

export async function findUser(
  from: Session,
  username: string,
): Promise<(User & { password_hash: string | null }) | null> {
  const row = await from.one<UserRow>(
    'SELECT users.* FROM users JOIN workspaces USING (workspace_id) WHERE username = $1 AND deleted_at IS NULL',
    username,
  )
  return row ? { ...toUser(row), password_hash: row.password_hash } : null
}

export function listUsers(from: Session, query: Input<'listUsers'>): Promise<Page<User>> {
  const list = { name: 'users', table: 'users', id: 'user_id', indexed: [['workspace_id = ?']] }
  return newestFirst<User, User>(from, list, query, { 'workspace_id = ?': query.workspace_id }, toUser)
}

export async function deleteUser(tx: Transaction, input: Input<'deleteUser'>): Promise<boolean> {
  const { workspace_id, user_id } = input
  await tx.run('DELETE FROM tokens WHERE workspace_id = $1 AND user_id = $2', workspace_id, user_id)
  const deleted = await tx.run(
    'DELETE FROM users WHERE workspace_id = $1 AND user_id = $2',
    workspace_id,
    user_id,
  )
  return deleted > 0
}

/** A repeat after a crash brings the same id with a new hash: nobody has seen the first token. */
export async function createToken(tx: Transaction, input: Input<'createToken'>): Promise<Token> {
  const created = await tx.run(
    `INSERT INTO tokens (token_id, token_hash, workspace_id, user_id, name, scopes, expires_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (token_id) DO UPDATE SET token_hash = excluded.token_hash
       WHERE tokens.workspace_id = excluded.workspace_id`,
    input.token_id,
    input.token_hash,
    input.workspace_id,
    input.user_id,
    input.name,
    JSON.stringify(input.scopes),
    input.expires_at,
    tx.now,
  )
  if (created === 0) throw new AppError('name_taken', `There is already a token ${input.token_id}.`)
  return toToken({ ...input, created_at: tx.now })
}

export async function findToken(from: Session, token_hash: string): Promise<Principal | null> {
  const row = await from.one<Principal>(
    `SELECT token_id, workspace_id, user_id, scopes, rate_limit FROM tokens JOIN workspaces USING (workspace_id)
     WHERE token_hash = $1 AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())`,
    token_hash,
  )
  return row ?? null
}

export function listTokens(from: Session, query: Input<'listTokens'>): Promise<Page<Token>> {
  const list = { name: 'tokens', table: 'tokens', id: 'token_id', indexed: [['workspace_id = ?']] }
  return newestFirst<Token, Token>(from, list, query, { 'workspace_id = ?': query.workspace_id }, toToken)
}

export async function deleteToken(tx: Transaction, input: Input<'deleteToken'>): Promise<boolean> {
  const { workspace_id, token_id } = input
  const deleted = await tx.run(
    'DELETE FROM tokens WHERE workspace_id = $1 AND token_id = $2',
    workspace_id,
    token_id,
  )
  return deleted > 0
}
