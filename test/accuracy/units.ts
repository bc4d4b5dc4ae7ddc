/**
 * Compares published answers about units with a covariate, and about ratios of sums, with those of `experiment`.
 * units.json holds the data: `anorexia` of R's package MASS, and the users of tea-tasting's `make_users_data(seed=42,
 * covariates=True)`, 4,000 by default and 100 by `n_users`, as counts of equal users.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { levelOf, thetaOf } from '../../packages/engine/methods/experiment/effects.ts'
import type { Metric } from '../../packages/engine/methods/experiment/options.ts'
import { unitsOf } from '../../packages/engine/methods/experiment/units.ts'
import { experiment } from '../../packages/engine/methods/experiment.ts'
import { outcomeOf, relation } from '../../packages/engine/methods/relation-fixture.ts'
import type { Relation } from '../../packages/engine/methods/shared/method.ts'
import { type Figure, figures } from './figure.ts'

type Users = Record<'arm' | 'sessions' | 'orders' | 'sessions_before' | 'orders_before' | 'users', number[]>
interface Data {
  anorexia: Record<string, { before: number[]; after: number[] }>
  users_100: Users
  users_4000: Users
}

const data = JSON.parse(readFileSync(path.join(import.meta.dirname, 'units.json'), 'utf8')) as Data
const TEA = 'tea-tasting (E. Ivanov)'

/** Returns a table with one row for each user. */
function usersOf(counts: Users): Promise<Relation> {
  const columns = Object.entries(counts).map(([name, values]) => `unnest([${values.join(',')}]) as ${name}`)
  return relation(`select row_number() over () as u, * exclude (users)
    from (select *, unnest(range(users)) as i from (select ${columns.join(', ')}))`)
}

function patients(): Promise<Relation> {
  const groups = Object.entries(data.anorexia).map(
    ([arm, { before, after }]) =>
      `select '${arm}' as arm, unnest([${before.join(',')}]::double[]) as before, unnest([${after.join(',')}]::double[]) as after`,
  )
  return relation(`select row_number() over () as u, * from (${groups.join(' union all ')})`)
}

/**
 * Returns what the method computes of the units before it compares them: the coefficient of the covariate, and the
 * level of each group by its name.
 */
async function levelsOf(table: Relation, metric: Metric) {
  const { metrics } = await unitsOf(table, { unit: 'u', arm: 'arm', metrics: [metric] })
  const [units] = metrics
  const arms = [...units!.moments.values()]
  const theta = thetaOf(arms, units!)
  const n = arms.reduce((sum, arm) => sum + arm.n, 0)
  const before = arms.reduce((sum, arm) => sum + (arm.n / n) * arm.means.at(-1)!, 0)
  const squares = arms.reduce((sum, arm) => sum + (arm.n - 1) * levelOf(arm, units!, theta).variance, 0)
  return { theta, levels: arms.map((arm) => levelOf(arm, units!, theta)), before, squares }
}

async function resultsOf(table: Relation, metric: Metric, control = '0') {
  const options = { unit: 'u', arm: 'arm', control, metrics: [metric] }
  const { results } = await outcomeOf(experiment, table, options)
  return results as Record<string, number>[]
}

/**
 * Compares with analysis of covariance. It has the coefficient, the differences and the residual squares of CUPED;
 * its errors differ.
 */
async function covariance(): Promise<Figure[]> {
  const metric = { name: 'weight', value: 'after', covariate: 'before' }
  const table = await patients()
  const results = await resultsOf(table, metric, 'CBT')
  const of = (arm: string) => results.find((result) => String(result.arm) === arm)!.estimate
  const { theta, squares } = await levelsOf(table, metric)
  const source =
    'Venables and Ripley, Modern Applied Statistics with S (2002), p. 189: Postwt ~ Prewt + Treat + offset(Prewt); all digits by GLM.jl, test/runtests.jl'
  return figures(
    { of: 'experiment', case: 'covariate, anorexia', source, least: 12 },
    {
      coefficient: [1 - 0.5655388496391, theta],
      'Cont less CBT': [-4.0970655280729, of('Cont')],
      'FT less CBT': [4.5630626529188, of('FT')],
      'residual squares': [3311.262619919613, squares],
    },
  )
}

async function covariates(table: Relation): Promise<Figure[]> {
  const found: Figure[] = []
  const cases = [
    ['sessions', 2, 1.98, 0.603],
    ['orders', 0.523, 0.581, 0.00733],
  ] as const
  for (const [value, control, treatment, p] of cases) {
    const metric = { name: value, value, covariate: `${value}_before` }
    const [result] = await resultsOf(table, metric)
    const { theta, levels, before } = await levelsOf(table, metric)
    const [first, second] = levels.map(({ adjusted }) => adjusted + theta * before)
    const source = `${TEA}, user guide, to 3 digits; its coefficient is that of all units, ours that inside arms`
    found.push(
      ...figures(
        { of: 'experiment', case: `covariate, ${value} of 4,000 users`, source, least: 2.5 },
        { control: [control, first], treatment: [treatment, second], p: [p, result!.p] },
      ),
    )
  }
  return found
}

/**
 * Compares ratios. A ratio's variance in a group is that of its linear part (delta method); the printed statistic
 * pools both groups.
 */
async function ratios(users: Relation): Promise<Figure[]> {
  const metric = { name: 'orders of a session', numerator: 'orders', denominator: 'sessions' }
  const few = await usersOf(data.users_100)
  const [small] = await resultsOf(few, metric)
  const { levels, squares } = await levelsOf(few, metric)
  const [a, b] = levels.map(({ n }) => n) as [number, number]
  const error = Math.sqrt((squares / (a + b - 2)) * (1 / a + 1 / b))
  const [large] = await resultsOf(users, metric)
  return [
    ...figures(
      {
        of: 'experiment',
        case: 'ratio by the delta method, 100 users',
        source: `${TEA}, tests/metrics/test_mean.py, orders over sessions`,
        least: 12,
      },
      {
        control: [0.2857142857142857, small!.control_value],
        treatment: [0.20224719101123595, small!.value],
        difference: [-0.08346709470304975, small!.estimate],
        statistic: [-1.0794048813446926, small!.estimate! / error],
      },
    ),
    ...figures(
      {
        of: 'experiment',
        case: 'ratio by the delta method, 4,000 users',
        source: `${TEA}, user guide, to 3 digits`,
        least: 2.5,
      },
      {
        control: [0.266, large!.control_value],
        treatment: [0.289, large!.value],
        difference: [0.0233, large!.estimate],
        low: [-0.00246, large!.low],
        high: [0.0491, large!.high],
        p: [0.0762, large!.p],
      },
    ),
  ]
}

async function welch(users: Relation): Promise<Figure[]> {
  const [result] = await resultsOf(users, { name: 'orders', value: 'orders' })
  return figures(
    { of: 'experiment', case: 'Welch, orders of 4,000 users', source: `${TEA}, user guide`, least: 11 },
    {
      control: [0.5304003954522986, result!.control_value],
      treatment: [0.5730905412240769, result!.value],
      difference: [0.04269014577177832, result!.estimate],
      low: [-0.010800201598205564, result!.low],
      high: [0.0961804931417622, result!.high],
      p: [0.11773177998716244, result!.p],
    },
  )
}

export async function unitFigures(): Promise<Figure[]> {
  const users = await usersOf(data.users_4000)
  return [
    ...(await welch(users)),
    ...(await covariance()),
    ...(await covariates(users)),
    ...(await ratios(users)),
  ]
}
