/** Runs the tests of pipeline.test.ts on PostgreSQL: the same service, the same answers. */
import { test } from 'node:test'
import { missingPostgres } from '../servers/postgres.ts'

const missing = await missingPostgres()
if (missing === null) {
  process.env.ASSAY_TEST_STORE = 'postgres'
  await import('./pipeline.test.ts')
} else {
  test('the pipeline on PostgreSQL', { skip: missing }, () => undefined)
}
