/**
 * Migrations: numbered SQL files, applied forward only, with the same names for both databases. A schema that is
 * newer than the program is refused, and so is one of a development version before the first release. Each database
 * has its own `Migrator`, which reads and applies them under a lock.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '@assay/model/errors'
import type { Reader, Routine } from './rows.ts'
import { statement } from './statement.ts'

export interface Migration {
  number: number
  /** The name, such as "0001_initial". */
  name: string
  sql: string
}

export interface Migrator {
  /** Returns the migrations that the database records as applied. */
  applied(): Promise<Pick<Migration, 'number' | 'name'>[]>
  /** Runs the migration and records its number, in one transaction. */
  apply(migration: Migration): Promise<void>
}

/**
 * Reads the migrations of a folder, in order. Numbers may be left out. Two files with one number, or a file with
 * another form of name, are a fault of the program.
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

/** Every database of a development version has this migration. The first release has one migration, number 1. */
const BEFORE_RELEASE = '0002_runs'

/**
 * Brings the schema to the newest version. Returns the names of the migrations that it applied. A program that starts on
 * a schema it does not know is refused. One that runs already goes on, which is why migrations only add (CONTRIBUTING.md).
 */
export async function migrate(migrations: Migration[], migrator: Migrator): Promise<string[]> {
  const recorded = await migrator.applied()
  if (recorded.some(({ name }) => name === BEFORE_RELEASE))
    throw new AppError(
      'store_unavailable',
      'The database was made by a development version of assay, before the first release, and cannot be upgraded: ' +
        'start with a new ASSAY_HOME, or on PostgreSQL with an empty database.',
    )
  const applied = new Set(recorded.map(({ number }) => number))
  const known = new Set(migrations.map(({ number }) => number))
  // All numbers are compared, not the newest alone: a migration of a later version may fill a gap.
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

const APPLIED = statement('SELECT 1 FROM migrations WHERE number = :number')

/**
 * Throws `store_unavailable` if the migration is not applied, as after a restore of an older copy. A newer schema is
 * accepted, because a newer node may run beside this one.
 */
export function* requireMigration(from: Reader, number: number): Routine<void> {
  if (yield* from.find(APPLIED, { number })) return
  throw new AppError(
    'store_unavailable',
    `The database lacks the migration ${number}, it was put back to an older state: start a node anew, or run "assay migrate".`,
    { retryAfter: 5 },
  )
}
