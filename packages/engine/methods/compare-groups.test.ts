import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalQuantile } from '../numeric/distributions.ts'
import { classicAnova, welchAnova } from '../numeric/tests/means.ts'
import { anova } from './anova.ts'
import { compareGroups } from './compare-groups.ts'
import { columnsOf, outcomeOf, relation } from './relation-fixture.ts'
import { MethodError } from './shared/method.ts'
import { chanceOf } from './shared/multiplicity.ts'

const PLANT = {
  ctrl: [4.17, 5.58, 5.18, 6.11, 4.5, 4.61, 5.17, 4.53, 5.33, 5.14],
  trt1: [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
  trt2: [6.31, 5.12, 5.54, 5.5, 5.37, 5.29, 4.92, 6.15, 5.8, 5.26],
}

const table = (groups: Record<string, number[]>) =>
  columnsOf({
    v: Object.values(groups).flat(),
    g: Object.entries(groups).flatMap(([name, values]) => values.map(() => name)),
    u: Object.values(groups).flatMap((values) => values.map((_, index) => index)),
  })
const ask = async (groups: Record<string, number[]>, options: Record<string, unknown> = {}) =>
  outcomeOf(compareGroups, await table(groups), { value: 'v', group: 'g', ...options })
const close = (a: unknown, b: number) =>
  assert.ok(Math.abs((a as number) - b) < 1e-9 * Math.abs(b), `${String(a)} is not ${b}`)

/** Returns a generator of normal values in an order of chance, the same in every run. */
function noise(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return normalQuantile(state / 2_147_483_647)
  }
}

test('groups that look normal are compared by means, and the sentence names no statistic', async () => {
  const found = await ask(PLANT)
  assert.equal(found.test, 'welch_anova')
  // R: oneway.test(weight ~ group, PlantGrowth): F = 5.181, denom df = 17.128, p-value = 0.01739.
  close(found.statistic, 5.180972408113189)
  close(found.p, 0.01739282149016994)
  assert.equal(found.grade, 'likely')
  assert.equal(
    found.headline,
    'There is probably a difference in v between the 3 groups: highest in g "trt2" (on average 5.53), lowest in g "trt1" (4.66).',
  )
  assert.match(String(found.reason), /every group may be normal/)
  assert.match(found.evidence, /2 and 17\.1 degrees of freedom/)
  assert.equal((found.pairs as unknown[]).length, 3)
})

test('few skewed values are compared by ranks, and the reason is told', async () => {
  const skewed = { a: [1, 1.1, 1.2, 1.3, 1.4, 1.5, 60], b: [5, 5.1, 5.3, 5.2, 5.6, 5.8, 900] }
  const found = await ask(skewed)
  assert.equal(found.test, 'mann_whitney')
  assert.match(String(found.reason), /far from normal/)
  assert.match(
    found.headline,
    /^V is \w+ higher in g "b" than in g "a"; the middle value is 5\.3 against 1\.3\.$/,
  )
})

test('a large skewed group is compared by its mean', async () => {
  const random = noise(11)
  const values = (shift: number) => Array.from({ length: 400 }, () => Math.exp(random() / 2) + shift)
  assert.equal((await ask({ a: values(0), b: values(0.3) })).test, 'welch')
})

test('unequal spreads do not make a difference of means', () => {
  const random = noise(5)
  const sample = (n: number, sd: number) => {
    const values = Array.from({ length: n }, () => sd * random())
    const mean = values.reduce((sum, value) => sum + value, 0) / n
    return { n, mean, squares: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) }
  }
  const runs = 2000
  let [classic, welch] = [0, 0]
  for (let run = 0; run < runs; run++) {
    const samples = [sample(10, 4), sample(80, 1), sample(80, 1)]
    if (classicAnova(samples).p < 0.05) classic++
    if (welchAnova(samples).p < 0.05) welch++
  }
  assert.ok(classic / runs > 0.3, `classic ${classic / runs}`)
  assert.ok(welch / runs < 0.07, `welch ${welch / runs}`)
})

