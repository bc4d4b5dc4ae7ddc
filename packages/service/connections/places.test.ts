import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPlaces } from './places.ts'

const never = new AbortController().signal

test('as many as there are places go at once, the others in their order', async () => {
  const places = createPlaces()
  const order: string[] = []
  const first = await places.take('a', 2, 60_000, never)
  const second = await places.take('a', 2, 60_000, never)
  const third = places.take('a', 2, 60_000, never).then((leave) => {
    order.push('third')
    return leave
  })
  const fourth = places.take('a', 2, 60_000, never).then((leave) => {
    order.push('fourth')
    return leave
  })
  assert.ok(await places.take('b', 1, 60_000, never), 'another key has places of its own')
  first!()
  first!()
  ;(await third)!()
  ;(await fourth)!()
  second!()
  assert.deepEqual(order, ['third', 'fourth'])
  assert.ok(await places.take('a', 1, 0, never), 'all are free again')
})

test('who waits too long, or is called off, gets none and takes none away', async () => {
  const places = createPlaces()
  const leave = await places.take('a', 1, 60_000, never)
  assert.equal(await places.take('a', 1, 1, never), null)
  const stop = new AbortController()
  const waiting = places.take('a', 1, 60_000, stop.signal)
  stop.abort()
  assert.equal(await waiting, null)
  leave!()
  assert.ok(await places.take('a', 1, 0, never))
})
