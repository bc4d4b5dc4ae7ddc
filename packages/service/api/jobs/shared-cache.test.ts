import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { createSharedCache } from './shared-cache.ts'

const FOR_EVER = Number.POSITIVE_INFINITY

function counted() {
  const clock = new FakeClock()
  const kept = createSharedCache<string>(() => clock.monotonic())
  const made: string[] = []
  const of = (key: string, size = 1, keep_ms = FOR_EVER): Promise<string> =>
    kept.of(key, async () => {
      made.push(key)
      return { value: `${key}${made.length}`, size, keep_ms }
    })
  return { clock, made, of, kept }
}

test('those who ask at once share one making, and later ones get what was kept', async () => {
  const { made, of } = counted()
  assert.deepEqual(await Promise.all([of('a'), of('a'), of('a')]), ['a1', 'a1', 'a1'])
  assert.equal(await of('a'), 'a1')
  assert.deepEqual(made, ['a'])
})

test('tells of a making that is under way, and no more once it has ended or failed', async () => {
  const { made, of, kept } = counted()
  const one = of('a')
  assert.equal(await kept.coming('a'), 'a1')
  assert.equal(kept.coming('a', true), undefined, 'those apart make their own')
  assert.equal(await one, 'a1')
  assert.equal(kept.coming('a'), undefined)
  await assert.rejects(kept.of('b', () => Promise.reject(new Error('no'))))
  assert.equal(kept.coming('b'), undefined)
  assert.deepEqual(made, ['a'])
})

test('the least recently used goes first, by number and by characters', async () => {
  const { made, of } = counted()
  for (let count = 0; count < 64; count += 1) await of(`k${count}`)
  await of('k0')
  await of('one more')
  made.length = 0
  for (const key of ['k0', 'one more', 'k63', 'k1']) await of(key)
  assert.deepEqual(made, ['k1'])
  await of('large', 31_999_990)
  made.length = 0
  for (const key of ['large', 'k1', 'k3']) await of(key)
  assert.deepEqual(made, ['k3'])
  await of('larger than all', 32_000_001)
  made.length = 0
  await of('larger than all', 32_000_001)
  assert.deepEqual(made, ['larger than all'])
})

test('what may be kept for a while is made again after it, and what may not at once', async () => {
  const { clock, made, of } = counted()
  await of('a', 1, 1000)
  clock.advance(999)
  assert.equal(await of('a'), 'a1')
  clock.advance(1)
  assert.equal(await of('a'), 'a2')
  await of('b', 1, 0)
  await of('b', 1, 0)
  assert.deepEqual(made, ['a', 'a', 'b', 'b'])
})

test('a making that fails is told to all who asked meanwhile, and is made again for the next', async () => {
  const kept = createSharedCache<string>(() => 0)
  const fails = () => Promise.reject(new Error('busy'))
  const asked = [kept.of('a', fails), kept.of('a', fails)]
  for (const one of asked) await assert.rejects(one, /busy/)
  assert.equal(await kept.of('a', async () => ({ value: 'made', size: 1, keep_ms: FOR_EVER })), 'made')
})

test('those apart are refused for their own reasons only, and all get what either made', async () => {
  const kept = createSharedCache<string>(() => 0)
  const made = (value: string) => async () => ({ value, size: 1, keep_ms: FOR_EVER })
  const refused = kept.of('a', () => Promise.reject(new Error('busy')))
  assert.equal(await kept.of('a', made('page'), true), 'page')
  await assert.rejects(refused, /busy/)
  assert.equal(await kept.of('a', made('another')), 'page')
  assert.equal(kept.get('a'), 'page')
})
