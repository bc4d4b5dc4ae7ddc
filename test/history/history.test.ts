import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDING_EVENTS } from '@assay/model/event'
import { checkHistory, type Entry, type SeenJob, type SeenMove, type Subscription } from './history.ts'

const ID = 'job-1'
const QUEUED: SeenJob = { job_status: 'queued', attempt: 0, insight_id: null, error: null, finished_at: null }
const DONE: SeenJob = {
  job_status: 'completed',
  attempt: 1,
  insight_id: 'insight-1',
  error: null,
  finished_at: '2026-01-01T00:00:00.000Z',
}

const MOVES: SeenMove[] = [
  { job_status: 'draft', attempt: 0 },
  { job_status: 'queued', attempt: 0 },
  { job_status: 'active', attempt: 1 },
  { job_status: 'executing', attempt: 1 },
  { job_status: 'completed', attempt: 1 },
]
/** The moves of a job that lost one attempt. */
const LONGER: SeenMove[] = [
  ...MOVES.slice(0, 3),
  { job_status: 'queued', attempt: 1 },
  ...[2, 3, 4].map((index) => ({ ...MOVES[index]!, attempt: 2 })),
]
const HOOK: Subscription = { receiver: 'hook', events: ENDING_EVENTS, presence_name: 'hook' }

function at<E extends Omit<Entry, 'begun' | 'ended'>>(
  begun: number,
  entry: E,
): E & { begun: number; ended: number } {
  return { ...entry, begun, ended: begun + 1 }
}

/** Returns the entries of a sound job, from its creation to its delivery. */
function sound(): Entry[] {
  const event = { event_id: 'event-1', type: 'job.completed', assignment_id: ID, insight_id: 'insight-1' }
  return [
    at(0, { kind: 'asked', key: 'key-1', presence_name: null }),
    at(0, { kind: 'created', key: 'key-1', assignment_id: ID }),
    at(2, { kind: 'ran', assignment_id: ID }),
    at(4, { kind: 'seen', assignment_id: ID, job: QUEUED }),
    at(6, { kind: 'seen', assignment_id: ID, job: { ...QUEUED, job_status: 'executing', attempt: 1 } }),
    at(8, { kind: 'seen', assignment_id: ID, job: DONE }),
    at(10, { kind: 'insight', assignment_id: ID, insight_id: 'insight-1', digest: 'a' }),
    at(12, { kind: 'received', receiver: 'hook', ...event, verified: true, digest: 'b' }),
    at(9, { kind: 'settled', assignment_id: ID, attempt: 1, node: 'one', outcome: 'completed' }),
    at(14, { kind: 'event', ...event }),
    at(15, { kind: 'event', ...event, event_id: 'event-q', type: 'job.queued', insight_id: null }),
    at(16, { kind: 'event', ...event, event_id: 'event-s', type: 'job.started', insight_id: null }),
    at(17, { kind: 'kept', assignment_id: ID, key: 'key-1' }),
    at(18, { kind: 'moves', assignment_id: ID, moves: MOVES }),
  ] as Entry[]
}

function faultsOf(change: (entries: Entry[]) => Entry[]): string {
  return checkHistory(change(sound()), { subscriptions: [HOOK] }).join('\n')
}

/** Returns the first entry of a kind. */
const the = (kind: Entry['kind']): Entry => sound().find((entry) => entry.kind === kind)!

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
    at(13, { ...the('received'), kind: 'received' }),
    at(5, { kind: 'seen', assignment_id: ID, job: { ...QUEUED, job_status: 'active', attempt: 1 } }),
  )
  assert.equal(faultsOf(again), '')
})

