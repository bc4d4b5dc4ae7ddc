/** The short form of proofs/fairness.ts; the long one is "npm run proof -- fairness". */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fairness } from '../../proofs/fairness.ts'

test('while a job is queued, a workspace that floods starts one job at most', async (t) => {
  const log = (line: string): void => t.diagnostic(line)
  const { violations, answers } = await fairness({ quiet: 3, rounds: 2, flood: 30, log })
  assert.deepEqual(violations, [])
  assert.ok((answers[429] ?? 0) > 0, 'the flood is over its caps')
})
