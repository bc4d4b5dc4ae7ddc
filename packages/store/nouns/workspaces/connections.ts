/** Connections of a workspace with sealed secrets, and the lines that say how its uploads are read. */
import { CONNECTIONS_MOST, type Connection, changedConnection } from '@assay/model/connection'
import { AppError } from '@assay/model/errors'
import type { Page } from '../../contract/page.ts'
import type { FileDialectKey } from '../../contract/workspaces/file-dialects.ts'
import { listOf } from '../../list.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import { statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { CONNECTIONS } from '../../tables/workspaces/connections.ts'
import { FILE_DIALECTS } from '../../tables/workspaces/file-dialects.ts'
import { admitOneMore, type Cap } from '../workspace-lock.ts'

const OF_NAME = by('workspace_id', 'name')
const FIND = CONNECTIONS.select(OF_NAME)
const LOCK = CONNECTIONS.select(`${OF_NAME} FOR UPDATE`)
const INSERT = CONNECTIONS.insert(CONNECTIONS.columns, 'ON CONFLICT DO NOTHING')
const UPDATE = CONNECTIONS.update(['description', 'options', 'secrets', 'limits', 'updated_at'], OF_NAME)
const DELETE = CONNECTIONS.delete(OF_NAME)
const CAP: Cap = {
  others: statement(
    'SELECT count(*) AS count FROM connections WHERE workspace_id = :workspace_id AND name <> :name',
  ),
  most: CONNECTIONS_MOST,
  what: 'connections',
}
const LIST = listOf(CONNECTIONS, {
  columns: CONNECTIONS.columns,
  wide: ['options', 'secrets'],
  id: 'name',
  indexed: [['workspace_id']],
})

interface Key {
  workspace_id: string
  name: string
}

export function* createConnection(tx: Writer, input: Input<'createConnection'>): Routine<Connection> {
  yield* admitOneMore(tx, input, CAP)
  const created: Connection = { ...input, created_at: tx.now, updated_at: tx.now }
  if ((yield* tx.run(INSERT, created)) === 0)
    throw new AppError('name_taken', `There is already a connection ${input.name}.`)
  return created
}

export function* getConnection(from: Reader, key: Key): Routine<Connection | null> {
  return (yield* from.find(FIND, key)) ?? null
}

/** Locks the connection until the transaction ends. */
export function* lockConnection(tx: Writer, key: Key): Routine<Connection | null> {
  return (yield* tx.find(LOCK, key)) ?? null
}

export function listConnections(from: Reader, query: Input<'listConnections'>): Routine<Page<Connection>> {
  return LIST.page(from, query)
}

export function* updateConnection(
  tx: Writer,
  { patch, ...key }: Input<'updateConnection'>,
): Routine<Connection | null> {
  const present = yield* tx.find(LOCK, key)
  if (!present) return null
  const changed = changedConnection(present, patch, tx.now)
  yield* tx.run(UPDATE, changed)
  return changed
}

export function* deleteConnection(tx: Writer, key: Key): Routine<boolean> {
  return (yield* tx.run(DELETE, key)) > 0
}

const OF_PATH = by('workspace_id', 'path')
const FIND_DIALECT = FILE_DIALECTS.select(OF_PATH, ['lines'])
const WRITE_DIALECT = FILE_DIALECTS.upsert()
const DELETE_DIALECT = FILE_DIALECTS.delete(OF_PATH)

export function* getFileDialect(from: Reader, key: FileDialectKey): Routine<string[] | null> {
  return (yield* from.find(FIND_DIALECT, key))?.lines ?? null
}

export function* keepFileDialect(tx: Writer, input: FileDialectKey & { lines: string[] }): Routine<true> {
  yield* tx.run(WRITE_DIALECT, { ...input, updated_at: tx.now })
  return true
}

export function* deleteFileDialect(tx: Writer, key: FileDialectKey): Routine<boolean> {
  return (yield* tx.run(DELETE_DIALECT, key)) > 0
}
