/**
 * Runs every method on each table with a sixth of its options, by turns. `npm run proof -- survival` runs all of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { headlineFaults } from '../verdicts/headline-fixture.ts'
import { METHODS } from './catalog.ts'
import { outcomeOf } from './relation-fixture.ts'
import {
  asked,
  assertAllSurvive,
  assertRandomSurvive,
  assertSound,
  extremes,
  remembering,
  rows,
  taken,
} from './survival-fixture.ts'

for (const [turn, [title, make]] of Object.entries(extremes).entries()) {
  test(`every method answers ${title} without NaN`, async () => {
    await assertAllSurvive(await make(), title, turn)
  })
}

test('every method answers whatever numbers, names, times and units come', () =>
  assertRandomSurvive(6, 20_240_115, (run) => run))

test('every method answers numbers as times', async () => {
  const table = remembering(await rows('80', 'sin(k) * 3 + k', 'cos(k)', '1900 + k'))
  for (const [name, method] of Object.entries(METHODS)) {
    for (const options of asked[name]!) {
      const numeric =
        'time' in options && ['compare', 'drivers', 'cohorts'].includes(name)
          ? { ...options, [name === 'cohorts' ? 'every' : 'period']: 10 }
          : options
      assertSound(await outcomeOf(method, table, numeric), name)
    }
  }
})

const LONG: Record<string, string> = {
  t: 'paid_at',
  v: 'net_price',
  w: 'unit_cost',
  g: 'sales_region',
  e: 'test_arm',
  s: 'was_paid',
  i: 'user_id',
}

/** Returns the options with the long names of the columns. */
function renamed(value: unknown): unknown {
  if (typeof value === 'string') return LONG[value] ?? value
  if (Array.isArray(value)) return value.map(renamed)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, renamed(part)]))
}

test('no headline holds a raw column name, a statistic or a sign, nor does what blockers and caveats say', async () => {
  const values = [
    '200 + 30 * sin(k) + k',
    '5 - k * k',
    'case when k < 90 then 10 else -40 end + k % 3',
    'k % 7',
  ]
  for (const [turn, value] of [...values, ...values].entries()) {
    const plain = await rows('150', value, 'cos(k) * 3 + k')
    const names = Object.entries(LONG).map(([short, long]) => `${short} as ${long}`)
    const made = await plain.query(`select count(*) as n from ${plain.relation}`)
    assert.equal(made[0]!.n, 150)
    const table = remembering({
      ...plain,
      relation: `(select ${names.join(', ')} from ${plain.relation})`,
      columns: plain.columns.map((column) => ({ ...column, name: LONG[column.name]! })),
    })
    for (const [name, method] of Object.entries(METHODS)) {
      for (const options of taken(name, turn)) {
        const outcome = await outcomeOf(method, table, renamed(options) as Record<string, unknown>)
        assert.deepEqual(headlineFaults(outcome), [], name)
        for (const { says } of [...outcome.blockers, ...outcome.caveats])
          assert.doesNotMatch(
            says.replaceAll(/"[^"]*"/gu, ''),
            /\b(z|p|F|n) [=<>]|p-value|\b[a-z]+_[a-z]+\b/u,
            `${name}: ${says}`,
          )
      }
    }
  }
})

test('every method gives the same answer to the same rows', async () => {
  const table = await rows('150', 'sin(k) * 10 + k % 7', 'cos(k) + k % 3')
  for (const [name, method] of Object.entries(METHODS)) {
    const options = asked[name]![0]!
    const [one, two] = [await outcomeOf(method, table, options), await outcomeOf(method, table, options)]
    assert.equal(JSON.stringify(one), JSON.stringify(two), name)
  }
})
