import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '@assay/model/insight'
import { METHODS } from './catalog.ts'
import { columnsOf, outcomeOf } from './relation-fixture.ts'

/** Returns uniform numbers of the minimal standard generator. */
function uniform(seed: number): () => number {
  let state = seed
  return () => (state = (state * 48271) % 2147483647) / 2147483647
}

function normals(n: number, seed: number): number[] {
  const next = uniform(seed)
  return Array.from({ length: n }, () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()))
}

function walk(n: number, seed: number): number[] {
  let level = 0
  return normals(n, seed).map((step) => (level += step))
}

const codes = ({ blockers, caveats }: Outcome): string[] => [...blockers, ...caveats].map(({ code }) => code)
const says = ({ caveats }: Outcome, code: string): string =>
  caveats.find((one) => one.code === code)?.says ?? ''
const run = async (
  method: string,
  columns: Parameters<typeof columnsOf>[0],
  options: Record<string, unknown>,
) => outcomeOf(METHODS[method]!, await columnsOf(columns), options)
const repeated = (sizes: Record<string, number>): string[] =>
  Object.entries(sizes).flatMap(([name, n]) => Array.from({ length: n }, () => name))

test('groups without any spread are judged by the orders of their values', async () => {
  const of = (each: number) => {
    const g = repeated({ a: each, b: each })
    return run('anova', { g, v: g.map((one) => (one === 'a' ? 0.1 : 0.3)) }, { value: 'v', by: 'g' })
  }
  const two = await of(2)
  // 2 of the 6 orders of two pairs leave each group without spread.
  assert.ok(Math.abs((two.p as number) - 1 / 3) < 1e-12)
  assert.deepEqual([two.grade, ...codes(two)], ['withheld', 'too_few'])
  const many = await of(20)
  assert.deepEqual([many.grade, ...codes(many)], ['firm', 'constant'])
  assert.match(many.evidence, /no variance within the groups, p below 0\.001/)
})

test('anova tells of the one row without which its answer is another', async () => {
  const [a, b, c] = [normals(30, 3), normals(30, 5), normals(30, 7).map((value) => value + 2)]
  const g = repeated({ a: 30, b: 31, c: 30 })
  const far = await run('anova', { g, v: [...a, ...b, 400, ...c] }, { value: 'v', by: 'g' })
  assert.equal(far.grade, 'unclear')
  assert.match(
    says(far, 'one_row_decides'),
    /Without one single row of "b", at 400, there would be a clear difference/,
  )
  const usual = await run('anova', { g, v: [...a, ...b, 0, ...c] }, { value: 'v', by: 'g' })
  assert.deepEqual([usual.grade, codes(usual).includes('one_row_decides')], ['firm', false])
})

test('a correlation and a slope that one row makes say so, and what they are without it is right', async () => {
  const [x, y] = [
    [...normals(40, 79190), 30],
    [...normals(40, 104729), 30],
  ]
  const asked = { correlation: { values: ['x', 'y'] }, regression: { y: 'y', x: ['x'] } }
  for (const [method, options] of Object.entries(asked)) {
    const told = await run(method, { x, y }, options)
    assert.equal(told.grade, 'firm')
    assert.match(says(told, 'one_row_decides'), /with x at 30 and y at 30, there would be no clear link/)
    const without = await run(method, { x: x.slice(0, -1), y: y.slice(0, -1) }, options)
    assert.deepEqual([without.grade, codes(without).includes('one_row_decides')], ['unclear', false])
  }
})

test('a strong link of many rows rests on none of them', async () => {
  const x = normals(200, 17)
  const y = normals(200, 19).map((value, row) => value + x[row]!)
  for (const [method, options] of [
    ['correlation', { values: ['x', 'y'] }],
    ['regression', { y: 'y', x: ['x'] }],
    ['association', { x: 'x', y: 'y' }],
  ] as const)
    assert.deepEqual(codes(await run(method, { x, y }, options)), [], method)
})

