/**
 * Migrations: numbered SQL files, forward only, the same names for both databases. A schema that is newer than the
 * program is refused. Each database brings how it reads and applies them (`Migrator`), under its own lock.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '../errors.ts'

export interface Migration {
  number: number
  /** "0001_initial" */
  name: string
  sql: string
}

export interface Migrator {
  /** The numbers that the database has had. */
  applied(): Promise<number[]>
  /** Runs it and notes its number, in one transaction. */
  apply(migration: Migration): Promise<void>
}

/** The migrations in a folder, in order. A gap or a name of another form is a fault of the program. */
export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
    .map((file, index) => {
      const match = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(file)
      if (!match || Number(match[1]) !== index + 1)
        throw new Error(`The migration ${file} in ${folder} is not number ${index + 1}.`)
      const sql = readFileSync(path.join(folder, file), 'utf8')
      return { number: index + 1, name: file.slice(0, -'.sql'.length), sql }
    })
}

/** Brings the schema to the newest. Answers the names of those that were applied now. */
export async function migrate(migrations: Migration[], migrator: Migrator): Promise<string[]> {
  const applied = new Set(await migrator.applied())
  const newest = Math.max(0, ...applied)
  if (newest > migrations.length)
    throw new AppError(
      'store_unavailable',
      `The database has schema ${newest}, this version of assay knows only ${migrations.length}: ` +
        'it was written by a newer version. Install that version again, or restore a backup made before it ran.',
    )
  const missing = migrations.filter(({ number }) => !applied.has(number))
  for (const migration of missing) await migrator.apply(migration)
  return missing.map(({ name }) => name)
}
