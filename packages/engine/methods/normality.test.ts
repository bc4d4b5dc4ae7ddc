import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normality } from './normality.ts'
import { outliers } from './outliers.ts'
import { columnsOf, outcomeOf, relation } from './relation-fixture.ts'
import { MethodError } from './shared/method.ts'

const WEIGHTS = [148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236]
const ask = async (v: number[], options: Record<string, unknown> = {}) =>
  outcomeOf(normality, await columnsOf({ v }), { value: 'v', ...options })
const near = (a: unknown, b: number, within = 1e-8) =>
  assert.ok(Math.abs((a as number) - b) <= within * Math.abs(b), `${String(a)} is not ${b}`)
/** Returns probabilities between 0 and 1, evenly spread. */
const shares = (n: number) => Array.from({ length: n }, (_, i) => (i + 0.5) / n)

test('a skewed column is told from a normal one, with the reason for the test', async () => {
  const found = await ask(WEIGHTS)
  // scipy 1.17.1, shapiro.
  near(found.statistic, 0.7888146948631716)
  near(found.p, 0.006703814061898823, 1e-6)
  assert.equal(
    found.headline,
    'V clearly does not follow a normal distribution: high values reach much farther out than low ones.',
  )
  assert.match(String(found.reason), /up to 5,000 values/)
})

test('moments of shape are the adjusted ones', async () => {
  // scipy 1.17.1, skew and kurtosis with bias=False.
  const found = await ask([2, 8, 0, 4, 1, 9, 9, 0, 3, 11])
  near(found.skewness, 0.31102697133058976, 1e-12)
  near(found.kurtosis, -1.7254762796866294, 1e-12)
})

test('other distributions are told apart', async () => {
  const exponential = shares(300).map((share) => -Math.log1p(-share))
  const uniform = shares(300)
  const codes = async (values: number[], distribution: string) => (await ask(values, { distribution })).grade
  assert.equal(await codes(exponential, 'exponential'), 'unclear')
  assert.equal(await codes(exponential, 'gamma'), 'unclear')
  assert.equal(await codes(exponential, 'uniform'), 'firm')
  assert.equal(await codes(uniform, 'uniform'), 'unclear')
  assert.equal(await codes(uniform, 'exponential'), 'firm')
})

test('over 5,000 values go by their moments, and none is fetched', async () => {
  const table = await relation('select ln(1 + k) as v from range(20000) r(k)')
  let fetched = 0
  const watched = {
    ...table,
    async query(sql: string) {
      const rows = await table.query(sql)
      fetched += rows.length
      return rows
    },
  }
  const found = await outcomeOf(normality, watched, { value: 'v' })
  assert.equal(found.test, 'dagostino_pearson')
  assert.equal(found.grade, 'firm')
  assert.ok(fetched < 5, String(fetched))
})

test('too few values and one value are answers, and options that clash are refused', async () => {
  assert.equal((await ask([1, 2])).blockers[0]!.code, 'too_few')
  assert.equal((await ask([4, 4, 4, 4, 4, 4, 4, 4, 4])).blockers[0]!.code, 'constant')
  await assert.rejects(ask(WEIGHTS, { mean: 3 }), (error) => error instanceof MethodError)
  await assert.rejects(ask(WEIGHTS, { distribution: 'gamma', test: 'shapiro_wilk' }), /kolmogorov_smirnov/)
})

test('outliers are listed with their row, name and score, the farthest first', async () => {
  const table = await columnsOf({ v: [...WEIGHTS, 900], who: [...WEIGHTS.map((w) => `man ${w}`), 'typist'] })
  const found = await outcomeOf(outliers, table, { value: 'v', label: 'who' })
  const points = found.points as { row: number; label: string; value: number; score: number }[]
  assert.deepEqual(
    points.map(({ row, label, value }) => [row, label, value]),
    [
      [12, 'typist', 900],
      [11, 'man 236', 236],
    ],
  )
  // The median is 164, and the median distance from it is 8: 0.6745 x 736 / 8.
  near(points[0]!.score, (0.6745 * 736) / 8, 1e-9)
  assert.equal(
    found.headline,
    '2 values of v stand far apart from the others; the farthest is 900 (who "typist").',
  )
})

test('the three rules of outliers have their own fences', async () => {
  const table = await columnsOf({ v: [1, 2, 3, 4, 5, 6, 7, 8, 9, 100] })
  const by = async (rule: string) => outcomeOf(outliers, table, { value: 'v', rule })
  const iqr = await by('iqr')
  // The quartiles of type 7 are 3.25 and 7.75.
  assert.deepEqual([iqr.low_fence, iqr.high_fence, iqr.found], [-3.5, 14.5, 1])
  assert.equal((await by('modified_z')).found, 1)
  assert.equal((await by('z')).found, 0)
  const same = await columnsOf({ v: [...Array.from({ length: 30 }, () => 5), 6, 50] })
  assert.equal((await outcomeOf(outliers, same, { value: 'v' })).rule, 'z')
})

test('what chance makes of normal noise and what a long tail holds are no strays', async () => {
  const told = async (values: number[]) =>
    (await outcomeOf(outliers, await columnsOf({ v: values }), { value: 'v' })).summary
  const even = Array.from({ length: 400 }, (_, row) => 300 + ((row * 37) % 41) - 20)
  assert.equal(await told([...even, 370]), 'One value of v stands far apart from the others: 370.')
  assert.match(
    await told([150, 154, 158, 160, 161, 162, 163, 170, 184]),
    /^No value of v stands far apart for certain; the farthest, 184, may be chance\.$/,
  )
  const tail = Array.from({ length: 200 }, (_, row) => Math.exp(row / 50))
  assert.match(
    await told(tail),
    /^\d+ of 200 values of v lie far out, a long tail rather than single strays; the farthest is 53.5\.$/,
  )
  const rare = Array.from({ length: 200 }, (_, row) => (row % 4 === 0 ? 1 : 0))
  assert.doesNotMatch(await told(rare), /stand far apart/)
})
