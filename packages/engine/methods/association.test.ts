import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalQuantile } from '../numeric/distributions.ts'
import { association } from './association.ts'
import { correlation } from './correlation.ts'
import { columnsOf, outcomeOf, relation } from './relation-fixture.ts'
import { MethodError } from './shared/method.ts'

const near = (a: unknown, b: number, within = 1e-10) =>
  assert.ok(Math.abs((a as number) - b) <= within * Math.abs(b), `${String(a)} is not ${b}`)

/** Makes rows of two categories from a table of counts. */
const counted = (cells: [string, string, number, string?][]) =>
  columnsOf({
    x: cells.flatMap(([x, , n]) => Array.from({ length: n }, () => x)),
    y: cells.flatMap(([, y, n]) => Array.from({ length: n }, () => y)),
    s: cells.flatMap(([, , n, s]) => Array.from({ length: n }, () => s ?? 'all')),
  })
const ask = { x: 'x', y: 'y' }

test('two categories are tested by chi-square, and the sentence names where they meet', async () => {
  // Agresti (2007), p. 39; R ?chisq.test: X-squared = 30.07, df = 2, p-value = 2.954e-07.
  const table = await counted([
    ['women', 'Democrat', 762],
    ['women', 'Independent', 327],
    ['women', 'Republican', 468],
    ['men', 'Democrat', 484],
    ['men', 'Independent', 239],
    ['men', 'Republican', 477],
  ])
  const found = await outcomeOf(association, table, ask)
  assert.deepEqual([found.test, found.df, found.grade], ['chi_square', 2, 'firm'])
  near(found.statistic, 30.070149095754672)
  near(found.effect_size, 0.10443580235646777)
  assert.equal(
    found.headline,
    'X and y clearly go together, though only a little: x "men" comes with y "Republican" more often than by chance.',
  )
})

test('few counts take the exact test, and it is said', async () => {
  // R ?fisher.test, Convictions: p-value = 0.0005367.
  const table = await counted([
    ['dizygotic', 'convicted', 2],
    ['dizygotic', 'not', 15],
    ['monozygotic', 'convicted', 10],
    ['monozygotic', 'not', 3],
  ])
  const found = await outcomeOf(association, table, { ...ask, test: 'fisher' })
  assert.equal((found.p as number).toFixed(7), '0.0005367')
  const tea = await counted([
    ['milk', 'milk', 3],
    ['milk', 'tea', 1],
    ['tea', 'milk', 1],
    ['tea', 'tea', 3],
  ])
  const small = await outcomeOf(association, tea, ask)
  assert.deepEqual([small.test, small.grade], ['fisher', 'unclear'])
  near(small.p, 17 / 35)
  assert.match(String(small.reason), /few rows are expected/)
})

test('a link that vanishes within strata is not claimed', async () => {
  const cells: [string, string, number, string][] = []
  // R UCBAdmissions: admitted and rejected men and women in six departments.
  const [men, women] = [
    [
      [512, 313],
      [353, 207],
      [120, 205],
      [138, 279],
      [53, 138],
      [22, 351],
    ],
    [
      [89, 19],
      [17, 8],
      [202, 391],
      [131, 244],
      [94, 299],
      [24, 317],
    ],
  ]
  for (const [k, department] of ['A', 'B', 'C', 'D', 'E', 'F'].entries()) {
    cells.push(['men', 'admitted', men[k]![0]!, department], ['men', 'rejected', men[k]![1]!, department])
    cells.push(
      ['women', 'admitted', women[k]![0]!, department],
      ['women', 'rejected', women[k]![1]!, department],
    )
  }
  const table = await counted(cells)
  assert.equal((await outcomeOf(association, table, ask)).grade, 'firm')
  const within = await outcomeOf(association, table, { ...ask, strata: 's' })
  near(within.statistic, 1.5246066604434356)
  assert.deepEqual([within.test, within.grade], ['cochran_mantel_haenszel', 'unclear'])
  assert.match(within.summary, /Over all rows x and y do go together; within the values of s they do not\./)
})

test('numbers take the coefficient that their shape allows', async () => {
  const random = noise(17)
  const x = Array.from({ length: 120 }, random)
  const y = x.map((value) => value + random())
  const normal = await outcomeOf(association, await columnsOf({ x, y }), ask)
  assert.deepEqual([normal.test, normal.grade], ['pearson', 'firm'])
  assert.match(normal.headline, /^X and y clearly rise together to a high degree\.$/)
  const skewed = await columnsOf({ x: x.map((v) => Math.exp(2 * v)), y: y.map((v) => -Math.exp(2 * v)) })
  const ranked = await outcomeOf(association, skewed, ask)
  assert.equal(ranked.test, 'spearman')
  assert.match(ranked.headline, /^Higher x clearly goes with lower y/)
  const tau = await outcomeOf(association, skewed, { ...ask, test: 'kendall' })
  assert.equal(tau.effect, 'tau-b')
})

