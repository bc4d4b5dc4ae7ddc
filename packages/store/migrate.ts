/**
 * Migrations: numbered SQL files, forward only, the same names for both databases. A schema that is newer than the
 * program is refused. Each database brings how it reads and applies them (`Migrator`), under its own lock.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '@assay/model/errors'

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

/**
 * The migrations in a folder, in order. Two of one number or a name of another form is a fault of the program; numbers
 * may be left out.
 */
export function readMigrations(folder: string): Migration[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
  return files.map((file, index) => {
    const number = /^\d{4}(?=_[a-z0-9_]+\.sql$)/.exec(file)?.[0]
    if (number === undefined || files[index - 1]?.startsWith(`${number}_`))
      throw new Error(`The migration ${file} in ${folder} has no number of its own.`)
    const sql = readFileSync(path.join(folder, file), 'utf8')
    return { number: Number(number), name: file.slice(0, -'.sql'.length), sql }
  })
}

/**
 * Brings the schema to the newest. Answers the names of those that were applied now. A program that starts on a schema
 * which it does not know is refused; one that runs already goes on, which is why migrations only add (CONTRIBUTING.md).
 */
export async function migrate(migrations: Migration[], migrator: Migrator): Promise<string[]> {
  const applied = new Set(await migrator.applied())
  const known = new Set(migrations.map(({ number }) => number))
  // Not the newest alone: one of a later version may fill a gap in the numbers.
  const unknown = [...applied].filter((number) => !known.has(number))
  if (unknown.length > 0)
    throw new AppError(
      'store_unavailable',
      `The database has the migration ${Math.max(...unknown)}, which this version of assay does not know ` +
        `(its newest is ${migrations.at(-1)?.number ?? 0}): ` +
        'it was written by a newer version. Install that version again, or restore a backup made before it ran.',
    )
  const missing = migrations.filter(({ number }) => !applied.has(number))
  for (const migration of missing) await migrator.apply(migration)
  return missing.map(({ name }) => name)
}

/** What a running program finds missing after a restore of an older copy; a newer schema is that of a node beside it. */
export function schemaMissing(number: number): AppError {
  return new AppError(
    'store_unavailable',
    `The database lacks the migration ${number}, it was put back to an older state: start a node anew, or run "assay migrate".`,
    { retryAfter: 5 },
  )
}
