import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareReaders } from '../../proofs/personal-rows.ts'
import { missingPostgres } from '../servers/postgres.ts'

const missing = await missingPostgres()

test("readers with random rules see the rows that PostgreSQL's row-level security shows them", {
  skip: missing ?? false,
}, async () => {
  const { foreign, missing: lacking, between, violations } = await compareReaders(20_261_123, 40)
  assert.deepEqual(violations, [])
  assert.equal(foreign + lacking, 0)
  assert.ok(between > 20, `${between} readers see some rows and not all`)
})
