import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { AppError } from '@assay/model/errors'
import { migrateSqlite, sqliteSchema } from './schema.ts'

async function migrations(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-migrations-'))
  await mkdir(folder, { recursive: true })
  for (const [name, sql] of Object.entries(files)) await writeFile(path.join(folder, name), sql)
  return folder
}

test('the migrations make the schema that schema.sql shows (npm run gen writes it)', async () => {
  const shown = await readFile(path.join(import.meta.dirname, 'schema.sql'), 'utf8')
  assert.equal(await sqliteSchema(), shown)
})

test('applies what is missing, in order, once', async () => {
  const folder = await migrations({ '0001_first.sql': 'CREATE TABLE a (x);' })
  const db = new DatabaseSync(':memory:')
  assert.deepEqual(await migrateSqlite(db, folder), ['0001_first'])
  await writeFile(path.join(folder, '0002_second.sql'), 'ALTER TABLE a ADD COLUMN y;')
  assert.deepEqual(await migrateSqlite(db, folder), ['0002_second'])
  assert.deepEqual(await migrateSqlite(db, folder), [])
  db.exec('INSERT INTO a (x, y) VALUES (1, 2)')
  await rm(folder, { recursive: true })
})

test('refuses a schema that is newer than the program', async () => {
  const folder = await migrations({
    '0001_first.sql': 'CREATE TABLE a (x);',
    '0002_second.sql': 'CREATE TABLE b (x);',
  })
  const db = new DatabaseSync(':memory:')
  await migrateSqlite(db, folder)
  await rm(path.join(folder, '0002_second.sql'))
  await assert.rejects(migrateSqlite(db, folder), (error) => {
    assert.ok(error instanceof AppError)
    assert.equal(error.code, 'store_unavailable')
    assert.match(
      error.message,
      /has the migration 2, which this version of assay does not know \(its newest is 1\)/,
    )
    return true
  })
  await rm(folder, { recursive: true })
})

test('refuses a schema that a newer version filled a gap of', async () => {
  const folder = await migrations({
    '0001_first.sql': 'CREATE TABLE a (x);',
    '0002_second.sql': 'CREATE TABLE b (x);',
    '0004_fourth.sql': 'CREATE TABLE d (x);',
  })
  const db = new DatabaseSync(':memory:')
  await migrateSqlite(db, folder)
  await rm(path.join(folder, '0002_second.sql'))
  await assert.rejects(
    migrateSqlite(db, folder),
    /has the migration 2, which .*\(its newest is 4\): it was written by a newer version/,
  )
  await rm(folder, { recursive: true })
})

test('a home of a development version before the first release is refused, with what to do', async () => {
  const db = new DatabaseSync(':memory:')
  await migrateSqlite(db)
  db.exec("INSERT OR REPLACE INTO migrations VALUES (2, '0002_runs', '2026-01-01T00:00:00.000Z')")
  await assert.rejects(migrateSqlite(db), (error) => {
    assert.ok(error instanceof AppError)
    assert.equal(error.code, 'store_unavailable')
    assert.match(error.message, /development version of assay, before the first release.*a new ASSAY_HOME/)
    return true
  })
})

test('a migration that fails leaves nothing of itself behind', async () => {
  const folder = await migrations({ '0001_first.sql': 'CREATE TABLE a (x); CREATE TABLE a (x);' })
  const db = new DatabaseSync(':memory:')
  await assert.rejects(migrateSqlite(db, folder), /already exists/)
  await writeFile(path.join(folder, '0001_first.sql'), 'CREATE TABLE a (x);')
  assert.deepEqual(await migrateSqlite(db, folder), ['0001_first'])
  await rm(folder, { recursive: true })
})

test('numbers may be left out, and one that comes later fills its gap', async () => {
  const folder = await migrations({ '0001_first.sql': 'CREATE TABLE a (x);', '0004_fourth.sql': '' })
  const db = new DatabaseSync(':memory:')
  assert.deepEqual(await migrateSqlite(db, folder), ['0001_first', '0004_fourth'])
  await writeFile(path.join(folder, '0003_third.sql'), 'ALTER TABLE a ADD COLUMN y;')
  assert.deepEqual(await migrateSqlite(db, folder), ['0003_third'])
  assert.deepEqual(await migrateSqlite(db, folder), [])
  await rm(folder, { recursive: true })
})

test('two migrations of one number are a fault of the program', async () => {
  const folder = await migrations({ '0001_first.sql': '', '0001_other.sql': '' })
  assert.throws(() => void migrateSqlite(new DatabaseSync(':memory:'), folder), /no number of its own/)
  await rm(folder, { recursive: true })
})
