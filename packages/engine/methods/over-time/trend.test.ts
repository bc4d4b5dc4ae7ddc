import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeOf, relation } from '../relation-fixture.ts'
import { trend } from './trend.ts'

const NOISE = Array.from({ length: 6 }, (_, nth) => `(hash(i, ${nth}) % 1000003) / 1000003.0`).join(' + ')
const told = async (line: string) =>
  outcomeOf(
    trend,
    await relation(
      `select date '2024-01-01' + i::int as t, ${line} + 5 * (${NOISE}) as orders from range(300) r(i)`,
    ),
    { time: 't', value: 'orders' },
  )

test('a rise that ends in the middle says how far it came in either half, and a straight one says nothing of that', async () => {
  const ended = await told('least(i, 150)')
  assert.equal(ended.direction, 'increasing')
  assert.deepEqual(
    ended.caveats.map(({ code }) => code),
    ['form_wrong'],
  )
  assert.match(
    ended.summary,
    /The rise was not even: until 30 May 2024 orders rose by about 1[45]\d, and since then (?:rose |fell )?by about \d(?:\.\d+)?\.$/u,
  )
  const straight = await told('i')
  assert.deepEqual([straight.direction, straight.caveats], ['increasing', []])
})
