/** Runs the tests of chaos.test.ts on PostgreSQL: the same service, the same answers. */
import { test } from 'node:test'
import { missingPostgres } from '../servers/postgres.ts'

const missing = await missingPostgres()
if (missing === null) {
  process.env.ASSAY_TEST_STORE = 'postgres'
  await import('./chaos.test.ts')
} else {
  test('the chaos on PostgreSQL', { skip: missing }, () => undefined)
}
