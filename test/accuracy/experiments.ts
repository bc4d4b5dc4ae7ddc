/**
 * Compares published answers about experiments with ours: always-valid intervals, sample sizes (also by the method
 * `plan`) and splits.
 */
import {
  type Effect,
  type Level,
  levelOf,
  liftOf,
  thetaOf,
  type UnitMoments,
} from '../../packages/engine/methods/experiment/effects.ts'
import { unitsNeeded, unitsNeededOfRates } from '../../packages/engine/methods/experiment/planner.ts'
import { anytimeReach } from '../../packages/engine/methods/experiment/sequential.ts'
import { plan } from '../../packages/engine/methods/planning/plan.ts'
import { outcomeOf, relation } from '../../packages/engine/methods/relation-fixture.ts'
import { splitOf } from '../../packages/engine/methods/shared/split.ts'
import { studentUpperQuantile } from '../../packages/engine/numeric/distributions.ts'
import { type Figure, figures } from './figure.ts'
import { unitFigures } from './units.ts'

interface Sample {
  n: number
  mean: number
  variance: number
}

/** Returns the relative lift of b over a and its error by the delta method, as the source computes it. */
function lift(a: Sample, b: Sample): { lift: number; error: number } {
  const squares = b.variance / (b.n * a.mean ** 2) + (a.variance * b.mean ** 2) / (a.n * a.mean ** 4)
  return { lift: (b.mean - a.mean) / a.mean, error: Math.sqrt(squares) }
}

function sample(sum: number, squares: number, n: number): Sample {
  return { n, mean: sum / n, variance: (squares - sum ** 2 / n) / (n - 1) }
}

function share(successes: number, n: number): Sample {
  const mean = successes / n
  return { n, mean, variance: mean * (1 - mean) }
}

interface Sums {
  sum: number
  squares: number
}

/**
 * Returns the moments of a group of units with a measure and a covariate, from the sums, squares and the sum of
 * products that the source prints.
 */
function unitsOfSums(n: number, value: Sums, covariate: Sums, products: number): UnitMoments {
  const means = [value.sum / n, covariate.sum / n] as const
  const cov = (sum: number, one: number, other: number): number => (sum - n * one * other) / (n - 1)
  const shared = cov(products, ...means)
  return {
    n,
    means,
    covariances: [
      [cov(value.squares, means[0], means[0]), shared],
      [shared, cov(covariate.squares, means[1], means[1])],
    ],
  }
}

/** Returns always-valid intervals of the lift under a covariate: at a given coefficient, and at our own. */
function cupedFigures(): Figure[] {
  const armsOf = (products: readonly [number, number]): [UnitMoments, UnitMoments] => [
    unitsOfSums(3000, { sum: 1396.87, squares: 52377.9767 }, { sum: 16.87, squares: 527.9767 }, products[0]),
    unitsOfSums(3461, { sum: 2422.7, squares: 134698.29 }, { sum: 22.7, squares: 1348.29 }, products[1]),
  ]
  const interval = ([a, b]: [UnitMoments, UnitMoments], theta: number) => {
    const form = { ratio: false, covariate: true }
    const [control, arm] = [levelOf(a, form, theta), levelOf(b, form, theta)]
    // The source uses the variances that the covariate leaves, and the means before it.
    const left = ({ n, value, variance }: Level): Sample => ({ n, mean: value, variance })
    const { error } = lift(left(control), left(arm))
    const middle = (arm.adjusted - control.adjusted) / control.value
    const reach = anytimeReach(a.n + b.n, 0.05, 5000) * error
    return { lift: middle, error, low: middle - reach, high: middle + reach }
  }
  const source = 'GrowthBook gbstats, tests/frequentist/test_tests.py, test_sequential_test_runs_ra'
  const given = interval(armsOf([12_525, 3333]), 0.5)
  const own = armsOf([1, 1])
  const found = interval(own, thetaOf(own, { ratio: false, covariate: true }))
  return [
    ...figures(
      {
        of: 'experiment',
        case: 'covariate (CUPED), coefficient 0.5, always-valid interval',
        source,
        least: 4.5,
      },
      {
        lift: [0.50236, given.lift],
        error: [0.3093, given.error],
        low: [-0.43745, given.low],
        high: [1.44217, given.high],
      },
    ),
    ...figures(
      {
        of: 'experiment',
        case: 'covariate (CUPED), coefficient from the units, always-valid interval',
        source: `${source}; its coefficient is that of all units, ours that inside arms`,
        least: 4.5,
      },
      {
        lift: [0.50338, found.lift],
        error: [0.33341, found.error],
        low: [-0.50969, found.low],
        high: [1.51646, found.high],
      },
    ),
  ]
}

