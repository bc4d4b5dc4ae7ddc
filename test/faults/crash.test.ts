/** The short form of `npm run proof -- crash`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crash } from '../../proofs/crash.ts'

test('nothing is lost, doubled or changed when the service is killed while jobs run', async (context) => {
  const seed = Number(process.env.ASSAY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const report = await crash({ rounds: 3, jobs: 30, seed, log: (line) => context.diagnostic(line) })
  const { violations, ...figures } = report
  context.diagnostic(JSON.stringify({ seed, ...figures }))
  assert.deepEqual(violations, [], `seed ${seed}`)
  assert.ok((report.ends.completed ?? 0) > 0)
})
