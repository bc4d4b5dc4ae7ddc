/** Tests the model itself on broken histories, and runs the short form of proofs/model.ts on both databases. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agreeWithModel } from '../../proofs/model.ts'
import { missingPostgres } from '../servers/postgres.ts'
import { type Answer, apply, type Call, type Command, EMPTY, explains, type Model } from './model.ts'

const ok = (over: Partial<Answer> = {}): Answer => ({ status: 200, code: null, ...over })
const refused = (status: number, code: string): Answer => ({ status, code })

/** Returns the model after the steps. Null if it does not allow one of the answers. */
function after(...steps: [Command, Answer][]): Model | null {
  return steps.reduce<Model | null>(
    (model, [command, answer]) => model && apply(model, command, answer),
    EMPTY,
  )
}

const CREATE: [Command, Answer] = [{ name: 'create', note: 'a' }, ok({ id: 'j' })]
const RUN: [Command, Answer] = [{ name: 'run', id: 'j' }, ok({ job_status: 'queued' })]
const status = (job_status: string, error: string | null = null): [Command, Answer] => [
  { name: 'status', id: 'j' },
  ok({ job_status, error }),
]
const CANCEL: [Command, Answer] = [{ name: 'cancel', id: 'j' }, ok({ job_status: 'canceled' })]

test('the model allows what the API promises', () => {
  assert.ok(after(CREATE, RUN, status('executing'), status('completed'), status('completed')))
  assert.ok(after(CREATE, CANCEL, CANCEL, status('canceled', 'canceled_by_user')))
  assert.ok(after(CREATE, RUN, [{ name: 'cancel', id: 'j' }, refused(409, 'job_final')], status('completed')))
})

test('the model refuses what breaks a promise', () => {
  const broken: [Command, Answer][][] = [
    [CREATE, status('queued')],
    [CREATE, RUN, status('executing'), status('queued')],
    [CREATE, RUN, status('completed'), CANCEL],
    [CREATE, RUN, status('canceled', 'canceled_by_user')],
    [CREATE, CANCEL, status('completed')],
    [CREATE, CANCEL, status('canceled', 'timed_out')],
    [
      CREATE,
      [
        { name: 'delete', id: 'j' },
        { status: 204, code: null },
      ],
    ],
    [CREATE, [{ name: 'list' }, ok({ items: [] })]],
    [CREATE, CREATE],
    [
      [{ name: 'create', note: 'a', key: 'k' }, ok({ id: 'j' })],
      [{ name: 'create', note: 'a', key: 'k' }, ok({ id: 'other' })],
    ],
    [
      [{ name: 'hook' }, ok({ id: 'w' })],
      CREATE,
      CANCEL,
      [{ name: 'deliveries', id: 'w' }, ok({ items: [] })],
    ],
  ]
  for (const steps of broken) {
    assert.ok(after(...steps.slice(0, -1)), JSON.stringify(steps))
    assert.equal(after(...steps), null, JSON.stringify(steps))
  }
})

test('answers at once need one serial order, in which none comes before what had ended before it', () => {
  const call = ([command, answer]: [Command, Answer], asked: number, answered: number): Call => ({
    command,
    answer,
    asked,
    answered,
  })
  const begun = after(CREATE)!
  const missed = [{ name: 'run', id: 'j' }, refused(409, 'job_final')] as [Command, Answer]
  assert.ok(explains(begun, [call(missed, 1, 4), call(CANCEL, 2, 3)]), 'the cancel came first')
  assert.equal(explains(begun, [call(missed, 1, 2), call(CANCEL, 3, 4)]), false, 'it was asked later')
  assert.equal(explains(begun, [call(CANCEL, 1, 4), call(RUN, 2, 3), call(status('draft'), 5, 6)]), false)
})

for (const store of ['sqlite', 'postgres'] as const) {
  const missing = store === 'postgres' ? await missingPostgres() : null
  test(`any requests in any order and at once agree with the model on ${store}`, {
    skip: missing ?? false,
  }, async (t) => {
    const report = await agreeWithModel({
      store,
      seed: 20_260_102,
      runs: 40,
      limitMs: 3000,
      log: (line) => t.diagnostic(line),
    })
    t.diagnostic(JSON.stringify({ ...report, violations: report.violations.length }))
    assert.deepEqual(report.violations, [])
    assert.ok(report.sequential >= 3 && report.parallel >= 3)
  })
}
