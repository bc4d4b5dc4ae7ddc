/** Connections of a workspace. Their secrets come sealed. */
import { changedConnection, type Connection as SourceConnection } from '@assay/model/connection'
import { AppError } from '@assay/model/errors'
import type { Input, Page } from '../store.ts'
import type { Connection } from './connection.ts'
import { newestFirst } from './page.ts'

type Json = 'options' | 'secrets' | 'limits'
type Row = Omit<SourceConnection, Json> & Record<Json, string>

interface Key {
  workspace_id: string
  name: string
}

function toConnection(row: Row): SourceConnection {
  return {
    workspace_id: row.workspace_id,
    name: row.name,
    kind: row.kind,
    description: row.description,
    options: JSON.parse(row.options) as SourceConnection['options'],
    secrets: JSON.parse(row.secrets) as SourceConnection['secrets'],
    limits: JSON.parse(row.limits) as SourceConnection['limits'],
    user_id: row.user_id,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

function toRow(of: SourceConnection): Record<keyof SourceConnection, string | null> {
  const { options, secrets, limits } = of
  return {
    ...of,
    options: JSON.stringify(options),
    secrets: JSON.stringify(secrets),
    limits: JSON.stringify(limits),
  }
}

export function createConnection(connection: Connection, input: Input<'createConnection'>): SourceConnection {
  const now = connection.now()
  const created: SourceConnection = { ...input, created_at: now, updated_at: now }
  const written = connection.run(
    `INSERT INTO connections
       (workspace_id, name, kind, description, options, secrets, limits, user_id, created_at, updated_at)
     VALUES (:workspace_id, :name, :kind, :description, :options, :secrets, :limits, :user_id, :created_at, :updated_at)
     ON CONFLICT DO NOTHING`,
    toRow(created),
  )
  if (written === 0) throw new AppError('name_taken', `There is already a connection ${input.name}.`)
  return created
}

export function getConnection(connection: Connection, key: Key): SourceConnection | null {
  const row = connection.one<Row>(
    'SELECT * FROM connections WHERE workspace_id = ? AND name = ?',
    key.workspace_id,
    key.name,
  )
  return row ? toConnection(row) : null
}

export function listConnections(
  connection: Connection,
  query: Input<'listConnections'>,
): Page<SourceConnection> {
  const list = { name: 'connections', table: 'connections', id: 'name', indexed: [['workspace_id = ?']] }
  return newestFirst<Row, SourceConnection>(
    connection,
    list,
    query,
    { 'workspace_id = ?': query.workspace_id },
    toConnection,
  )
}

export function updateConnection(
  connection: Connection,
  input: Input<'updateConnection'>,
): SourceConnection | null {
  const present = getConnection(connection, input)
  if (!present) return null
  const changed = changedConnection(present, input.patch, connection.now())
  const { description, options, secrets, limits, updated_at } = toRow(changed)
  connection.run(
    `UPDATE connections SET description = ?, options = ?, secrets = ?, limits = ?, updated_at = ?
     WHERE workspace_id = ? AND name = ?`,
    description,
    options,
    secrets,
    limits,
    updated_at,
    input.workspace_id,
    input.name,
  )
  return changed
}

export function deleteConnection(connection: Connection, key: Key): boolean {
  return (
    connection.run(
      'DELETE FROM connections WHERE workspace_id = ? AND name = ?',
      key.workspace_id,
      key.name,
    ) > 0
  )
}
