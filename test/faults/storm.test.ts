import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storm } from '../../proofs/storm.ts'

test('in a storm of bad receivers, cuts and kills every event arrives under one id, and the good ones do not wait', async (t) => {
  const deadline = 3000
  const report = await storm({
    webhooks: 200,
    events: 600,
    rate: 400,
    seed: 7,
    deadline,
    log: (line) => t.diagnostic(line),
  })
  assert.deepEqual(report.violations, [])
  assert.ok(report.arrivals >= report.events)
  // The long form (npm run proof -- storm) has the bound of 1.5. Here it is enough that no delivery waits for a
  // receiver that hangs.
  const { storm: bad, calm } = report
  assert.ok(bad.p99_ms < calm.p99_ms + deadline, `p99 ${bad.p99_ms} ms beside ${calm.p99_ms} ms`)
})
