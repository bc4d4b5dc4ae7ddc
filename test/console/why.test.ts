import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attempt } from '@assay/model/delivery'
import type { JobView } from '@assay/model/job'
import type { ScheduleView } from '@assay/model/schedule'
import type { WebhookView } from '@assay/model/webhook'
import {
  connectionTrouble,
  dataTroubles,
  diskTrouble,
  scheduleTrouble,
  secretTroubles,
  webhookTrouble,
} from '../../packages/console/src/troubles.ts'
import { ago, duration } from '../../packages/console/src/words/durations.ts'
import { whyDelivery, whyNone as whyNoneAt } from '../../packages/console/src/words/why.ts'

const NOW = Date.parse('2026-01-31T12:00:00.000Z')

const refused = {
  started_at: '2026-01-31T11:59:00.000Z',
  status_code: null,
  error: { class: 'refused', detail: 'Nothing listens on port 9.' },
} as Attempt

const delivery = (more: object) =>
  ({ status: 'pending', attempts: [], next_attempt_at: null, ...more }) as unknown as Parameters<
    typeof whyDelivery
  >[0]

const webhook = (more: Partial<WebhookView> = {}) =>
  ({
    presence_name: 'reports',
    events: ['job.completed'],
    status: 'enabled',
    disabled_reason: null,
    breaker: { state: 'closed', failures: 0, until: null },
    held_reason: null,
    created_at: '2026-01-01T00:00:00.000Z',
    ...more,
  }) as WebhookView

const job = (more: Partial<JobView> = {}) =>
  ({
    presence_name: null,
    notify: [],
    skipped: null,
    job_status: 'completed',
    error: null,
    finished_at: '2026-01-31T11:00:00.000Z',
    ...more,
  }) as JobView

const whyNone = (ended: JobView, at: WebhookView) => whyNoneAt(ended, at, 'webhook')

test('says of a delivery what happened, when it goes on, and what to do', () => {
  const waiting = delivery({ attempts: [refused], next_attempt_at: '2026-01-31T12:05:00.000Z' })
  const told = whyDelivery(waiting, webhook(), 'webhook', NOW)
  assert.match(told, /tried once without success and will be tried again in 5 minutes/)
  assert.match(told, /The last attempt failed: Nothing listens on port 9\. .*start the receiver/)
  const off = webhook({ status: 'disabled', disabled_reason: 'It answered 410.' })
  assert.match(
    whyDelivery(waiting, off, 'webhook', NOW),
    /because its webhook is disabled \(It answered 410\.\)/,
  )
  assert.match(
    whyDelivery(delivery({ status: 'failed', attempts: [refused, refused] }), webhook(), 'webhook'),
    /and has failed/,
  )
  const breaker = { state: 'open', failures: 5, until: '2026-01-31T12:03:00.000Z' } as const
  assert.match(
    whyDelivery(delivery({}), webhook({ breaker }), 'webhook', NOW),
    /has failed 5 times in a row, so sending to it pauses: the next try is in 3 minutes/,
  )
  assert.match(whyDelivery(delivery({}), webhook(), 'webhook'), /about to be sent for the first time/)
})

test('says why a job has no delivery at a webhook, by the rules of linking', () => {
  assert.match(
    whyNone(job({ presence_name: 'others' }), webhook()),
    /“others”, and this webhook is called “reports”/,
  )
  assert.match(whyNone(job({ skipped: 'condition' }), webhook()), /nothing to tell by its condition/)
  assert.match(whyNone(job({ job_status: 'draft' }), webhook()), /never run/)
  assert.match(whyNone(job({ job_status: 'executing' }), webhook()), /has not ended \(executing\)/)
  const failed = job({ job_status: 'canceled', error: { code: 'timed_out', detail: '' } })
  assert.match(
    whyNone(failed, webhook()),
    /ended so: a run failed\. This webhook is told only when a run has its insight\. Choose “a run failed” \(job\.failed\)/,
  )
  const canceled = job({ job_status: 'canceled', error: { code: 'canceled_by_user', detail: '' } })
  assert.match(whyNone(canceled, webhook()), /ended so: a run was canceled/)
  assert.match(
    whyNone(job({ finished_at: '2025-12-31T00:00:00.000Z' }), webhook()),
    /before this webhook was created/,
  )
  assert.match(whyNone(job(), webhook({ status: 'disabled' })), /Enable it, then recover/)
})

test('says of a subscription what is its own', () => {
  const chat = { ...webhook({ status: 'disabled' }), subscription_id: 'chat' }
  const notify = ['chat']
  for (const other of [{}, { presence_name: 'others' }, { notify: ['other'] }])
    assert.match(whyNoneAt(job(other), chat, 'subscription'), /^The job was not sent to this subscription/)
  for (const sent of [{ notify }, { notify, presence_name: 'others' }, { presence_name: 'reports' }])
    assert.match(whyNoneAt(job(sent), chat, 'subscription'), /^The subscription is disabled/)
  const skipped = job({ skipped: 'condition', notify })
  assert.match(whyNoneAt(skipped, chat, 'subscription'), /leaves out skipped runs/)
  assert.doesNotMatch(whyNoneAt(skipped, { ...chat, include_skipped: true }, 'subscription'), /deliver_if/)
})