test('what controls explain is not claimed', async () => {
  const random = noise(23)
  const z = Array.from({ length: 200 }, random)
  const table = await columnsOf({
    x: z.map((value) => value + 0.3 * random()),
    y: z.map((value) => value + 0.3 * random()),
    z,
  })
  assert.equal((await outcomeOf(association, table, ask)).grade, 'firm')
  const held = await outcomeOf(association, table, { ...ask, controls: ['z'] })
  assert.deepEqual([held.test, held.grade], ['partial', 'unclear'])
})

test('a number beside a category is compared by groups', async () => {
  const table = await relation("select 'g' || (k % 3) as y, (k % 3) * 5 + k % 7 as x from range(300) r(k)")
  const found = await outcomeOf(association, table, ask)
  assert.equal(found.kind, 'number by category')
  assert.match(found.headline, /^There is clearly a difference in x between the 3 groups/)
})

test('random walks that go together by chance are seldom claimed', async () => {
  let claimed = 0
  const runs = 60
  for (let run = 0; run < runs; run++) {
    const random = noise(1000 + run)
    const walk = () => {
      let at = 0
      return Array.from({ length: 120 }, () => (at += random()))
    }
    const [x, y] = [walk(), walk()]
    const t = x.map((_, i) => new Date(Date.UTC(2024, 0, 1 + i)).toISOString().slice(0, 10))
    const table = await columnsOf({ t, x, y }, { t: 'DATE' })
    const found = await outcomeOf(correlation, table, { values: ['x', 'y'] })
    if (found.grade !== 'unclear') claimed++
    assert.ok(found.caveats.some(({ code }) => code === 'series_autocorrelated'))
  }
  assert.ok(claimed <= 0.1 * runs, `${claimed} of ${runs}`)
})

test('correlation gives Kendall and partial coefficients where they are asked for', async () => {
  const x = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
  const y = [2.6, 3.1, 2.5, 5, 3.6, 4, 5.2, 2.8, 3.8]
  const found = await outcomeOf(correlation, await columnsOf({ x, y }), {
    values: ['x', 'y'],
    test: 'kendall',
  })
  const [pair] = found.pairs as Record<string, number>[]
  // R ?cor.test: tau 0.4444444, p-value = 0.1194.
  near(pair!.kendall, 4 / 9)
  near(pair!.p, 0.11943893298059964)
  assert.equal(found.headline, 'No clear link between x and y.')
})

test('tests that do not fit the columns are refused with what to write', async () => {
  const table = await counted([['a', 'b', 3]])
  const refused = async (options: Record<string, unknown>, says: RegExp) =>
    assert.rejects(
      outcomeOf(association, table, { ...ask, ...options }),
      (error) => error instanceof MethodError && says.test(error.message),
    )
  await refused({ test: 'pearson' }, /for two numbers/)
  await refused({ test: 'cochran_mantel_haenszel' }, /needs `strata`/)
  await refused({ as: 'numbers' }, /Cast them/)
  const constant = await outcomeOf(association, table, ask)
  assert.equal(constant.blockers[0]!.code, 'constant')
})

test('of a category with more than fifty values the most frequent are counted, with what is left out', async () => {
  const wide = await relation("select 'x' || least(k, 199) as x, 'y' || (k % 2) as y from range(400) r(k)")
  const told = await outcomeOf(association, wide, ask)
  assert.match(
    told.summary,
    /Only the 50 of 200 values of x with the most rows are told of; 150 rows of the others are left out\./u,
  )
})

/** Returns a generator of normal values in an order of chance, the same in every run. */
function noise(seed: number): () => number {
  let state = (seed * 48_271 * 16_807) % 2_147_483_647
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return normalQuantile(state / 2_147_483_647)
  }
}

test('two flags go together as categories, and a flag beside a number makes two groups', async () => {
  const flags = await relation(
    `select (i % 2)::double as member, (i % 10 < 2 + 6 * (i % 2))::int as returned, 20 + 5 * (i % 2) + (i * 31 % 17) / 4.0 as spend from range(400) r(i)`,
  )
  const both = await outcomeOf(association, flags, { x: 'member', y: 'returned' })
  assert.deepEqual([both.kind, both.test], ['categories', 'chi_square'])
  assert.match(both.headline, /: member "[01]" comes with returned "[01]" more often than by chance\.$/)
  const one = await outcomeOf(association, flags, { x: 'member', y: 'spend' })
  assert.equal(one.kind, 'number by category')
  assert.match(one.headline, / higher in member "1" than in member "0", by about 4\.99 on average/)
  const asked = await outcomeOf(association, flags, { x: 'member', y: 'returned', test: 'pearson' })
  assert.equal(asked.kind, 'numbers')
})

test('what never changes is named, and nothing is said to go with it', async () => {
  const table = await relation(`select 5 as price, i as orders, 7 as rooms from range(20) t(i)`)
  const told = async (x: string, y: string) => (await outcomeOf(association, table, { x, y })).headline
  assert.equal(await told('price', 'orders'), 'Price never changes, so nothing can go with it.')
  assert.equal(await told('orders', 'rooms'), 'Rooms never change, so nothing can go with them.')
  assert.equal(
    await told('price', 'rooms'),
    'Neither price nor rooms ever changes, so they cannot go together.',
  )
})
