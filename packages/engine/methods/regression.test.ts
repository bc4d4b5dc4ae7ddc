import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { normalQuantile } from '../numeric/distributions.ts'
import { anova } from './anova.ts'
import { describe } from './describe.ts'
import { regression } from './regression.ts'
import { columnsOf, outcomeOf, relation } from './relation-fixture.ts'
import { MethodError } from './shared/method.ts'

const file = path.join(import.meta.dirname, '../../../test/accuracy/tests.json')
const { data } = JSON.parse(readFileSync(file, 'utf8')) as { data: Record<string, number[]> }
const near = (a: unknown, b: number, within = 1e-9) =>
  assert.ok(Math.abs((a as number) - b) <= within * Math.abs(b), `${String(a)} is not ${b}`)
const codes = (outcome: { caveats: { code: string }[] }) => outcome.caveats.map(({ code }) => code)
type Row = Record<string, number>

test('slopes have intervals, and the sentence names rate and direction without a statistic', async () => {
  const table = await columnsOf({ speed: data.speed!, dist: data.dist! })
  const found = await outcomeOf(regression, table, { y: 'dist', x: ['speed'] })
  // R: confint(lm(dist ~ speed, cars)).
  const slope = (found.coefficients as Row[])[1]!
  near(slope.low, 3.0969643281403227)
  near(slope.high, 4.767853190107853)
  near((found.checks as Row).breusch_pagan_p, 0.07297154505407806)
  assert.equal(found.grade, 'firm')
  assert.match(
    found.headline,
    /^Higher speed clearly goes with higher dist: each step of 1 in speed comes with about 3\.93 more\.$/,
  )
  const robust = await outcomeOf(regression, table, { y: 'dist', x: ['speed'], errors: 'hc3' })
  near((robust.coefficients as Row[])[1]!.std_error, 0.4275372191720981)
  near((robust.coefficients as Row[])[1]!.p, 3.63581877361309e-12, 1e-7)
})

test('an effect is told by a step of the size of the data', async () => {
  const x = Array.from({ length: 60 }, (_, i) => i + 1)
  const told = async (scale: number, ofY = 1) => {
    const random = noise(11)
    const rows = { x: x.map((one) => one * scale), y: x.map((one) => ofY * (3 * one + random())) }
    return (await outcomeOf(regression, await columnsOf(rows), { y: 'y', x: ['x'] })).headline
  }
  assert.match(await told(1), /: each step of 1 in x comes with about 3\.01 more\.$/)
  assert.match(await told(1e12), /: each step of 10 trillion in x comes with about 30\.1 more\.$/)
  assert.match(await told(1e-9), /: each step of 1 × 10⁻⁸ in x comes with about 30\.1 more\.$/)
  assert.match(await told(0.01), /: each step of 0\.1 in x comes with about 30\.1 more\.$/)
  assert.match(await told(1e6, 1e-6), /: each step of 10 million in x comes with about 0\.0000301 more\.$/)
  const flag = { x: x.map((one) => one % 2), y: x.map((one, i) => 5 * (one % 2) + (i % 7) / 10) }
  const found = await outcomeOf(regression, await columnsOf(flag), { y: 'y', x: ['x'] })
  assert.match(found.headline, /: each step of 1 in x comes with about (?:4\.9|5|5\.1)\d? more\.$/)
})

test('true or false is fitted by its odds, and complete separation is reported', async () => {
  const table = await columnsOf({ t: data.temperature!, fail: data.distress! })
  const found = await outcomeOf(regression, table, { y: 'fail', x: ['t'], family: 'logistic' })
  const slope = (found.coefficients as Row[])[1]!
  near(slope.estimate, -0.2321627442185963)
  near(slope.low, -0.44430242846308565)
  assert.match(
    found.headline,
    /^Higher t probably goes with a lower rate of fail: each step of 1 in t comes with 21 % lower odds\.$/,
  )
  const t = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  const apart = await columnsOf({ t, u: t.map((one) => one ** 2), fail: [0, 0, 0, 0, 0, 1, 1, 1, 1, 1] })
  const told = await outcomeOf(regression, apart, { y: 'fail', x: ['t', 'u'], family: 'logistic' })
  assert.equal(told.grade, 'unclear')
  assert.match(told.headline, /told apart completely/)
  await assert.rejects(
    outcomeOf(regression, table, { y: 't', x: ['fail'], family: 'logistic' }),
    (error) => error instanceof MethodError && /holds other values/.test(error.message),
  )
})

test('counts that scatter more than Poisson have wider intervals', async () => {
  const random = noise(9)
  const x = Array.from({ length: 200 }, (_, i) => i % 10)
  const y = x.map((value) => Math.max(0, Math.round(Math.exp(1 + 0.1 * value + 0.8 * random()))))
  const found = await outcomeOf(regression, await columnsOf({ x, y }), {
    y: 'y',
    x: ['x'],
    family: 'poisson',
  })
  assert.ok((found.dispersion as number) > 1.5)
  assert.ok(codes(found).includes('form_wrong'))
})