test('two random walks without a date are no link, and sorted rows are no series', async () => {
  let claims = 0
  for (let seed = 1; seed <= 20; seed++) {
    const columns = { x: walk(100, seed * 7919), y: walk(100, seed * 104729) }
    const line = await run('regression', columns, { y: 'y', x: ['x'] })
    const pair = await run('correlation', columns, { values: ['x', 'y'] })
    if (line.grade !== 'unclear' || pair.grade !== 'unclear') claims += 1
  }
  // A test that takes rows as independent claims 15 of these 20.
  assert.ok(claims <= 3, String(claims))
  const x = normals(100, 23).toSorted((a, b) => a - b)
  const y = normals(100, 29).map((value, row) => value + 2 * x[row]! ** 2)
  const sorted = await run('regression', { x, y }, { y: 'y', x: ['x'] })
  assert.equal(codes(sorted).includes('series_autocorrelated'), false)
})

test('whole years order the rows as dates do', async () => {
  const year = Array.from({ length: 60 }, (_, row) => 1950 + row)
  const x = walk(60, 31)
  const table = await columnsOf({ year, x, y: walk(60, 37) }, { year: 'INTEGER' })
  const pair = await outcomeOf(METHODS.correlation!, table, { values: ['x', 'y'] })
  assert.match(says(pair, 'series_autocorrelated'), /^The rows are a series/)
})

test('outcomes that a column tells apart are told so, and few of them are no claim', async () => {
  const asked = { y: 'late', x: ['speed'], family: 'logistic' }
  const of = (n: number) => {
    const speed = Array.from({ length: n }, (_, row) => row + 1)
    return run('regression', { speed, late: speed.map((one) => one > n / 2) }, asked)
  }
  const many = await of(20)
  assert.deepEqual([many.grade, ...codes(many)], ['firm', 'separated'])
  assert.equal(many.headline, 'Late clearly goes with speed: from 11 on it is always so, up to 10 never.')
  const few = await of(4)
  assert.deepEqual([few.grade, ...codes(few)], ['unclear', 'separated'])
  // 2 of the 6 orders of two late rows and two others are as extreme.
  assert.match(few.evidence, /p = 0\.33/)
})

/** Bickel, Hammel and O'Connell, Science 187, 1975. Each entry: admitted and rejected men, then women. */
const BERKELEY: Record<string, [number, number, number, number]> = {
  A: [512, 313, 89, 19],
  B: [353, 207, 17, 8],
  C: [120, 205, 202, 391],
  D: [138, 279, 131, 244],
  E: [53, 138, 94, 299],
  F: [22, 351, 24, 317],
}

test("Simpson's paradox is reported where the column that makes it lies in the same rows", async () => {
  const rows = Object.entries(BERKELEY).flatMap(([department, counts]) =>
    counts.flatMap((n, place) =>
      Array.from({ length: n }, () => ({
        department,
        sex: place < 2 ? 'male' : 'female',
        admitted: place % 2 === 0 ? 'yes' : 'no',
      })),
    ),
  )
  const column = (name: 'department' | 'sex' | 'admitted') => rows.map((row) => row[name])
  const [sex, admitted, department] = [column('sex'), column('admitted'), column('department')]
  const asked = { x: 'sex', y: 'admitted' }
  const told = await run('association', { sex, admitted, department }, asked)
  assert.match(says(told, 'mix_hides_rates'), /Within the values of department this link is gone/)
  assert.deepEqual(codes(await run('association', { sex, admitted }, asked)), [])
  const strata = await run('association', { sex, admitted, department }, { ...asked, strata: 'department' })
  assert.ok(codes(strata).includes('mix_hides_rates'))
})

