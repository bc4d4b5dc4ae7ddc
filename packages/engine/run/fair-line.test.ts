import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { FairLine } from './fair-line.ts'

interface Item {
  owner: string
  number: number
}

function take(line: FairLine<Item>): Item | null {
  const next = line.next()
  if (next) line.take(next.owner, next.item)
  return next?.item ?? null
}

test('owners take turns, each with its items in order', () => {
  const line = new FairLine<Item>()
  for (const number of [1, 2, 3]) line.add('many', { owner: 'many', number })
  for (const owner of ['one', 'other']) line.add(owner, { owner, number: 1 })
  const order = Array.from({ length: 5 }, () => take(line)!)
  assert.deepEqual(
    order.map(({ owner, number }) => `${owner} ${number}`),
    ['many 1', 'one 1', 'other 1', 'many 2', 'many 3'],
  )
  assert.deepEqual([take(line), line.length], [null, 0])
})

test('who was served last is behind one that comes later, also with an item that came before', () => {
  const line = new FairLine<Item>()
  line.add('many', { owner: 'many', number: 1 })
  take(line)
  line.add('many', { owner: 'many', number: 2 })
  line.add('one', { owner: 'one', number: 1 })
  assert.equal(take(line)?.owner, 'one')
})

test('owners that may not be served now are passed over and keep their turn', () => {
  const line = new FairLine<Item>()
  for (const owner of ['held', 'free']) line.add(owner, { owner, number: 1 })
  const next = line.next(({ owner }) => owner !== 'held')
  assert.equal(next?.owner, 'free')
  line.add('later', { owner: 'later', number: 1 })
  assert.equal(take(line)?.owner, 'held')
})

test('no owner waits for more than one item of each other owner, whatever comes and leaves when', () => {
  const owner = fc.constantFrom('a', 'b', 'c', 'd')
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), owner }),
    fc.record({ kind: fc.constant('remove' as const), owner }),
    fc.constant({ kind: 'take' as const }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const line = new FairLine<Item>()
      const model = new Map<string, Item[]>()
      /** Of each owner that waits: who was served since it was, or since it came. */
      const before = new Map<string, string[]>()
      let number = 0
      for (const one of steps) {
        const own = one.kind === 'take' ? [] : (model.get(one.owner) ?? [])
        if (one.kind === 'add') {
          const item = { owner: one.owner, number: number++ }
          line.add(one.owner, item)
          model.set(one.owner, [...own, item])
          if (own.length === 0) before.set(one.owner, [])
        } else if (one.kind === 'remove') {
          const last = own.at(-1)
          if (last) assert.ok(line.remove(one.owner, last))
          model.set(one.owner, own.slice(0, -1))
        } else {
          const item = take(line)
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
          line.length,
          [...model.values()].reduce((sum, items) => sum + items.length, 0),
        )
      }
    }),
  )
})