test('pairs are compared within their units', async () => {
  const before = [1.83, 0.5, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.3]
  const after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
  const auto = await ask({ before, after }, { paired: 'u' })
  assert.equal(auto.test, 'paired_t')
  close(auto.p, 0.016176627434908088)
  assert.match(
    auto.headline,
    /^V is probably higher in g "before" than in g "after", by about 0\.43 on average\.$/,
  )
  const ranks = await ask({ before, after }, { paired: 'u', test: 'signed_rank' })
  close(ranks.p, 0.0390625)
  const lacking = await ask({ before, after: after.slice(2) }, { paired: 'u' })
  assert.deepEqual(
    [lacking.n, lacking.caveats.map(({ code }) => code)],
    [7, ['one_row_decides', 'rows_left_out']],
  )
})

test('spread and distribution are compared where they are asked for', async () => {
  const random = noise(3)
  const values = (sd: number) => Array.from({ length: 60 }, () => sd * random())
  const groups = { calm: values(1), wild: values(4) }
  const spread = await ask(groups, { what: 'spread' })
  assert.equal(spread.test, 'brown_forsythe')
  assert.equal(spread.headline, 'V clearly varies more in g "wild" than in g "calm".')
  assert.equal((await ask(groups, { test: 'mood' })).what, 'spread')
  const shape = await ask(groups, { what: 'distribution' })
  assert.equal(shape.headline, 'V is clearly distributed differently between g "calm" and g "wild".')
  assert.deepEqual(
    (await ask(groups)).caveats.map(({ code }) => code),
    ['variances_unequal'],
  )
})

test('constants that differ do differ, and equal ones are nothing to compare', async () => {
  const many = (value: number) => Array.from({ length: 12 }, () => value)
  const apart = await ask({ a: many(1), b: many(2) })
  assert.equal(apart.grade, 'firm')
  assert.match(apart.headline, /higher in g "b" than in g "a"/)
  const same = await ask({ a: many(1), b: many(1) })
  assert.deepEqual([same.grade, same.blockers[0]!.code], ['withheld', 'constant'])
  const one = await ask({ a: many(1) })
  assert.equal(one.blockers[0]!.code, 'too_few')
})

test('options that do not go together are refused with what to write', async () => {
  const refused = async (options: Record<string, unknown>, says: RegExp) =>
    assert.rejects(ask(PLANT, options), (error) => error instanceof MethodError && says.test(error.message))
  await refused({ test: 'welch' }, /compares two groups, and v has 3/)
  await refused({ test: 'paired_t' }, /needs `paired`/)
  await refused({ test: 'welch', what: 'spread' }, /does not compare the spread/)
  await refused({ paired: 'u', what: 'spread' }, /in level only/)
})

test('of more than fifty groups those with the most rows are compared, and the others are told as left out', async () => {
  const many = await relation(
    "select hash(k) % 1000 / 10.0 as v, 'g' || least(k % 60, k % 57) as g from range(600) r(k)",
  )
  const told = await outcomeOf(compareGroups, many, { value: 'v', group: 'g' })
  assert.equal((told.groups as unknown[]).length, 50)
  assert.match(
    told.summary,
    /Only the 50 of 57 groups with the most rows are told of; \d+ rows of the others are left out\./u,
  )
})

test('one row that makes the difference is named, for averages, within units and for ranks', async () => {
  const random = noise(11)
  const values = (n: number) => Array.from({ length: n }, () => 10 + random())
  const [calm, whale] = [values(400), [...values(399), 90_000]]
  const means = await ask({ calm, whale }, { test: 'welch' })
  assert.deepEqual(
    means.caveats.filter(({ code }) => code === 'one_row_decides').map(({ says }) => says),
    ['Without one single row of "whale", at 90,000, the difference would point the other way.'],
  )
  const three = await ask({ calm, other: values(400), whale: [...values(399).map((v) => v + 0.3), 90] })
  const codes = ({ caveats }: typeof three) => caveats.map(({ code }) => code)
  assert.ok(!codes(await ask({ calm, other: values(400) })).includes('one_row_decides'))
  const before = values(12)
  const after = before.map((value, index) => value + 0.1 + 0.01 * random() + (index === 3 ? 500 : 0))
  const paired = await ask({ before, after }, { paired: 'u', test: 'paired_t' })
  assert.match(
    paired.caveats.find(({ code }) => code === 'one_row_decides')!.says,
    /^Without one single unit, which changed by 500, the difference would be 0\.[01]\d* in place of 41\.8\.$/,
  )
  const ranks = await ask({ a: [1, 2, 3, 4], b: [5, 6, 7, 8] }, { test: 'mann_whitney' })
  assert.equal(ranks.grade, 'likely')
  assert.match(ranks.caveats[0]!.says, /, there would be no clear difference\.$/)
})

