/** Opens the source and the target of a copy that settings name. */
import { readMigrations } from '../migrate.ts'
import { storeFile } from '../open.ts'
import { MIGRATIONS } from '../sqlite/schema.ts'
import type { CopySource } from './copy.ts'
import { openSqliteSource } from './sqlite.ts'

export type * from './copy.ts'
export { lookAtStore } from './look.ts'
export { openSqliteSource, openSqliteTarget } from './sqlite.ts'
export type { StoreLook } from './store-look.ts'
export { COPIED, sharedIndexes } from './tables.ts'

export const isPostgres = (url: string): boolean => /^postgres(ql)?:/.test(url)

/** Returns the newest migration of this version, which has the same name for both databases. */
export const newestSchema = (): string => readMigrations(MIGRATIONS).at(-1)!.name

/** Opens the source. `url` and `home` are as for `openStore`. The driver of PostgreSQL is loaded only for PostgreSQL. */
export async function openCopySource({ url, home }: { url: string; home: string }): Promise<CopySource> {
  if (!isPostgres(url)) return openSqliteSource(storeFile(url, home))
  const { openPostgresSource } = await import('./postgres.ts')
  return openPostgresSource(url)
}
