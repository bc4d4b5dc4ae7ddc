/** Tests least squares over more rows than are fetched, beside the fit of the same rows fewer times. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '@assay/model/insight'
import { chiSquareUpper, fUpper } from '../../numeric/distributions.ts'
import { METHODS } from '../catalog.ts'
import { outcomeOf, relation } from '../relation-fixture.ts'

/** Rows whose y bends along x and scatters more at its end, far from zero; z goes with x, u with nothing. */
const FEW = `select 1e6 + x as x, sin(k * 12.9898) * 3 + x / 40 as z, (k * 7919) % 101 - 50 as u,
  2e5 + 0.37 * x - 1.5 * sin(k * 12.9898) + 0.00002 * x * x + (1 + x / 300) * cos(k * 78.233 + x) as y
  from (select k, (k * 31) % 997 as x from range(3000) r(k))`
const TIMES = 70
const few = await relation(FEW)
const many = await relation(`select x, z, u, y from (${FEW}) cross join range(${TIMES}) t(copy)`)

interface Fit extends Outcome {
  coefficients: { term: string; estimate: number; std_error: number; t: number; low: number }[]
  checks: { reset_p: number; breusch_pagan_p: number; largest_vif: number }
  ss_residual: number
  ss_model: number
  df_residual: number
  r_squared: number
}

const fitOf = async (table: typeof few, options: Record<string, unknown>): Promise<Fit> =>
  (await outcomeOf(METHODS.regression!, table, options)) as unknown as Fit

function near(a: number, b: number, what: string, bound = 1e-9): void {
  assert.ok(Math.abs(a - b) <= bound * Math.abs(b), `${what}: ${a} is not ${b}`)
}

for (const [title, options] of [
  ['with an intercept', {}],
  ['without one', { intercept: false }],
  ['with errors that allow a changing spread', { errors: 'hc3' }],
  ['with powers', { x: ['u', { column: 'u', power: 2 }, { column: 'u', power: 3 }] }],
] as const)
  test(`the fit of rows that are not fetched is that of the same rows fewer times, ${title}`, async () => {
    const asked = { y: 'y', x: ['x', 'z', 'u'], ...options }
    const [one, all] = [await fitOf(few, asked), await fitOf(many, asked)]
    assert.equal(all.method, 'ordinary least squares by products about the means')
    assert.equal(all.df_residual - TIMES * one.df_residual, (1 - TIMES) * (3000 - one.df_residual) * -1)
    for (const name of ['ss_residual', 'ss_model'] as const) near(all[name], TIMES * one[name], name)
    near(all.r_squared, one.r_squared, 'r_squared')
    const robust = 'errors' in options
    const share = robust ? 1 / TIMES : one.df_residual / all.df_residual
    for (const [at, row] of all.coefficients.entries()) {
      const other = one.coefficients[at]!
      near(row.estimate, other.estimate, row.term, 1e-8)
      // The share of a row in its own fit is a seventieth here.
      near(row.std_error, other.std_error * Math.sqrt(share), `error of ${row.term}`, robust ? 5e-3 : 1e-8)
    }
    if (all.checks.largest_vif !== null)
      near(all.checks.largest_vif, one.checks.largest_vif, 'inflation', 1e-7)
    assert.deepEqual(
      [all.checks.reset_p !== null, all.checks.breusch_pagan_p !== null],
      [one.checks.reset_p !== null, one.checks.breusch_pagan_p !== null],
    )
  })

/** Returns the statistic of a p. */
function statisticOf(p: number, upper: (statistic: number) => number): number {
  let [low, high] = [0, 1e4]
  for (let round = 0; round < 200; round += 1) {
    const middle = (low + high) / 2
    if (upper(middle) > p) low = middle
    else high = middle
  }
  return low
}

test('checks of form and spread of rows that are not fetched grow with the number of the same rows', async () => {
  const noise = `select u, w, 3 * u - w + (hash(k) % 1000003) / 1000003.0 as y from
    (select k, (hash(k + 7) % 1009) / 100.0 as u, (hash(k * 3 + 1) % 503) / 50.0 as w from range(3000) r(k))`
  const asked = { y: 'y', x: ['u', 'w'] }
  const one = await fitOf(await relation(`select * from (${noise})`), asked)
  const all = await fitOf(
    await relation(`select u, w, y from (${noise}) cross join range(${TIMES}) t(c)`),
    asked,
  )
  const spread = (p: number): number => statisticOf(p, (statistic) => chiSquareUpper(statistic, 2))
  near(spread(all.checks.breusch_pagan_p), TIMES * spread(one.checks.breusch_pagan_p), 'spread', 1e-6)
  const form = ({ checks, df_residual }: Fit): number =>
    statisticOf(checks.reset_p, (statistic) => fUpper(statistic, 2, df_residual - 2)) / (df_residual - 2)
  near(form(all), form(one), 'form', 1e-6)
})

const codesOf = ({ blockers, caveats }: Outcome): string[] =>
  [...blockers, ...caveats].map(({ code }) => code)

test('of rows that are not fetched, columns that repeat others, that never change and series are reported', async () => {
  const fit = async (x: string[], y = 'y'): Promise<Outcome> =>
    outcomeOf(
      METHODS.regression!,
      await relation(
        'select k % 7 as a, 2.5 * (k % 7) + 1 as b, 4 as c, k % 11 as y, 8 as same from range(200001) r(k)',
      ),
      { y, x },
    )
  assert.deepEqual(codesOf(await fit(['a', 'b'])), ['collinear'])
  assert.deepEqual(codesOf(await fit(['a', 'c'])), ['constant'])
  assert.deepEqual(codesOf(await fit(['a'], 'same')), ['constant'])
  const dated = await relation(
    "select date '1500-01-01' + k::int as day, k % 7 as a, k % 11 as y from range(200001) r(k)",
  )
  await assert.rejects(
    outcomeOf(METHODS.regression!, dated, { y: 'y', x: ['a'] }),
    /at most 200,000 rows that are a series, and there are 200,001/,
  )
})
