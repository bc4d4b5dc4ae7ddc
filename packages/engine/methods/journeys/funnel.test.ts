import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeOf, relation } from '../relation-fixture.ts'
import { funnel } from './funnel.ts'

const asked = { id: 'u', time: 't', event: 'e', steps: ['visit', 'buy'] }
const ask = async (sql: string, more: Record<string, unknown> = {}) =>
  outcomeOf(funnel, await relation(sql), { ...asked, ...more })
const counts = (outcome: Awaited<ReturnType<typeof ask>>) =>
  (outcome.steps as { n: number }[]).map(({ n }) => n)

test('any entry counts, not the first alone', async () => {
  // Of 300 ids, 150 buy soon after their first visit, and 98 of the others soon after a second one.
  const rows = `select u, 0 as t, 'visit' as e from range(300) r(u)
    union all select u, 100, 'buy' from range(150) r(u)
    union all select u, 1000, 'visit' from range(150, 248) r(u)
    union all select u, 1200, 'buy' from range(150, 248) r(u)
    union all select 999, 5000, 'other'`
  const found = await ask(rows, { window: 300 })
  assert.deepEqual(counts(found), [300, 248])
  assert.equal(found.grade, 'firm')
  assert.equal(found.headline, 'Of 300 that entered at "visit", 83 % reached "buy" within 300.')
})

test('entries whose window is not over are left out, and said', async () => {
  const rows = `select u, u * 10 as t, 'visit' as e from range(100) r(u)
    union all select u, u * 10 + 50, 'buy' from range(50) r(u) union all select 0, 1000, 'end'`
  const found = await ask(rows, { window: 100 })
  assert.deepEqual(counts(found), [91, 50])
  assert.equal(found.unfinished, 9)
  assert.deepEqual(
    found.caveats.map(({ code }) => code),
    ['period_partial'],
  )
  const young = await ask(rows, { window: 5000 })
  assert.deepEqual(
    young.blockers.map(({ code }) => code),
    ['too_few'],
  )
})

test('a step that never occurs withholds the answer and names the nearest spelling', async () => {
  const rows = "select k // 2 as u, k as t, ['visit', 'checkout'][1 + k % 2] as e from range(40) r(k)"
  const found = await ask(rows, { steps: ['visit', 'chekout'] })
  assert.equal(found.grade, 'withheld')
  assert.equal(found.headline, 'The step "chekout" never occurs in the data. Did you mean "checkout"?')
  assert.doesNotMatch(found.summary, /pass/)
  const far = await ask(rows, { steps: ['visit', 'paid'] })
  assert.match(far.headline, /The column "e" has "checkout" and "visit"\./)
})

test('the largest loss is named where it is more than chance', async () => {
  const rows = (second: number, third: number) =>
    `select u, 0 as t, 'a' as e from range(100) r(u) union all select u, 1, 'b' from range(${second}) r(u)
     union all select u, 2, 'c' from range(${third}) r(u)`
  const steps = ['a', 'b', 'c']
  const clear = await ask(rows(90, 20), { steps })
  assert.match(clear.headline, /the hardest step is clearly from "b" to "c", which 22 % pass\.$/)
  const even = await ask(rows(50, 26), { steps })
  assert.equal(even.headline, 'Of 100 that entered at "a", 26 % reached "c".')
})