test('a link of numbers and a difference of groups that turn round within a further column say so', async () => {
  const base = Array.from({ length: 120 }, (_, row) => row % 3)
  const store = base.map((one) => 'pqr'[one]!)
  const price = normals(120, 41).map((value, row) => 10 * base[row]! + 2 * value)
  const sold = normals(120, 43).map((value, row) => 30 * base[row]! - price[row]! + value)
  const columns = { store, price, sold }
  for (const [method, options] of [
    ['correlation', { values: ['price', 'sold'] }],
    ['association', { x: 'price', y: 'sold' }],
  ] as const)
    assert.match(says(await run(method, columns, options), 'mix_hides_rates'), /points the other way/, method)
  // Each store sells both kinds. Stores with high prices have high sales, and in each store the dear kind sells less.
  const own = normals(120, 47).map((_, row) =>
    Math.floor(row / 3) % 10 < 2 + 3 * base[row]! ? 'dear' : 'cheap',
  )
  const value = normals(120, 53).map((one, row) => 20 * base[row]! - (own[row] === 'dear' ? 4 : 0) + one)
  for (const [method, options] of [
    ['compare_groups', { value: 'value', group: 'own', test: 'welch' }],
    ['anova', { value: 'value', by: 'own' }],
  ] as const) {
    const told = await run(method, { store, own, value }, options)
    assert.match(says(told, 'mix_hides_rates'), /store this link points the other way/, method)
  }
})

test('drivers gives no percentage of a loss or of almost nothing', async () => {
  const region = ['n', 's', 'n', 's']
  const half = ['a', 'a', 'b', 'b']
  const asked = { value: 'v', by: ['region'], split: { column: 'half', before: 'a', after: 'b' } }
  for (const [v, why] of [
    [[-100, -20, -40, -20], /is below zero/],
    [[0.01, 0.02, 400, 20], /is too near zero/],
    [[-100, -20, 300, 20], /has the other sign/],
  ] as const) {
    const told = await run('drivers', { region, half, v }, asked)
    assert.match(says(told, 'no_base'), why)
    assert.equal(told.relative, null)
    assert.doesNotMatch(told.headline, /%|times/)
  }
})

test('a funnel that one entered speaks of one, and tells that it is too few', async () => {
  const rows = { id: [1, 1], t: [1, 2], e: ['visit', 'buy'] }
  const told = await run('funnel', rows, { id: 'id', time: 't', event: 'e', steps: ['visit', 'buy'] })
  assert.equal(told.headline, 'The only one that entered at "visit" reached "buy".')
  assert.deepEqual([told.grade, ...codes(told)], ['firm', 'too_few'])
})

test('two stretches of a random walk are no different groups, and a step in noise makes two', async () => {
  const g = repeated({ old: 100, new: 100 })
  const day = g.map((_, row) => new Date(Date.UTC(2024, 0, 1 + row)).toISOString().slice(0, 10))
  const asked = { anova: { value: 'v', by: 'g' }, compare_groups: { value: 'v', group: 'g' } }
  for (const [method, options] of Object.entries(asked)) {
    let claims = 0
    for (let seed = 1; seed <= 6; seed++) {
      const table = await columnsOf({ day, g, v: walk(200, seed * 104729 + 17) }, { day: 'DATE' })
      const told = await outcomeOf(METHODS[method]!, table, options)
      assert.ok(codes(told).includes('series_autocorrelated'), method)
      if (told.grade !== 'unclear') claims += 1
    }
    // A test that takes rows as independent finds all six clearly different.
    assert.ok(claims <= 1, `${method}: ${claims}`)
    const shifted = normals(200, 3).map((value, row) => value + (row < 100 ? 0 : 2))
    const step = await outcomeOf(
      METHODS[method]!,
      await columnsOf({ day, g, v: shifted }, { day: 'DATE' }),
      options,
    )
    assert.deepEqual([step.grade, codes(step).includes('series_autocorrelated')], ['firm', false], method)
  }
  // Rows that are sorted within their groups have an order, but are no series.
  const sorted = [...normals(50, 5), ...normals(50, 7).map((value) => value + 3)].toSorted((a, b) => a - b)
  const told = await run('anova', { g: repeated({ low: 50, high: 50 }), v: sorted }, asked.anova)
  assert.equal(codes(told).includes('series_autocorrelated'), false)
})

