/** The short form of `npm run proof -- upgrade`: one node of the version before the newest migration, and one of this. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingPostgres } from './postgres.ts'
import { commitBeforeSchema } from './proofs/upgrade/older.ts'
import { upgrade } from './proofs/upgrade.ts'

const missing = await missingPostgres()
const from = commitBeforeSchema()

test('a node of the version before works on beside one of this, and none stops or fails a request', {
  skip: missing ?? (from === null ? 'there is no history here that tells of the version before' : false),
}, async (context) => {
  const seed = Number(process.env.ASSAY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const { violations, ...figures } = await upgrade({
    from: from!,
    seed,
    nodes: 1,
    // No node is killed here, so nobody waits for a lease; one that ends on a busy machine would be a node that stops.
    leaseMs: 30_000,
    phaseMs: 1000,
    jobs: 3,
    clients: 2,
    drainMs: 60_000,
    log: (line) => context.diagnostic(line),
  })
  context.diagnostic(JSON.stringify({ seed, ...figures }))
  assert.deepEqual(violations, [], `seed ${seed}`)
})
