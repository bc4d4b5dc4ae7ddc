import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunResult } from '@assay/engine/run/protocol'
import type { Findings } from '@assay/model/insight'
import { type Settlement, type StopReason, settlementOf } from './outcome.ts'

const findings = { title: 'A title' } as Findings
const error = { code: 'timed_out', detail: 'It took too long.' } as const

const RESULTS: Record<RunResult['status'], RunResult> = {
  done: { status: 'done', findings },
  failed: { status: 'failed', error },
  crashed: { status: 'crashed', detail: 'The process died.' },
  stopped: { status: 'stopped' },
}

const TABLE: [RunResult['status'], StopReason | null, Settlement][] = [
  ['done', null, { kind: 'complete', findings }],
  ['failed', null, { kind: 'fail', error }],
  ['crashed', null, { kind: 'lose' }],
  ['stopped', null, { kind: 'release' }],
  // A result that was finished in spite of the stop is written. The fence decides whether it counts.
  ['done', 'draining', { kind: 'complete', findings }],
  ['failed', 'draining', { kind: 'fail', error }],
  ['crashed', 'draining', { kind: 'lose' }],
  ['stopped', 'draining', { kind: 'release' }],
  ['done', 'lapsed', { kind: 'complete', findings }],
  ['failed', 'lapsed', { kind: 'fail', error }],
  ['crashed', 'lapsed', { kind: 'lose' }],
  ['stopped', 'lapsed', { kind: 'release' }],
  ['done', 'taken', { kind: 'abandon' }],
  ['failed', 'taken', { kind: 'abandon' }],
  ['crashed', 'taken', { kind: 'abandon' }],
  ['stopped', 'taken', { kind: 'abandon' }],
]

test('each way in which an attempt can end has its one settlement', () => {
  assert.equal(TABLE.length, Object.keys(RESULTS).length * 4)
  for (const [status, reason, settlement] of TABLE)
    assert.deepEqual(settlementOf(RESULTS[status], reason), settlement, `${status} and ${reason}`)
})