test('a longer history is accepted: a lost attempt, a deletion, a creation whose answer was lost', () => {
  const lost = edit('moves', { moves: LONGER })
  const end = { ...DONE, attempt: 2 }
  const longer = (entries: Entry[]): Entry[] =>
    lost(entries)
      .filter((e) => !(e.kind === 'seen' && e.begun === 6))
      .map((e) => (e.kind === 'seen' && e.begun === 8 ? { ...e, job: end } : e))
      .map((e) => (e.kind === 'settled' ? { ...e, attempt: 2 } : e))
  const told = plus(at(15, { ...the('event'), event_id: 'event-r', type: 'job.queued', insight_id: null }))
  assert.equal(
    faultsOf((entries) => told(longer(entries))),
    '',
  )
  const gone = plus(
    at(30, { kind: 'deleting', assignment_id: ID }),
    at(30, { kind: 'deleted', assignment_id: ID }),
    at(32, { kind: 'missing', assignment_id: ID }),
  )
  assert.equal(
    faultsOf((entries) => gone(without('received')(without('insight')(entries)))),
    '',
  )
  const unknown = plus(
    at(1, { kind: 'asked', key: 'key-2', presence_name: null }),
    at(40, { kind: 'kept', key: 'key-2', assignment_id: 'job-2' }),
  )
  assert.equal(faultsOf(unknown), '')
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
  ['an end with two events', plus(at(20, { ...the('event'), event_id: 'event-2' })), /2 events of its end/],
  [
    'an event that says something else',
    (all) => all.map((e) => (e.kind === 'event' && e.begun === 14 ? { ...e, type: 'job.failed' } : e)),
    /its event says job\.failed/,
  ],
  ['an event that nobody got', without('received'), /never got job\.completed/],
  ['a message under another id', edit('received', { event_id: 'event-9' }), /which there is not/],
  ['a wrong signature', edit('received', { verified: false }), /wrong signature/],
  ['a repeat with other bytes', plus(at(20, { ...the('received'), digest: 'z' })), /different bytes/],
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
  [
    'a job that nobody made',
    (all) => without('kept')(without('created')(all)),
    /no creation of it was accepted/,
  ],
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
      at(1, { kind: 'asked', key: 'key-2', presence_name: null }),
      at(1, { kind: 'created', key: 'key-2', assignment_id: 'job-2' }),
      at(20, { kind: 'insight', assignment_id: 'job-2', insight_id: 'insight-1', digest: 'a' }),
    ),
    /more than one job/,
  ],
]

BROKEN.push(
  [
    'a creation without a key that made two jobs, though nobody got the second answer',
    plus(at(20, { kind: 'kept', key: 'key-1', assignment_id: 'job-2' })),
    /key-1 made more than one job/,
  ],
  [
    'a job under a key that nobody sent',
    plus(at(20, { kind: 'kept', key: 'key-7', assignment_id: 'job-7' })),
    /which nobody sent/,
  ],
  [
    'an accepted job that cannot be found',
    plus(at(20, { kind: 'missing', assignment_id: ID })),
    /could not be found/,
  ],
  [
    'a job that is missing before anybody asked to delete it',
    plus(at(20, { kind: 'missing', assignment_id: ID }), at(30, { kind: 'deleting', assignment_id: ID })),
    /could not be found/,
  ],
  ['an accepted job that is in no list', edit('kept', { assignment_id: 'job-2' }), /not in the list of jobs/],
  [
    'a job that is back after it was deleted',
    plus(
      at(20, { kind: 'deleting', assignment_id: ID }),
      at(20, { kind: 'deleted', assignment_id: ID }),
      at(30, { kind: 'seen', assignment_id: ID, job: DONE }),
    ),
    /seen after it was deleted/,
  ],
  [
    'an end that two attempts have written',
    plus(at(9, { kind: 'settled', assignment_id: ID, attempt: 2, node: 'two', outcome: 'completed' })),
    /ended by 2 attempts/,
  ],
  [
    'an end that an older attempt has written',
    edit('settled', { attempt: 0 }),
    /ended by attempt 0 and shows 1/,
  ],
  [
    'an attempt that ran on two nodes',
    plus(at(9, { kind: 'settled', assignment_id: ID, attempt: 1, node: 'two', outcome: 'lost' })),
    /attempt 1 ran on one and two/,
  ],
  [
    'an attempt that began before the one before it was given back',
    edit('moves', { moves: [...MOVES.slice(0, 3), { job_status: 'active', attempt: 2 }, ...MOVES.slice(3)] }),
    /moved from active to active/,
  ],
  [
    'an attempt that was not counted',
    edit('moves', { moves: LONGER.map((move) => ({ ...move, attempt: Math.min(move.attempt, 1) })) }),
    /became active with attempt 1 after 1/,
  ],
  [
    'a final state that was left again',
    edit('moves', { moves: [...MOVES, { job_status: 'canceled', attempt: 1 }] }),
    /moved from completed to canceled/,
  ],
  ['moves without an end', edit('moves', { moves: MOVES.slice(0, 4) }), /its moves end as nothing/],
  [
    'a state that it never moved to',
    edit('moves', { moves: MOVES.filter((move) => move.job_status !== 'executing') }),
    /never moved there/,
  ],
  [
    'a start without its event',
    (all) => all.filter((e) => !(e.kind === 'event' && e.type === 'job.started')),
    /executing 1 times and has 0 events/,
  ],
  [
    'a message that is for another',
    (all) => all.map((e) => (e.kind === 'asked' ? { ...e, presence_name: 'someone' } : e)),
    /which is not for it/,
  ],
)

for (const [name, change, fault] of BROKEN) {
  test(`finds ${name}`, () => assert.match(faultsOf(change), fault))
}
