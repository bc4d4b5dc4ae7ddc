/** The short form of proofs/stall.ts; the long one is "npm run proof -- stall". */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { stall } from '../proofs/stall.ts'

test('no text of a client holds up the thread that answers all others, and no lease lapses', {
  skip: !existsSync('/proc/self/schedstat'),
}, async (t) => {
  const report = await stall({
    seed: 20_260_101,
    every: 10,
    limitMs: 60_000,
    log: (line) => t.diagnostic(line),
  })
  t.diagnostic(JSON.stringify({ ...report, held: report.held.slice(0, 5) }))
  assert.deepEqual(report.violations, [])
  assert.ok(report.entries > 30, `${report.entries} entries`)
})
