/** The short form of `npm run proof -- chaos --store sqlite`; chaos-postgres.test.ts has that of the other store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ChaosOptions, chaos } from '../../proofs/chaos.ts'
import { missingPostgres } from '../servers/postgres.ts'

const store: ChaosOptions['store'] = process.env.ASSAY_TEST_STORE === 'postgres' ? 'postgres' : 'sqlite'
const missing = store === 'postgres' ? await missingPostgres() : null

test(`the promises hold on ${store} whatever fails while jobs run`, {
  skip: missing ?? false,
}, async (context) => {
  const seed = Number(process.env.ASSAY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const report = await chaos({
    store,
    seed,
    faults: 5,
    nodes: 2,
    leaseMs: 3000,
    clockMs: 5000,
    pauseMs: 300,
    jobs: 4,
    clients: 3,
    // This fault is left out. A receiver that fails five times in a row is left alone for half a minute, which the
    // storm tests.
    without: ['a receiver that vanishes'],
    drainMs: 120_000,
    own: false,
    log: (line) => context.diagnostic(line),
  })
  const { violations, ...figures } = report
  context.diagnostic(JSON.stringify({ seed, ...figures }))
  assert.deepEqual(violations, [], `seed ${seed}`)
  assert.ok((report.ends.completed ?? 0) > 0)
})
