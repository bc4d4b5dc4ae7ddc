import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { FairQueue } from './fair-queue.ts'

interface Item {
  owner: string
  number: number
}

function take(queue: FairQueue<Item>): Item | null {
  const next = queue.next()
  if (next) queue.take(next.owner, next.item)
  return next?.item ?? null
}

test('owners are served in turn, each with its items in order', () => {
  const queue = new FairQueue<Item>()
  for (const number of [1, 2, 3]) queue.add('many', { owner: 'many', number })
  for (const owner of ['one', 'other']) queue.add(owner, { owner, number: 1 })
  const order = Array.from({ length: 5 }, () => take(queue)!)
  assert.deepEqual(
    order.map(({ owner, number }) => `${owner} ${number}`),
    ['many 1', 'one 1', 'other 1', 'many 2', 'many 3'],
  )
  assert.deepEqual([take(queue), queue.length], [null, 0])
})

test('the owner served last goes behind one that comes later, even if its own item came first', () => {
  const queue = new FairQueue<Item>()
  queue.add('many', { owner: 'many', number: 1 })
  take(queue)
  queue.add('many', { owner: 'many', number: 2 })
  queue.add('one', { owner: 'one', number: 1 })
  assert.equal(take(queue)?.owner, 'one')
})

test('owners that may not be served now are passed over and keep their position', () => {
  const queue = new FairQueue<Item>()
  for (const owner of ['held', 'free']) queue.add(owner, { owner, number: 1 })
  const next = queue.next(({ owner }) => owner !== 'held')
  assert.equal(next?.owner, 'free')
  queue.add('later', { owner: 'later', number: 1 })
  assert.equal(take(queue)?.owner, 'held')
})

test('no owner waits for more than one item of each other owner under any order of arrivals and removals', () => {
  const owner = fc.constantFrom('a', 'b', 'c', 'd')
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), owner }),
    fc.record({ kind: fc.constant('remove' as const), owner }),
    fc.constant({ kind: 'take' as const }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new FairQueue<Item>()
      const model = new Map<string, Item[]>()
      /** By waiting owner: who was served since it was served, or since it arrived. */
      const before = new Map<string, string[]>()
      let number = 0
      for (const one of steps) {
        const own = one.kind === 'take' ? [] : (model.get(one.owner) ?? [])
        if (one.kind === 'add') {
          const item = { owner: one.owner, number: number++ }
          queue.add(one.owner, item)
          model.set(one.owner, [...own, item])
          if (own.length === 0) before.set(one.owner, [])
        } else if (one.kind === 'remove') {
          const last = own.at(-1)
          if (last) assert.ok(queue.remove(one.owner, last))
          model.set(one.owner, own.slice(0, -1))
        } else {
          const item = take(queue)
          const waits = [...model].filter(([, items]) => items.length > 0)
          assert.equal(item === null, waits.length === 0)
          if (!item) continue
          const [first, ...rest] = model.get(item.owner)!
          assert.equal(item, first)
          model.set(item.owner, rest)
          before.set(item.owner, [])
          for (const [other, items] of model) {
            if (other === item.owner || items.length === 0) continue
            const served = before.get(other)!
            assert.ok(!served.includes(item.owner), `${other} waited for two of ${item.owner}`)
            served.push(item.owner)
          }
        }
        assert.equal(
          queue.length,
          [...model.values()].reduce((sum, items) => sum + items.length, 0),
        )
      }
    }),
  )
})
