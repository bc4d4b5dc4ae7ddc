/** SQLite as the source and the target of a copy. */
import { existsSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite'
import { AppError } from '@assay/model/errors'
import { translate } from '../sqlite/connection.ts'
import { MIGRATIONS, migrateSqlite } from '../sqlite/schema.ts'
import type { Kind } from '../statement.ts'
import { TABLES } from '../tables/all.ts'
import { Batch, type CopySource, type CopyTarget, vetSchema } from './copy.ts'
import { type CopiedRow, type CopiedTable, quoted, selectAll, targetColumns } from './tables.ts'

const BUSY_MS = 5000

/** Reads one moment of the database, which a service may use meanwhile. Throws `not_found` if there is none. */
export async function openSqliteSource(file: string): Promise<CopySource> {
  if (!existsSync(file)) throw new AppError('not_found', `There is no database ${file} to copy.`)
  const db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS })
  try {
    db.exec('BEGIN')
    const known = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").get()
    const applied = known ? db.prepare('SELECT name FROM migrations').all() : []
    const schema = vetSchema(applied as { name: string }[], MIGRATIONS)
    return {
      kind: 'sqlite',
      schema,
      sequence: () => Promise.resolve(sequenceOf(db)),
      batches: (table) => batchesOf(db, table),
      close: () => Promise.resolve(db.close()),
    }
  } catch (error) {
    db.close()
    throw translate(error)
  }
}

function sequenceOf(db: DatabaseSync): number {
  return Number(db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'events'").get()?.seq ?? 0)
}

async function* batchesOf(db: DatabaseSync, table: CopiedTable): AsyncGenerator<CopiedRow[]> {
  const statement = db.prepare(selectAll(table, 'sqlite'))
  statement.setReadBigInts(true)
  statement.setReturnArrays(true)
  const batch = new Batch()
  for (const row of statement.iterate() as unknown as Iterable<SQLOutputValue[]>)
    if (batch.add(row.map(textOf))) yield batch.take()
  if (batch.rows.length > 0) yield batch.take()
}

function textOf(value: SQLOutputValue): string | null {
  return value === null ? null : String(value)
}

const VALUES: Partial<Record<Kind, (text: string) => SQLInputValue>> = {
  integer: BigInt,
  bigint: BigInt,
  boolean: BigInt,
  real: Number,
}

/** Makes the counts by which jobs are claimed, as if no workspace had been served yet. */
const COUNT_JOBS = `
  INSERT INTO job_counts (workspace_id, draft, queued, active, executing, stored_bytes, head_queued_at)
  SELECT workspace_id, sum(job_status = 'draft'), sum(job_status = 'queued'), sum(job_status = 'active'),
    sum(job_status = 'executing'),
    sum(octet_length(variables) + octet_length(metadata) + coalesce((
      SELECT octet_length(source) + octet_length(partials) FROM template_versions AS used
      WHERE used.template_id = jobs.template_id AND version = template_version), 0)) + coalesce((
      SELECT sum(octet_length(body)) FROM insights WHERE insights.workspace_id = jobs.workspace_id), 0), (
      SELECT queued_at FROM jobs AS head WHERE head.workspace_id = jobs.workspace_id AND job_status = 'queued'
      ORDER BY priority DESC, queued_at, assignment_id LIMIT 1)
  FROM jobs WHERE workspace_id IN (SELECT workspace_id FROM workspaces WHERE deleted_at IS NULL) GROUP BY workspace_id`

/**
 * Writes a new database. `file` must not exist. After `close` it is whole and has no log beside it. Do not use it
 * before `finish`.
 */
export async function openSqliteTarget(file: string): Promise<CopyTarget> {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF')
  await migrateSqlite(db)
  // The triggers refuse rows of a workspace that is being deleted.
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string
    sql: string
  }[]
  db.exec('BEGIN')
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${quoted(name)}`)
  for (const { name } of TABLES) db.exec(`DELETE FROM ${name}`)
  return {
    kind: 'sqlite',
    write(table, rows, from) {
      const columns = targetColumns(table, 'sqlite', from)
      const insert = db.prepare(
        `INSERT INTO ${table.name} (${columns.map(({ name }) => quoted(name)).join(', ')})
         VALUES (${columns.map(() => '?').join(', ')})`,
      )
      for (const row of rows)
        insert.run(
          ...columns.map(({ index, kind }) => {
            const text = row[index] ?? null
            return text === null ? null : (VALUES[kind]?.(text) ?? text)
          }),
        )
      return Promise.resolve()
    },
    finish(sequence) {
      db.exec(COUNT_JOBS)
      db.exec(`DELETE FROM sqlite_sequence WHERE name = 'events'`)
      db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)").run(sequence)
      for (const { sql } of triggers) db.exec(sql)
      if (db.prepare('PRAGMA foreign_key_check').get())
        throw new AppError(
          'store_unavailable',
          'The copy is damaged: rows refer to others that it does not hold.',
        )
      db.exec('COMMIT')
      return Promise.resolve()
    },
    close() {
      if (db.isOpen) db.close()
      return Promise.resolve()
    },
  }
}
