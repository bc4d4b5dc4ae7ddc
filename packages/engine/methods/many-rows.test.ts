import assert from 'node:assert/strict'
import { test } from 'node:test'
import { METHODS } from './catalog.ts'
import { outcomeOf, relation } from './relation-fixture.ts'

const N = 1_200_000

/**
 * The values are 0 to N - 1, a billion above 0, in an order of chance (7 and N have no common factor). Even and odd
 * values are the groups.
 */
const table = await relation(
  `select 1000000000.0::double + (k * 7) % ${N} as v, (${N} - (k * 7) % ${N})::double as w, (k * 7) % 2 as g
   from range(${N}) r(k)`,
)
const near = (a: unknown, b: number) =>
  assert.ok(Math.abs((a as number) / b - 1) < 2e-15, `${String(a)} is not ${b}`)

test('moments of over a million rows keep every digit', async () => {
  const { mean, variance, skewness, q1, median, q3 } = await outcomeOf(METHODS.describe!, table, {
    value: 'v',
  })
  near(mean, 1e9 + (N - 1) / 2)
  near(variance, (N * (N + 1)) / 12)
  assert.ok(Math.abs(skewness as number) < 1e-14)
  assert.deepEqual(
    [q1, median, q3],
    [0.25, 0.5, 0.75].map((p) => 1e9 + (N - 1) * p),
  )
})

test('a correlation and an analysis of variance of over a million rows keep every digit', async () => {
  const { pairs } = await outcomeOf(METHODS.correlation!, table, { values: ['v', 'w'] })
  const [pair] = pairs as { pearson: number; spearman: number }[]
  near(pair!.pearson, -1)
  near(pair!.spearman, -1)
  const anova = await outcomeOf(METHODS.anova!, table, { value: 'v', by: 'g' })
  // The groups are two arithmetic series of N / 2 members with a step of 2, one apart.
  const half = N / 2
  near(anova.ss_between, (2 * half) / 4)
  near(anova.ss_within, 2 * 4 * ((half * (half * half - 1)) / 12))
})
