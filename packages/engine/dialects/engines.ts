/**
 * Lists the dialects. A database that speaks another gets a file here and a line in the list
 * (docs/decisions/0139-analyses-where-the-data-are.md).
 */
import { CLICKHOUSE } from './clickhouse.ts'
import type { Dialect } from './dialect.ts'
import { MYSQL } from './mysql.ts'
import { POSTGRESQL } from './postgresql.ts'
import { SQLITE } from './sqlite.ts'

const DIALECTS: Record<string, Dialect> = {
  postgresql: POSTGRESQL,
  mysql: MYSQL,
  sqlite: SQLITE,
  clickhouse: CLICKHOUSE,
}

/** Returns the dialect of a kind of connection. Kinds that hold files have none, and get PostgreSQL's. */
export function dialectOf(kind: string): Dialect {
  return DIALECTS[kind] ?? POSTGRESQL
}