test('two values a group say nothing of their spread, and few values carry a warning', async () => {
  const spread = await ask({ a: [1, 2], b: [1, 9] }, { what: 'spread' })
  assert.deepEqual([spread.grade, spread.blockers[0]!.code], ['withheld', 'too_few'])
  const few = await ask({ a: [1, 1.1, 0.9], b: [100, 101, 99] })
  assert.deepEqual([few.grade, few.caveats[0]!.code], ['firm', 'too_few'])
  assert.match(
    few.headline,
    /^V is clearly higher in g "b" than in g "a", by about 99 on average \(100 against 1\)\.$/,
  )
})

test('a difference that is certain but tiny shows that both sides are alike', async () => {
  const random = noise(5)
  const values = (more: number) => Array.from({ length: 40_000 }, () => 100 + more + random())
  const found = await ask({ a: values(0), b: values(0.05) })
  assert.equal(found.grade, 'firm')
  assert.match(found.headline, /by about 0\.0\d+ on average; both are about 100\.$/)
})

test('rows of users that nobody named are compared by user, whatever the test; the groups show all rows', async () => {
  const runs = 30
  const claims: Record<string, number> = {}
  for (let run = 0; run < runs; run++) {
    const table = await relation(
      `select if(u % 2 = 0, 'a', 'b') as g, 'u' || u as user_id, (hash(u * 7919 + ${run} * 104729) % 1000) / 100.0 + (hash(u * 31 + i * 37 + ${run} * 1009) % 1000) / 300.0 as v
       from range(60) r(u), range(10) s(i)`,
    )
    for (const test of ['auto', 'mann_whitney', 'kolmogorov_smirnov', 'brown_forsythe']) {
      const found = await outcomeOf(compareGroups, table, { value: 'v', group: 'g', test })
      assert.ok(found.caveats.some(({ code }) => code === 'unit_repeated'))
      assert.equal(found.n, 600)
      assert.deepEqual(
        (found.groups as { n: number }[]).map(({ n }) => n),
        [300, 300],
      )
      if (found.grade !== 'unclear') claims[test] = (claims[test] ?? 0) + 1
    }
    const means = await outcomeOf(anova, table, { value: 'v', by: 'g' })
    assert.ok(means.caveats.some(({ code }) => code === 'unit_repeated'))
    if (means.grade !== 'unclear') claims.anova = (claims.anova ?? 0) + 1
  }
  for (const [test, n] of Object.entries(claims)) assert.ok(n / runs <= 0.2, `${test}: ${n} of ${runs}`)
})

test('a correction raises the p of the test that decided, not that of another one', async () => {
  const table = await relation(
    `select 'g' || (k % 3) as g, case when k % 3 = 0 then 3 else 1 end * ((hash(k * 31) % 1000) / 500.0 - 1) ** 3 + 0.35 * (k % 3) as v from range(240) r(k)`,
  )
  const found = await outcomeOf(anova, table, { value: 'v', by: 'g', test: 'welch' })
  const { p } = found.welch as { p: number }
  assert.notEqual(p, found.p)
  assert.equal(chanceOf(found), p)
})

test('a test of spreads that takes values for normal says so where a few lie far out', async () => {
  const far = await relation(
    `select if(k % 2 = 0, 'a', 'b') as g, (hash(k) % 1000) / 500.0 - 1 + if(k % 40 = 1, 30, 0) as v from range(200) r(k)`,
  )
  const codes = async (test: string) =>
    (await outcomeOf(compareGroups, far, { value: 'v', group: 'g', test })).caveats.map(({ code }) => code)
  assert.ok((await codes('bartlett')).includes('tails_heavy'))
  assert.ok((await codes('f_variance')).includes('tails_heavy'))
  assert.ok(!(await codes('brown_forsythe')).includes('tails_heavy'))
})
