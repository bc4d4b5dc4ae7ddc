/** The kinds of connections. Each is loaded when its first connection is opened, not by every process. */
import type { ConnectionKind } from '@assay/model/connection-kinds'
import type { Kind } from './kind.ts'
import type { FileKind } from './remote/remote.ts'
import { SourceError } from './source.ts'

const LOADERS: Partial<Record<ConnectionKind, () => Promise<Kind>>> = {
  clickhouse: async () => (await import('./clickhouse/clickhouse.ts')).clickhouse,
  mysql: async () => (await import('./mysql/mysql.ts')).mysqlKind,
  sqlite: async () => (await import('./sqlite/sqlite.ts')).sqlite,
  postgresql: async () => (await import('./postgresql/postgresql.ts')).postgresql,
}

const FILE_LOADERS: Partial<Record<ConnectionKind, () => Promise<FileKind>>> = {
  http: async () => (await import('./remote/https.ts')).http,
  s3: async () => (await import('./remote/s3.ts')).s3,
}

export async function fileKindOf(kind: ConnectionKind): Promise<FileKind> {
  const load = FILE_LOADERS[kind]
  if (!load) throw new SourceError(`Connections of the kind ${kind} hold no files: give a "query".`)
  return load()
}

export async function kindOf(kind: ConnectionKind): Promise<Kind> {
  const load = LOADERS[kind]
  if (!load) throw new SourceError(`Connections of the kind ${kind} read no queries.`)
  return load()
}