test('tells spans in the two largest units', () => {
  assert.deepEqual([0.42, 950, 5000, 65_000, 300_000, 7_199_990, 7_500_000].map(duration), [
    '0.4 ms',
    '950 ms',
    '5 s',
    '1 min 5 s',
    '5 min',
    '2 h',
    '2 h 5 min',
  ])
  assert.equal(ago('2026-01-31T11:59:30.000Z', NOW), '30 seconds ago')
  assert.equal(ago('2025-10-01T00:00:00.000Z', NOW), '2025-10-01')
})

const schedule = (more: Partial<ScheduleView>) =>
  ({
    schedule_id: 's',
    name: 'Weekly',
    paused: false,
    last_error: null,
    last_run: null,
    ...more,
  }) as ScheduleView
const failing = (runs: number) => ({
  runs,
  assignment_id: 'a',
  error: { code: 'analysis_failed', detail: 'No column "x".' },
})

test('tells what fails at present with the page that mends it, and nothing of what goes well or is paused', () => {
  assert.equal(scheduleTrouble(schedule({ failing: null })), null)
  assert.equal(scheduleTrouble(schedule({ failing: failing(3), paused: true })), null)
  const told = scheduleTrouble(schedule({ failing: failing(3) }))
  assert.equal(told?.says, 'Its last 3 runs failed. A step of the report failed: No column "x".')
  assert.deepEqual(told?.at, { to: '/jobs/$assignment_id', params: { assignment_id: 'a' } })
  assert.match(scheduleTrouble(schedule({ failing: failing(20) }))!.says, /^Its last 20 or more runs failed/)
  assert.equal(webhookTrouble(webhook({ failing_since: null })), null)
  assert.equal(
    webhookTrouble(webhook({ failing_since: null, status: 'disabled' })),
    null,
    'a person disabled it',
  )
  const broken = webhook({
    failing_since: '2026-01-31T11:00:00.000Z',
    failing_reason: 'refused: Nothing listens.',
    breaker: { state: 'open', failures: 5, until: '2999-01-01T00:00:00.000Z' },
  })
  assert.match(
    webhookTrouble(broken)!.says,
    /The last error: Nothing listens\. After 5 failed attempts in a row sending pauses: the next try is/,
  )
  assert.equal(connectionTrouble('shop', { ok: true, detail: null }), null)
  const unusable = connectionTrouble('shop', { ok: false, detail: 'Nothing listens on port 9.' })
  assert.equal(unusable?.says, 'Nothing listens on port 9.')
  assert.deepEqual(unusable?.at, { to: '/system/connections/$name', params: { name: 'shop' } })
  assert.equal(diskTrouble({ free_bytes: 6e9, total_bytes: 100e9 }), null)
  assert.match(diskTrouble({ free_bytes: 4e9, total_bytes: 100e9 })!.says, /^Only 4 GB of 100 GB are free/)
})

test('late rows of a metric are told once, with the reports that found them', () => {
  const late = { metric: 'revenue', label: 'Revenue', late: true, says: 'The newest row is of May.' }
  const card = (title: string) => ({ title, failed_tests: [late] })
  const [told, ...others] = dataTroubles([
    card('A'),
    card('B'),
    { title: 'C', failed_tests: null },
    card('A'),
  ])
  assert.deepEqual(others, [])
  assert.equal(
    told?.says,
    'The newest row is of May. “A” and “B” found this. Mend the rows, then run them again.',
  )
  assert.deepEqual(
    [told?.action, told?.at],
    ['Bring newer rows', { to: '/metric/$metric_id', params: { metric_id: 'revenue' } }],
  )
})

test('a key that is missing, and what it sealed, are told with the page on which it is entered again', () => {
  assert.deepEqual(secretTroubles({ missing_key: null, lost: [] }), [])
  const lost = [
    { kind: 'connection' as const, workspace_id: 'default', id: 'crm', what: ['the secret password'] },
    {
      kind: 'webhook' as const,
      workspace_id: 'team',
      id: 'w1',
      what: ['the header x', 'the signing secret'],
    },
  ]
  const told = secretTroubles({ missing_key: 'ASSAY_SECRET_KEY: put it back.', lost })
  assert.deepEqual(
    told.map(({ kind, says }) => [kind, says]),
    [
      ['Key', 'Jobs and deliveries wait. ASSAY_SECRET_KEY: put it back.'],
      ['Connection', 'The key that sealed the secret password is gone: enter it again.'],
      [
        'Webhook',
        'The key that sealed the header x, the signing secret is gone: enter it again. It belongs to the workspace team.',
      ],
    ],
  )
  assert.equal(told[1]!.at.to, '/system/connections/$name')
})