/**
 * Returns a bound of the lift for a ratio of 14 (error 3) to 7 (error 2) that are independent. The lift is the ratio
 * minus 1.
 */
function fieller(reach: number): [number, number] {
  const control: Level = { n: 1, value: 7, adjusted: 7, variance: 4, plain: 4, shared: 4 }
  const effect: Effect = { estimate: 7, error: Math.sqrt(9 + 4), df: 10, boundary: 0, once: 0, p: 0 }
  const [low, high] = liftOf(control, effect, reach)!
  return [1 + low, 1 + high]
}

/** Returns a table of two units with this mean and standard deviation. */
const twoUnits = (mean: number, sd: number): string =>
  `select i as u, ${mean} + (2 * i - 1) * ${sd} / sqrt(2) as v from range(2) r(i)`
const shareOf = (successes: number, n: number): string =>
  `select i as u, (i < ${successes})::int as v from range(${n}) r(i)`

/** Runs the method `plan` over tables with the mean, the spread or the share of the published case. */
async function planFigures(): Promise<Figure[]> {
  const chow = 'Chow, Shao and Wang, chapter 3.2; R package TrialSize'
  const kohavi =
    'Kohavi, Longbotham, Sommerfield and Henne, Data Mining and Knowledge Discovery 18 (2009), section 3.1, with 16 in place of 15.7'
  const cases: [
    title: string,
    source: string,
    published: number,
    least: number,
    sql: string,
    options: object,
  ][] = [
    [
      'a difference of means',
      `${chow}, ?TwoSampleMean.Equality: n = 63`,
      63,
      15,
      twoUnits(1, 0.1),
      { minimum_effect: 0.05 },
    ],
    [
      'a loss that is excluded',
      `${chow}, ?TwoSampleMean.NIS: n = 50`,
      50,
      15,
      twoUnits(1, 0.1),
      { margin: 0.05, confidence: 0.9 },
    ],
    [
      'rates of 50 % and 75 %',
      'R, ?power.prop.test: p1 = .50, p2 = .75, power = .90 gives 76.7',
      77,
      15,
      shareOf(10, 20),
      { minimum_effect: 0.25, power: 0.9 },
    ],
    ['5 % of revenue of 3.75 with a spread of 30', kohavi, 409_600, 1.5, twoUnits(3.75, 30), { lift: 0.05 }],
    ['5 % of a conversion of 5 %', kohavi, 121_600, 1.5, shareOf(5, 100), { lift: 0.05 }],
  ]
  const found: Figure[] = []
  for (const [title, source, published, least, sql, options] of cases) {
    const outcome = await outcomeOf(plan, await relation(sql), { unit: 'u', value: 'v', ...options })
    found.push(
      ...figures(
        { of: 'plan', case: title, source, least },
        { 'n in each group': [published, outcome.per_group] },
      ),
    )
  }
  return found
}