test('a curve, a changing spread and columns that repeat each other are reported', async () => {
  const random = noise(4)
  const x = Array.from({ length: 120 }, () => 10 * Math.abs(random()))
  const fit = async (y: number[], more: Record<string, number[]> = {}, names = ['x', ...Object.keys(more)]) =>
    outcomeOf(regression, await columnsOf({ x, y, ...more }), { y: 'y', x: names })
  assert.ok(codes(await fit(x.map((v) => v * v + random()))).includes('form_wrong'))
  assert.ok(codes(await fit(x.map((v) => v + v * random()))).includes('form_wrong'))
  const twin = { z: x.map((v) => v + random() / 100) }
  assert.ok(
    codes(
      await fit(
        x.map((v) => v + random()),
        twin,
      ),
    ).includes('collinear'),
  )
  assert.deepEqual(codes(await fit(x.map((v) => v + random()))), [])
  assert.equal((await fit(x.map(() => 7))).blockers[0]!.code, 'constant')
})

test('a random walk on time is seldom claimed to rise or fall', async () => {
  const runs = 100
  let claimed = 0
  for (let run = 0; run < runs; run++) {
    const random = noise(500 + run)
    let at = 0
    const y = Array.from({ length: 150 }, () => (at += random()))
    const table = await columnsOf({ t: y.map((_, i) => i), y })
    const found = await outcomeOf(regression, table, { y: 'y', x: ['t'] })
    assert.ok(codes(found).includes('series_autocorrelated'))
    if (found.grade !== 'unclear') claimed++
  }
  assert.ok(claimed / runs <= 0.1, `${claimed} of ${runs}`)
})

test('an analysis of variance of unequal spreads goes by Welch and says so', async () => {
  const random = noise(31)
  const groups = { a: [10, 4], b: [80, 1], c: [80, 1] } as const
  const v = Object.values(groups).flatMap(([n, sd]) => Array.from({ length: n }, () => sd * random()))
  const g = Object.entries(groups).flatMap(([name, [n]]) => Array.from({ length: n }, () => name))
  const found = await outcomeOf(anova, await columnsOf({ v, g }), { value: 'v', by: 'g' })
  assert.equal(found.test, 'welch')
  assert.ok(codes(found).includes('variances_unequal'))
  assert.match(String(found.reason), /spread differently/)
  assert.equal((found.pairs as unknown[]).length, 3)
  const plain = await outcomeOf(anova, await columnsOf({ v, g }), { value: 'v', by: 'g', test: 'classic' })
  assert.equal(plain.test, 'classic')
  assert.equal(plain.f, found.f)
})

test('describe tells the ends of a few values, which have no middle half', async () => {
  const told = async (v: number[]) =>
    (await outcomeOf(describe, await columnsOf({ v }), { value: 'v' })).headline
  assert.equal(await told([7, 9]), 'The two values of v are 7 and 9.')
  assert.equal(await told([7, 9, 8]), 'The 3 values of v lie between 7 and 9; their average is 8.')
})

test('describe gives G1, G2, the mode and the range', async () => {
  const found = await outcomeOf(describe, await columnsOf({ v: [2, 8, 0, 4, 1, 9, 9, 0, 3, 11] }), {
    value: 'v',
  })
  // scipy 1.17.1, skew and kurtosis with bias=False.
  near(found.skewness, 0.31102697133058976, 1e-12)
  near(found.kurtosis, -1.7254762796866294, 1e-12)
  assert.deepEqual([found.mode, found.mode_count, found.range], [0, 2, 11])
  assert.match(found.method, /skewness G1, excess kurtosis G2/)
  assert.equal(found.headline, 'The average of v is 4.7; half of the values lie between 1.25 and 8.75.')
})

/** Returns a generator of normal values in an order of chance, the same in every run. */
function noise(seed: number): () => number {
  let state = (seed * 48_271 * 16_807) % 2_147_483_647
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return normalQuantile(state / 2_147_483_647)
  }
}

test('more of what is counted goes with more or fewer, in words of one more', async () => {
  const table = await relation(
    `select 1 + i % 2 as rooms, 50 + 9 * (i % 2) + hash(i) % 7 as orders, 90 - 9 * (i % 2) - hash(i) % 7 as complaints from range(80) t(i)`,
  )
  const told = async (y: string) => (await outcomeOf(regression, table, { y, x: ['rooms'] })).headline
  assert.match(
    await told('orders'),
    /^More rooms clearly go with more orders: each further room comes with about [\d.]+ more\.$/u,
  )
  assert.match(
    await told('complaints'),
    /^More rooms clearly go with fewer complaints: each further room comes with about [\d.]+ fewer\.$/u,
  )
})

test('even steps of one column are reported as such, and not as a series in time', async () => {
  const told = async (columns: string) =>
    (
      await outcomeOf(regression, await relation(`select ${columns} from range(100) t(i)`), {
        y: 'effect',
        x: ['dose'],
      })
    ).summary
  const curve = 'i / 10.0 as dose, i * i / 100.0 + hash(i) % 7 as effect'
  assert.match(
    await told(curve),
    /The rows follow each other in even steps, as in a series, and neighbours are alike;/u,
  )
  assert.match(
    await told(`date '2024-01-01' + i::int as day, ${curve}`),
    /The rows are a series whose neighbours are alike;/u,
  )
})
