import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkHistory, type Entry, type SeenJob } from './history.ts'

const ID = 'job-1'
const QUEUED: SeenJob = { job_status: 'queued', attempt: 0, insight_id: null, error: null, finished_at: null }
const DONE: SeenJob = {
  job_status: 'completed',
  attempt: 1,
  insight_id: 'insight-1',
  error: null,
  finished_at: '2026-01-01T00:00:00.000Z',
}

function at<E extends Omit<Entry, 'begun' | 'ended'>>(
  begun: number,
  entry: E,
): E & { begun: number; ended: number } {
  return { ...entry, begun, ended: begun + 1 }
}

/** One job from its creation to its delivery, as it should be. */
function sound(): Entry[] {
  const event = { event_id: 'event-1', type: 'job.completed', assignment_id: ID, insight_id: 'insight-1' }
  return [
    at(0, { kind: 'created', key: 'key-1', assignment_id: ID }),
    at(2, { kind: 'ran', assignment_id: ID }),
    at(4, { kind: 'seen', assignment_id: ID, job: QUEUED }),
    at(6, { kind: 'seen', assignment_id: ID, job: { ...QUEUED, job_status: 'executing', attempt: 1 } }),
    at(8, { kind: 'seen', assignment_id: ID, job: DONE }),
    at(10, { kind: 'insight', assignment_id: ID, insight_id: 'insight-1', digest: 'a' }),
    at(12, { kind: 'received', receiver: 'hook', ...event, verified: true, digest: 'b' }),
    at(14, { kind: 'event', ...event }),
  ] as Entry[]
}

function faultsOf(change: (entries: Entry[]) => Entry[]): string {
  return checkHistory(change(sound()), { receivers: ['hook'] }).join('\n')
}

const without = (kind: Entry['kind']) => (entries: Entry[]) => entries.filter((entry) => entry.kind !== kind)
const plus =
  (...more: unknown[]) =>
  (entries: Entry[]) => [...entries, ...(more as Entry[])]
const edit = (kind: Entry['kind'], patch: object) => (entries: Entry[]) =>
  entries.map((entry) => (entry.kind === kind ? { ...entry, ...patch } : entry))

test('a history without a fault is accepted, with repeated deliveries and a lost worker in it', () => {
  assert.equal(
    faultsOf((entries) => entries),
    '',
  )
  const again = plus(
    at(13, { ...sound()[6]!, kind: 'received' }),
    at(5, { kind: 'seen', assignment_id: ID, job: { ...QUEUED, job_status: 'active', attempt: 1 } }),
  )
  assert.equal(faultsOf(again), '')
})

const BROKEN: [string, (entries: Entry[]) => Entry[], RegExp][] = [
  [
    'an accepted job that never ended',
    (all) => all.filter((e) => !(e.kind === 'seen' && e.begun === 8)),
    /has not ended/,
  ],
  [
    'an end that changed',
    plus(at(20, { kind: 'seen', assignment_id: ID, job: { ...DONE, insight_id: 'insight-2' } })),
    /different ways/,
  ],
  [
    'an end that was taken back',
    plus(at(20, { kind: 'seen', assignment_id: ID, job: { ...QUEUED, attempt: 1 } })),
    /went back/,
  ],
  ['an attempt that went back', plus(at(7.5, { kind: 'seen', assignment_id: ID, job: QUEUED })), /went back/],
  ['a completed job without an insight', without('insight'), /cannot be read/],
  [
    'a second insight',
    plus(at(20, { kind: 'insight', assignment_id: ID, insight_id: 'insight-2', digest: 'a' })),
    /more than one insight/,
  ],
  [
    'an insight that changed',
    plus(at(20, { kind: 'insight', assignment_id: ID, insight_id: 'insight-1', digest: 'z' })),
    /has changed/,
  ],
  ['an end without an event', (all) => without('event')(without('received')(all)), /0 events of its end/],
  ['an end with two events', plus(at(20, { ...sound()[7]!, event_id: 'event-2' })), /2 events of its end/],
  ['an event that says something else', edit('event', { type: 'job.failed' }), /its event says job\.failed/],
  ['an event that nobody got', without('received'), /never got job\.completed/],
  ['a message under another id', edit('received', { event_id: 'event-9' }), /which there is not/],
  ['a wrong signature', edit('received', { verified: false }), /wrong signature/],
  ['a repeat with other bytes', plus(at(20, { ...sound()[6]!, digest: 'z' })), /different bytes/],
  [
    'a key that made two jobs',
    plus(at(20, { kind: 'created', key: 'key-1', assignment_id: 'job-2' })),
    /key-1 made more than one job/,
  ],
  [
    'one job from two keys',
    plus(at(20, { kind: 'created', key: 'key-2', assignment_id: ID })),
    /more than one key/,
  ],
  ['a job that nobody made', without('created'), /no creation of it was accepted/],
  ['a message before the request', edit('received', { begun: -5, ended: -4 }), /before it was asked for/],
  [
    'a cancel that did not count',
    plus(at(3, { kind: 'canceled', assignment_id: ID })),
    /was canceled by a person/,
  ],
  [
    'a canceled job with an insight',
    (all) =>
      all.map((e) =>
        e.kind === 'seen' && e.begun === 8 ? { ...e, job: { ...DONE, job_status: 'canceled' } } : e,
      ),
    /canceled and has an insight/,
  ],
  [
    'two jobs that share an insight',
    plus(
      at(1, { kind: 'created', key: 'key-2', assignment_id: 'job-2' }),
      at(20, { kind: 'insight', assignment_id: 'job-2', insight_id: 'insight-1', digest: 'a' }),
    ),
    /more than one job/,
  ],
]

for (const [name, change, fault] of BROKEN) {
  test(`finds ${name}`, () => assert.match(faultsOf(change), fault))
}
