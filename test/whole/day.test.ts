/** The short form of `npm run proof -- day`, without its times: what the tables of the queue take. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day } from '../../proofs/day.ts'
import { missingPostgres } from '../servers/postgres.ts'

const missing = process.env.ASSAY_TEST_POSTGRES ? 'the server is not ours' : await missingPostgres()

test('without autovacuum the tables of the queue stay as they are while jobs go through them', {
  skip: missing ?? false,
}, async (context) => {
  const { hours } = await day({
    jobs: 12_000,
    hours: 10,
    keepHours: 2,
    queued: 500,
    autovacuum: 'off',
    log: (line) => context.diagnostic(line),
  })
  const bytes = hours.map((hour) => hour.bytes)
  // In the first hours rows are only made. From then on as many are deleted.
  assert.ok(bytes.at(-1)! < 1.25 * bytes[4]!, bytes.join())
})
