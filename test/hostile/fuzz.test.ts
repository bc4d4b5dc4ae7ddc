/** The short form of proofs/fuzz.ts; the long one is "npm run proof -- fuzz". */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from '../../proofs/fuzz.ts'

test('answers whatever it is sent without a 5xx, each refusal as a problem, each answer as documented', async (t) => {
  const report = await fuzz({
    requests: 400,
    seed: 20_260_101,
    log: (line) => t.diagnostic(line),
  })
  t.diagnostic(JSON.stringify(report.statuses))
  assert.deepEqual(report.violations, [])
  assert.ok(report.requests >= 400)
  const fitting = Object.values(report.fitting).reduce((sum, count) => sum + count, 0)
  assert.ok(fitting > report.requests / 10, `${fitting} of ${report.requests} were answered with a 2xx`)
})