test('many groups of few rows without a difference are told to have none', async () => {
  const groups = (k: number, each: number) => Array.from({ length: k * each }, (_, row) => `g${row % k}`)
  const anova = await run('anova', { g: groups(150, 2), v: normals(300, 61) }, { value: 'v', by: 'g' })
  assert.deepEqual([anova.grade, anova.test], ['unclear', 'classic'])
  const ten = { g: groups(10, 5), v: normals(50, 67) }
  const compared = await run('compare_groups', ten, { value: 'v', group: 'g' })
  assert.notEqual(compared.test, 'welch_anova')
  const large = { g: groups(4, 30), v: normals(120, 71) }
  assert.equal((await run('compare_groups', large, { value: 'v', group: 'g' })).test, 'welch_anova')
})

test('a difference that is one group of one row says so', async () => {
  const columns = { g: repeated({ a: 39, b: 1 }), v: [...normals(39, 73), 100] }
  const told = await run('anova', columns, { value: 'v', by: 'g' })
  assert.match(says(told, 'one_row_decides'), /the only one of "b", there would be nothing to compare/)
})

test('rank correlations and regressions of outcomes and counts name the row without which they are another', async () => {
  const x = normals(40, 79)
  const noise = normals(40, 83)
  // One row at the far end hides that outcomes go with x. One more row makes counts go with it.
  const paid = x.map((value, row) => (value + 0.9 * noise[row]! > 0 ? 1 : 0))
  const logistic = { y: 'y', x: ['x'], family: 'logistic' }
  const hidden = await run('regression', { x: [...x, -9], y: [...paid, 1] }, logistic)
  assert.match(
    says(hidden, 'one_row_decides'),
    /with x at minus 9 and y at 1, there would be a (?:clear|probable) link\.$/,
  )
  const without = await run('regression', { x, y: paid }, logistic)
  assert.notEqual(without.grade, 'unclear')
  const counts = { x: [...x, 8], y: [...noise.map((value) => Math.floor(2 + 2 * Math.abs(value))), 40] }
  const made = await run('regression', counts, { y: 'y', x: ['x'], family: 'poisson' })
  assert.match(says(made, 'one_row_decides'), /with x at 8 and y at 40, there would be no clear link/)
  // Nine of ten rows rise together. The tenth row makes the link unclear.
  const rise = Array.from({ length: 9 }, (_, row) => row + 1)
  for (const test of ['spearman', 'kendall']) {
    const asked = { x: 'x', y: 'y', test }
    const told = await run('association', { x: [...rise, 10], y: [...rise, 0] }, asked)
    assert.match(says(told, 'one_row_decides'), /with x at 10 and y at 0/, test)
    const strong = {
      x: normals(80, 89),
      y: normals(80, 89).map((value, row) => value + normals(80, 97)[row]! / 4),
    }
    assert.deepEqual(codes(await run('association', strong, asked)), [], test)
  }
})

test('a few values are judged by the test that is made for them, and no experiment is read of groups that nobody drew', async () => {
  const far = await run('normality', { v: [0, 0, 0, 0, 0.01, 9] }, { value: 'v' })
  assert.deepEqual([far.grade, far.test, ...codes(far)], ['firm', 'shapiro_wilk', 'too_few'])
  assert.equal((await run('normality', { v: [1, 2] }, { value: 'v' })).grade, 'withheld')
  const asked = { unit: 'u', arm: 'g', planned: 'none', metrics: [{ name: 'v', value: 'v' }] }
  const rows = { u: [1, 2, 3, 4], g: ['a', 'b', 'a', 'b'], v: [1, 2, 3, 4] }
  await assert.rejects(run('experiment', rows, asked), /write `method: ab_test` with `planned: none`/)
})

test('a slope over uneven times is told by the times, and over numbers by their unit', async () => {
  const days = Array.from({ length: 30 }, (_, row) => row * row)
  const rows = { day: days, v: days.map((day, row) => 2 * day + (row % 3)) }
  const told = await run('trend', rows, { time: 'day', value: 'v' })
  assert.equal(told.per, 'unit of day')
  assert.match(told.headline, /by about 2 a unit of day\.$/)
  assert.match(says(told, 'times_uneven'), /the line is drawn over the times as they are/)
})
