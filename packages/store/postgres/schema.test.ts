/** Migrates a PostgreSQL database that others use meanwhile. */
import assert from 'node:assert/strict'
import { cp, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingPostgres, type Postgres, startPostgres } from '../../../test/servers/postgres.ts'
import { eventually, temporaryFolder } from '../../../test/servers/service.ts'
import { withClient } from './postgres-fixture.ts'
import { MIGRATIONS, migratePostgres } from './schema.ts'

const missing = await missingPostgres()
const DATABASE = `assay_schema_${process.pid}`

suite('migrations beside others', { skip: missing ?? false }, () => {
  const { folder, remove } = temporaryFolder()
  let postgres: Postgres
  let url: string

  before(async () => {
    postgres = await startPostgres()
    url = await postgres.createDatabase(DATABASE)
    await cp(MIGRATIONS, folder, { recursive: true })
    await migratePostgres(url, folder)
  })
  after(async () => {
    await postgres.dropDatabase(DATABASE)
    await postgres.stop()
    remove()
  })

  test('a migration that waits for a long reader holds nobody else up, and is made when the reader has gone', async () => {
    const file = path.join(folder, '9999_later.sql')
    await writeFile(file, 'ALTER TABLE jobs ADD COLUMN later text;')
    await withClient(url, async (reader) => {
      await reader.query('BEGIN; SELECT count(*) FROM jobs')
      const migrated = migratePostgres(url, folder)
      await withClient(url, async (other) => {
        const waits = async (): Promise<boolean> => {
          const { rowCount } = await other.query(
            `SELECT 1 FROM pg_locks WHERE relation = 'jobs'::regclass AND NOT granted`,
          )
          return rowCount === 1
        }
        await eventually(waits, 'the migration waits')
        await other.query("SET statement_timeout = '10s'; SELECT count(*) FROM jobs")
      })
      await reader.query('COMMIT')
      assert.deepEqual(await migrated, ['9999_later'])
    })
    await rm(file)
  })
})