/** Returns groups of unequal sizes: the units of each as `plan` prints them, and of both before rounding. */
async function unequalFigures(): Promise<Figure[]> {
  const asked = async (sql: string, options: object) =>
    outcomeOf(plan, await relation(sql), { unit: 'u', value: 'v', ...options })
  const iron = await asked(twoUnits(4, 4), { minimum_effect: 4, power: 0.9, shares: [0.2, 0.8] })
  const [placebo, tablets] = iron.sizes as number[]
  // A one-sided 5 % is a two-sided 10 %.
  const rates = { base: 0.1, effect: 0.05, arms: 1, alpha: 0.1, power: 0.8, looks: 'fixed' as const }
  const shares = [2 / 3, 1 / 3]
  const told = await asked(shareOf(10, 100), { minimum_effect: 0.05, confidence: 0.9, shares })
  const [lower, higher] = told.sizes as number[]
  return [
    ...figures(
      {
        of: 'plan',
        case: 'four times as many units in the arm',
        source:
          'Woodward, Epidemiology: Study Design and Data Analysis (1999), example 8.9; R package epiR, ?epi.sscompc: 14 and 53',
        least: 15,
      },
      { control: [14, placebo], arm: [53, tablets], both: [67, iron.needed_n] },
    ),
    ...figures(
      {
        of: 'plan',
        case: 'rates of 10 % and 15 %, two to one',
        source: 'R package gsDesign, ?nBinomial: 1191.041; 1079.853 for equal groups',
        least: 6,
      },
      {
        both: [1191.041, unitsNeededOfRates({ ...rates, shares })],
        'both, equal groups': [1079.853, unitsNeededOfRates(rates)],
        'whole units of the larger': [Math.ceil((1191.041 * 2) / 3), lower],
        'whole units of the smaller': [Math.ceil(1191.041 / 3), higher],
      },
    ),
  ]
}

export async function experimentFigures(): Promise<Figure[]> {
  const source = 'GrowthBook gbstats, tests/frequentist/test_tests.py, TestSequentialTTest'
  const always = (
    name: string,
    [a, b]: [Sample, Sample],
    tuned: number,
    published: [number, number],
  ): Figure[] => {
    const { lift: size, error } = lift(a, b)
    const reach = anytimeReach(a.n + b.n, 0.05, tuned) * error
    return figures(
      { of: 'experiment', case: `always-valid interval, ${name}`, source, least: 4 },
      { low: [published[0], size - reach], high: [published[1], size + reach] },
    )
  }
  const [low, high] = fieller(studentUpperQuantile(0.05, 10))
  // A one-sided 5 % is a two-sided 10 %.
  const loss = { effect: 0.05, variance: 0.01, arms: 1, alpha: 0.1, power: 0.8, looks: 'fixed' as const }
  const rates = { base: 0.5, effect: 0.25, arms: 1, alpha: 0.05, power: 0.9, looks: 'fixed' as const }
  return [
    ...always(
      'means',
      [sample(1396.87, 52377.9767, 3000), sample(2422.7, 134698.29, 3461)],
      1000,
      [-0.55844, 1.56516],
    ),
    ...always('rates', [share(1396, 3000), share(2422, 3461)], 5000, [0.40098, 0.60675]),
    ...cupedFigures(),
    ...figures(
      {
        of: 'experiment',
        case: 'interval of a ratio, 14 to 7',
        source: "DCSTATS, tests/test_fieller.py (D. Colquhoun's FIELLER)",
        least: 5,
      },
      { low: [1.051413, low], high: [4.414296, high] },
    ),
    ...figures(
      {
        of: 'experiment',
        case: 'units needed, rates',
        source: 'R, ?power.prop.test: p1 = .50, p2 = .75, power = .90',
        least: 3,
      },
      { 'n in each group': [76.7, unitsNeededOfRates(rates) / 2] },
    ),
    ...figures(
      {
        of: 'experiment',
        case: 'units needed to exclude a loss',
        source: 'Chow, Shao and Wang, chapter 3.2; R package TrialSize, ?TwoSampleMean.NIS: n = 50',
        least: 15,
      },
      { 'n in each group': [50, Math.ceil(unitsNeeded(loss) / 2)] },
    ),
    ...(await planFigures()),
    ...(await unequalFigures()),
    ...(await unitFigures()),
    ...figures(
      {
        of: 'experiment',
        case: 'split of 821,588 and 815,482',
        source: 'Kohavi, Tang and Xu, Trustworthy Online Controlled Experiments (2020), chapter 3',
        least: 1.5,
      },
      { p: [1.8e-6, splitOf({ control: 821_588, treatment: 815_482 }).p] },
    ),
  ]
}
