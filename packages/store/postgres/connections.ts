/** Connections of a workspace. Their secrets come sealed. */
import { changedConnection, type Connection as SourceConnection } from '@assay/model/connection'
import { AppError } from '@assay/model/errors'
import type { Input, Page } from '../store.ts'
import type { Session, Transaction } from './connection.ts'
import { newestFirst } from './page.ts'

interface Key {
  workspace_id: string
  name: string
}

function toConnection(row: SourceConnection): SourceConnection {
  return {
    workspace_id: row.workspace_id,
    name: row.name,
    kind: row.kind,
    description: row.description,
    options: row.options,
    secrets: row.secrets,
    limits: row.limits,
    user_id: row.user_id,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

export async function createConnection(
  tx: Transaction,
  input: Input<'createConnection'>,
): Promise<SourceConnection> {
  const created: SourceConnection = { ...input, created_at: tx.now, updated_at: tx.now }
  const written = await tx.run(
    `INSERT INTO connections
       (workspace_id, name, kind, description, options, secrets, limits, user_id, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
    created.workspace_id,
    created.name,
    created.kind,
    created.description,
    JSON.stringify(created.options),
    JSON.stringify(created.secrets),
    JSON.stringify(created.limits),
    created.user_id,
    created.created_at,
    created.updated_at,
  )
  if (written === 0) throw new AppError('name_taken', `There is already a connection ${input.name}.`)
  return created
}

export async function getConnection(
  from: Session,
  key: Key,
  lock: '' | 'FOR UPDATE' = '',
): Promise<SourceConnection | null> {
  const row = await from.one<SourceConnection>(
    `SELECT * FROM connections WHERE workspace_id = $1 AND name = $2 ${lock}`,
    key.workspace_id,
    key.name,
  )
  return row ? toConnection(row) : null
}

export function listConnections(
  from: Session,
  query: Input<'listConnections'>,
): Promise<Page<SourceConnection>> {
  const list = { name: 'connections', table: 'connections', id: 'name', indexed: [['workspace_id = ?']] }
  return newestFirst<SourceConnection, SourceConnection>(
    from,
    list,
    query,
    { 'workspace_id = ?': query.workspace_id },
    toConnection,
  )
}

export async function updateConnection(
  tx: Transaction,
  input: Input<'updateConnection'>,
): Promise<SourceConnection | null> {
  const present = await getConnection(tx, input, 'FOR UPDATE')
  if (!present) return null
  const changed = changedConnection(present, input.patch, tx.now)
  await tx.run(
    `UPDATE connections SET description = $1, options = $2, secrets = $3, limits = $4, updated_at = $5
     WHERE workspace_id = $6 AND name = $7`,
    changed.description,
    JSON.stringify(changed.options),
    JSON.stringify(changed.secrets),
    JSON.stringify(changed.limits),
    changed.updated_at,
    input.workspace_id,
    input.name,
  )
  return changed
}

export async function deleteConnection(tx: Transaction, key: Key): Promise<boolean> {
  const deleted = await tx.run(
    'DELETE FROM connections WHERE workspace_id = $1 AND name = $2',
    key.workspace_id,
    key.name,
  )
  return deleted > 0
}
