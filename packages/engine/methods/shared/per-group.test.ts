import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Errors } from 'typebox/value'
import { METHODS } from '../catalog.ts'
import { outcomeOf, relation } from '../relation-fixture.ts'
import { outcomeSchema } from './fields.ts'

const rows = (seg: string, n = 240) =>
  relation(
    `select date '2024-01-01' + k::int as t, (hash(k) % 100000) / 1000.0 as v, cos(k * 7) as w, 'g' || (k % 3) as g, ${seg} as seg from range(${n}) r(k)`,
  )
const SEGMENTS = "case when k % 12 = 0 then null when k % 2 = 0 then 'it''s' else 'z' end"

const asked: Record<string, Record<string, unknown>> = {
  describe: { value: 'v', by: 'seg' },
  trend: { time: 't', value: 'v', by: 'seg' },
  correlation: { values: ['v', 'w'], by: 'seg' },
  anova: { value: 'v', by: 'g', each: 'seg' },
  pareto: { value: 'w', by: 'g', each: 'seg' },
  profile: { by: 'seg' },
}

test('each value of a column gets its own outcome, of the fields that are described', async () => {
  const table = await rows(SEGMENTS)
  for (const [name, options] of Object.entries(asked)) {
    const method = METHODS[name]!
    const outcome = await outcomeOf(method, table, options)
    const groups = outcome.groups as { by: string; n: number; headline: string }[]
    assert.deepEqual(
      groups.map(({ by }) => by),
      ["it's", 'z'],
      name,
    )
    assert.deepEqual(
      groups.map(({ n }) => n),
      [100, 120],
      name,
    )
    const schema = outcomeSchema(method.fields, options)
    assert.deepEqual([...Errors(schema, JSON.parse(JSON.stringify(outcome)))], [], name)
    assert.match(outcome.summary, /20 rows without a value of seg are left out/)
  }
})

test('an outcome a group is that of the rows filtered in SQL', async () => {
  const options = { values: ['v', 'w'] }
  const whole = await outcomeOf(METHODS.correlation!, await rows(SEGMENTS), { ...options, by: 'seg' })
  const part = await relation(
    "select date '2024-01-01' + k::int as t, (hash(k) % 100000) / 1000.0 as v, cos(k * 7) as w from range(240) r(k) where k % 2 = 1",
  )
  const alone = await outcomeOf(METHODS.correlation!, part, options)
  const groups = whole.groups as { pairs: { p: number }[] }[]
  assert.equal(groups[1]!.pairs[0]!.p, (alone.pairs as { p: number }[])[0]!.p)
})

test('tests of many groups of noise are corrected, so that none is claimed by chance', async () => {
  const table = await rows("'s' || (k // 60)", 2400)
  const outcome = await outcomeOf(METHODS.compare_groups!, table, { value: 'v', group: 'g', by: 'seg' })
  const groups = outcome.groups as { p: number; p_adjusted: number }[]
  assert.equal(groups.length, 40)
  assert.ok(Math.min(...groups.map(({ p }) => p)) < 0.05, 'chance alone makes one look like a finding')
  assert.equal(outcome.grade, 'unclear')
  assert.equal(outcome.headline, 'None of the 40 values of seg gives a clear answer.')
  assert.ok(outcome.caveats.some(({ code }) => code === 'many_tests'))
})

test('the doubts of groups are reported once for each kind', async () => {
  const by = (rows: string, sql: string) =>
    relation(`select date '2024-01-01' + k::int as t, ${sql} as v, ${rows} as seg from range(240) r(k)`)
  const days = "case when k % 3 = 0 then 'a' when k % 3 = 1 then 'b' else 'c' end"
  const noise = '(hash(k) % 1000) / 100.0'
  const twice = await relation(
    `select t, v, seg from (select date '2024-01-01' + (k // 3)::int as t, ${noise} as v, ${days} as seg from range(240) r(k)) union all select date '2024-01-01', 3, 'b'`,
  )
  const shared = await outcomeOf(METHODS.trend!, twice, { time: 't', value: 'v', by: 'seg' })
  const told = shared.caveats.find(({ code }) => code === 'times_shared')
  assert.equal(told?.says, 'Of "b": 1 row shares its time with another; their mean is taken.')
  assert.match(shared.summary, /Of "b": 1 row shares its time with another/u)
  const gaps = await outcomeOf(METHODS.trend!, await by(days, noise), {
    time: 't',
    value: 'v',
    by: 'seg',
  })
  const codes = gaps.caveats.map(({ code }) => code)
  assert.deepEqual(codes, [...new Set(codes)], 'each kind once')
  const groups = gaps.groups as { caveats: { code: string; says: string }[] }[]
  for (const { caveats } of groups) for (const { code } of caveats) assert.ok(codes.includes(code), code)
})

test('of too many groups the largest are reported, with the number left out', async () => {
  const many = await rows("case when k < 20 then 'z' else 's' || k end")
  const told = await outcomeOf(METHODS.describe!, many, { value: 'v', by: 'seg' })
  const kept = (told.groups as { by: string; n: number }[]).map(({ by, n }) => [by, n])
  assert.deepEqual([kept.length, kept.at(-1)], [100, ['z', 20]])
  assert.ok(
    told.caveats.some(
      ({ code, says }) =>
        code === 'rows_left_out' &&
        says ===
          'Only the 100 of 221 values of seg with the most rows are told of; 121 rows of the others are left out.',
    ),
  )
  const none = await outcomeOf(METHODS.describe!, await rows('null::varchar'), { value: 'v', by: 'seg' })
  assert.deepEqual([none.grade, none.blockers[0]!.code], ['withheld', 'too_few'])
})

test('the code of what a group lacks stands for the whole, also where its headline says it', async () => {
  const table = await relation("select 'g' || (k % 2) as g, 7 + k % 2 as v, k % 2 as s from range(40) r(k)")
  const told = await outcomeOf(METHODS.describe!, table, { value: 'v', by: 'g' })
  assert.deepEqual(
    told.caveats.map(({ code }) => code),
    ['constant'],
  )
  assert.equal(
    told.summary,
    '2 values of g are described one by one; "g0": Every value of v is 7. The same kind of doubt holds for "g1".',
  )
})
