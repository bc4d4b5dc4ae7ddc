import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { createPlaces, type Lane, PATIENCE_MS, type Places, STALLED_MS } from './places.ts'

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Asks, and notes what becomes of it. */
function ask(places: Places, lane: Lane) {
  const asked = {
    given: false,
    refused: null as Error | null,
    giveBack: (_answered?: boolean): void => undefined,
  }
  places.take(lane).then(
    (giveBack) => {
      asked.given = true
      asked.giveBack = (answered) => giveBack(answered ?? true)
    },
    (error: Error) => (asked.refused = error),
  )
  return asked
}

/** `count` of them that are given theirs, each held for `ms` before the next. */
async function serve(places: Places, clock: FakeClock, lane: Lane, count: number, ms: number): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) {
    const one = ask(places, lane)
    await settled()
    clock.advance(ms)
    one.giveBack()
  }
}

test('a place that is given back goes to who has waited longest', async () => {
  const places = createPlaces(3, new FakeClock())
  const all = [1, 2, 3].map(() => ask(places, 'write'))
  await settled()
  assert.deepEqual(
    all.map(({ given }) => given),
    [true, false, false],
  )
  assert.equal(places.waiting(), 2)
  all[0]!.giveBack()
  await settled()
  assert.deepEqual(
    all.map(({ given }) => given),
    [true, true, false],
  )
})

test('however many write, a read is given a place at once, and the other way round', async () => {
  for (const [many, one] of [
    ['write', 'read'],
    ['read', 'write'],
  ] as const) {
    const places = createPlaces(10, new FakeClock())
    const crowd = Array.from({ length: 500 }, () => ask(places, many))
    const other = ask(places, one)
    await settled()
    assert.equal(crowd.filter(({ given }) => given).length, 8)
    assert.ok(other.given)
  }
})

test('work that goes on is waited for, however slow it is', async () => {
  const clock = new FakeClock()
  const places = createPlaces(3, clock)
  const all = Array.from({ length: 10 }, () => ask(places, 'write'))
  for (const one of all) {
    await settled()
    assert.ok(one.given && !one.refused)
    clock.advance(STALLED_MS - 1)
    await settled()
    one.giveBack()
  }
  assert.equal(places.waiting(), 0)
})

test('who waits while nothing is answered is refused after seconds, and who comes later has its own', async () => {
  const clock = new FakeClock()
  const places = createPlaces(3, clock)
  const holder = ask(places, 'write')
  const early = ask(places, 'write')
  clock.advance(STALLED_MS - 1000)
  await settled()
  const late = ask(places, 'write')
  // A connection that breaks is no answer.
  holder.giveBack(false)
  await settled()
  assert.ok(early.given, 'it is tried')
  clock.advance(1000)
  await settled()
  assert.equal(late.refused, null)
  clock.advance(STALLED_MS)
  await settled()
  assert.match(String(late.refused), /has answered nothing for 5 s/)
  assert.equal((late.refused as { retryAfter?: number } | null)?.retryAfter, 5)
})

test('who could not have a place in time is told so at once, and when to come again', async () => {
  const clock = new FakeClock()
  const places = createPlaces(3, clock)
  await serve(places, clock, 'write', 200, 1000)
  const holder = ask(places, 'write')
  const all = Array.from({ length: 30 }, () => ask(places, 'write'))
  await settled()
  assert.ok(holder.given)
  const refused = all.filter(({ refused }) => refused)
  assert.equal(all.indexOf(refused[0]!), PATIENCE_MS / 1000 + 1)
  assert.match(String(refused[0]!.refused), /come again later/)
  assert.equal((refused[0]!.refused as { retryAfter?: number } | null)?.retryAfter, 1)
  assert.equal(ask(places, 'read').refused, null, 'reads are another matter')
})
