/**
 * Compares answers of scipy and statsmodels (tests.json, remade by make-tests.py) with those of our tests of groups,
 * tables and models.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { normalLower, normalTwoSided } from '../../packages/engine/numeric/distributions.ts'
import { exactMean, squaredDeviations } from '../../packages/engine/numeric/exact.ts'
import { leastSquares } from '../../packages/engine/numeric/least-squares.ts'
import { ranks } from '../../packages/engine/numeric/mann-kendall.ts'
import { type Family, glm } from '../../packages/engine/numeric/models/glm.ts'
import { breuschPagan, hc3Errors, reset } from '../../packages/engine/numeric/models/model-checks.ts'
import { orthonormal } from '../../packages/engine/numeric/models/orthonormal.ts'
import { partialCorrelation } from '../../packages/engine/numeric/models/partial.ts'
import {
  type Counts,
  chiSquare,
  cochranMantelHaenszel,
  commonOdds,
} from '../../packages/engine/numeric/tests/contingency.ts'
import {
  andersonDarling,
  dagostinoPearson,
  distance,
  lilliefors,
} from '../../packages/engine/numeric/tests/edf.ts'
import { fisherExact } from '../../packages/engine/numeric/tests/fisher.ts'
import { kendall } from '../../packages/engine/numeric/tests/kendall.ts'
import { kolmogorovTwoSamples, kolmogorovUpper } from '../../packages/engine/numeric/tests/kolmogorov.ts'
import * as means from '../../packages/engine/numeric/tests/means.ts'
import { pairedT } from '../../packages/engine/numeric/tests/paired.ts'
import {
  dunn,
  friedman,
  kruskalWallis,
  mannWhitney,
  mood,
  signedRank,
} from '../../packages/engine/numeric/tests/ranks.ts'
import { shapiroWilk } from '../../packages/engine/numeric/tests/shapiro-wilk.ts'
import {
  studentizedRangeQuantile,
  studentizedRangeUpper,
} from '../../packages/engine/numeric/tests/studentized-range.ts'
import { type Figure, figures } from './figure.ts'

type Columns = Record<string, number[]>
interface Published {
  data: Record<string, Columns & number[] & number[][] & number[][][]>
  figures: { case: string; source: string; data: string; values: Record<string, number> }[]
}

const read = (name: string) => JSON.parse(readFileSync(path.join(import.meta.dirname, name), 'utf8')) as never
const { data, figures: cases } = read('tests.json') as Published
const { Nile: nile, ucb } = read('published.json') as Record<string, number[]>

const sampleOf = (values: readonly number[]): means.Sample => ({
  n: values.length,
  mean: exactMean(values),
  squares: squaredDeviations(values),
})
const sorted = (values: readonly number[]) => values.toSorted((a, b) => a - b)
const groupsOf = (name: string): number[][] => Object.values(data[name] as Columns)
const tiesOf = (values: readonly number[]) =>
  [...Map.groupBy(values, (value) => value).values()].reduce((sum, { length: t }) => sum + t ** 3 - t, 0)

function ranked(groups: readonly number[][]) {
  const all = groups.flat()
  const places = ranks(all)
  let from = 0
  const samples = groups.map(({ length: n }) => {
    const rank_sum = places.slice(from, from + n).reduce((sum, rank) => sum + rank, 0)
    from += n
    return { n, rank_sum }
  })
  return { samples, ties: tiesOf(all) }
}

const distancesFrom = (groups: readonly number[][], center: (values: readonly number[]) => number) =>
  groups.map((values) => sampleOf(values.map((value) => Math.abs(value - center(values)))))

function median(values: readonly number[]): number {
  const order = sorted(values)
  return (order[Math.floor((order.length - 1) / 2)]! + order[Math.ceil((order.length - 1) / 2)]!) / 2
}

type Answer = Record<string, unknown>

function variances(name: string): Answer {
  const spray = groupsOf('spray')
  const levene = (center: (values: readonly number[]) => number) => {
    const { f, p } = means.classicAnova(distancesFrom(spray, center))
    return { statistic: f, p }
  }
  if (name.endsWith('Bartlett')) return { ...means.bartlett(spray.map(sampleOf)) }
  if (name.endsWith('Levene')) return levene(exactMean)
  if (name.endsWith('Forsythe')) return levene(median)
  const [a, b] = groupsOf('serum') as [number[], number[]]
  if (name.endsWith('F of variances')) {
    const { f, p } = means.varianceRatio(sampleOf(a), sampleOf(b))
    return { statistic: f, p }
  }
  const all = sorted([...a, ...b])
  const middle = (all.length + 1) / 2
  const score = new Map(
    [...Map.groupBy(all.keys(), (index) => all[index]!)].map(([value, places]) => [
      value,
      places.reduce((sum, place) => sum + (place + 1 - middle) ** 2, 0) / places.length,
    ]),
  )
  const scores = all.map((value) => score.get(value)!)
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  return {
    ...mood(a.length, b.length, {
      first: sum(a.map((value) => score.get(value)!)),
      all: sum(scores),
      squares: sum(scores.map((value) => value * value)),
    }),
  }
}

function groupTests(name: string): Answer {
  const plant = groupsOf('plant').map(sampleOf)
  if (name.endsWith('classic')) return { ...means.classicAnova(plant) }
  if (name.endsWith('Welch')) {
    const found = means.welchAnova(plant)
    return { ...found, df: found.df_within }
  }
  const pairs = (name.endsWith('Tukey') ? means.tukey : means.gamesHowell)(plant, 0.95)
  const p = Object.fromEntries(pairs.map((pair) => [`p ${pair.a}${pair.b}`, pair.p]))
  return { ...p, 'low 12': pairs[2]!.low, 'high 12': pairs[2]!.high }
}

function rankTests(name: string): Answer {
  const spray = groupsOf('spray')
  if (name.startsWith('mucociliary')) {
    const { samples, ties } = ranked(groupsOf('mucociliary'))
    return { ...kruskalWallis(samples, ties) }
  }
  if (name.endsWith('Kruskal-Wallis')) {
    const { samples, ties } = ranked(spray)
    return { ...kruskalWallis(samples, ties) }
  }
  if (name.endsWith('Dunn')) {
    const { samples, ties } = ranked(spray)
    const pair = dunn(samples, ties).find(({ a, b }) => a === 0 && b === 2)!
    return { 'z 02': pair.z, 'p 02': pair.p }
  }
  if (name.includes('Mann-Whitney')) {
    const groups = name.startsWith('permeability') ? groupsOf('permeability') : spray.slice(0, 2)
    const { samples, ties } = ranked(groups)
    return { ...mannWhitney(samples[0]!.n, samples[1]!.n, samples[0]!.rank_sum, ties) }
  }
  if (name.endsWith('Friedman')) {
    const blocks = data.rounding as number[][]
    const places = blocks.map(ranks)
    const sums = [0, 1, 2].map((column) => places.reduce((sum, row) => sum + row[column]!, 0))
    return {
      ...friedman(
        sums,
        blocks.length,
        blocks.reduce((sum, row) => sum + tiesOf(row), 0),
      ),
    }
  }
  if (name.endsWith('Kolmogorov-Smirnov')) {
    const { ctrl, trt2 } = data.plant as Columns
    return { ...kolmogorovTwoSamples(sorted(ctrl!), sorted(trt2!)) }
  }
  const [a, b] = (name.startsWith('depression') ? groupsOf('depression') : spray.slice(2, 4)) as [
    number[],
    number[],
  ]
  const differences = a.map((value, index) => value - b[index]!)
  if (name.endsWith('paired t')) return { ...pairedT(sampleOf(differences), 0.95) }
  const kept = differences.filter((value) => value !== 0)
  const sizes = kept.map(Math.abs)
  const places = ranks(sizes)
  const sum = places.reduce((total, rank, index) => total + (kept[index]! > 0 ? rank : 0), 0)
  return { ...signedRank(kept.length, sum, tiesOf(sizes), differences.length - kept.length) }
}

function tableTests(name: string): Answer {
  if (name.startsWith('party')) return { ...chiSquare(data.party as Counts) }
  if (name.startsWith('a table')) return { p: fisherExact(data.small as Counts) }
  const strata = Array.from({ length: 6 }, (_, k) => [
    [ucb![k]!, ucb![12 + k]!],
    [ucb![6 + k]!, ucb![18 + k]!],
  ])
  const odds = commonOdds(strata, 0.95)!
  return {
    ...cochranMantelHaenszel(strata),
    odds: odds.ratio,
    low: odds.low,
    high: odds.high,
    breslow_day: odds.homogeneity!.statistic,
  }
}

function shapeTests(name: string): Answer {
  const values = sorted(name.startsWith('Nile') ? nile! : (data.weights as number[]))
  if (name.endsWith('Shapiro-Wilk')) return { ...shapiroWilk(values) }
  if (name.endsWith('Anderson-Darling')) return { ...andersonDarling(values) }
  if (name.endsWith('Lilliefors')) return { ...lilliefors(values) }
  if (name.endsWith('Kolmogorov-Smirnov')) {
    const d = distance(values.map((value) => normalLower((value - 900) / 150)))
    return { statistic: d, p: kolmogorovUpper(d, values.length) }
  }
  const mean = exactMean(values)
  const moment = (power: number) => exactMean(values.map((value) => (value - mean) ** power))
  const found = dagostinoPearson(values.length, moment(3) / moment(2) ** 1.5, moment(4) / moment(2) ** 2)
  return { ...found }
}

function relationTests(name: string): Answer {
  const [speed, dist] = [data.speed as number[], data.dist as number[]]
  if (name.startsWith('Hunter')) return { ...kendall(data.lightness as number[], data.panel as number[]) }
  if (name.includes('Kendall')) return { ...kendall(speed, dist) }
  if (name.endsWith('partial correlation')) {
    const order = speed.map((_, index) => index)
    const columns = [dist, order, speed]
    const matrix = columns.map((a) => columns.map((b) => pearson(a, b)))
    return { ...partialCorrelation(matrix, 50, 0.95) }
  }
  const design = [speed.map(() => 1), speed]
  const fit = leastSquares(
    design.map((high) => ({ high })),
    dist,
  )!
  const basis = orthonormal(design)!
  if (name.endsWith('HC3')) {
    const [first, second] = hc3Errors(basis, fit.residuals)!
    return { 'se intercept': first, 'se slope': second }
  }
  if (name.endsWith('Breusch-Pagan')) return { ...breuschPagan(basis, fit.residuals) }
  return {
    ...reset(
      basis,
      dist.map((value, row) => value - fit.residuals[row]!),
      fit.residuals,
    ),
  }
}

function pearson(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [exactMean(a), exactMean(b)]
  const products = a.reduce((sum, value, index) => sum + (value - x) * (b[index]! - y), 0)
  return products / Math.sqrt(squaredDeviations(a) * squaredDeviations(b))
}

function modelTests(name: string): Answer {
  const logistic = name.startsWith('Challenger')
  const family: Family = logistic ? 'logistic' : 'poisson'
  const y = (logistic ? data.distress : data.counts) as number[]
  const indicator = (test: (row: number) => boolean) => y.map((_, row) => (test(row) ? 1 : 0))
  const rest = logistic
    ? [data.temperature as number[]]
    : [
        indicator((row) => row % 3 === 1),
        indicator((row) => row % 3 === 2),
        indicator((row) => Math.floor(row / 3) === 1),
        indicator((row) => Math.floor(row / 3) === 2),
      ]
  const result = glm(family, [y.map(() => 1), ...rest], y)
  if (result.status !== 'fitted') return {}
  const [intercept, second, third] = result.fit.coefficients
  const [se, seSecond] = result.fit.errors
  const p = normalTwoSided(second! / seSecond!)
  return {
    intercept,
    slope: second,
    o2: second,
    o3: third,
    'se intercept': se,
    'se slope': seSecond,
    'se o2': seSecond,
    p,
    'p o2': p,
    low: second! - 1.959963984540054 * seSecond!,
    deviance: result.fit.deviance,
  }
}

function distributionsOf(name: string): Answer {
  if (name.endsWith('0.3')) return { p: kolmogorovUpper(0.3, 10) }
  if (name.endsWith('0.05')) return { p: kolmogorovUpper(0.05, 1000) }
  return {
    'q 3 20': studentizedRangeQuantile(0.05, 3, 20),
    'p 12 4 30': studentizedRangeUpper(12, 4, 30),
    'p 3 50 12.5': studentizedRangeUpper(3, 50, 12.5),
  }
}

const PARTS: [of: string, pattern: RegExp, answer: (name: string) => Answer][] = [
  ['compare_groups', /^InsectSprays, (Bartlett|Levene|Brown)|^serum/, variances],
  ['compare_groups', /^PlantGrowth, (classic|Welch|Tukey|Games)/, groupTests],
  [
    'compare_groups',
    /^(mucociliary|InsectSprays|permeability|depression|rounding|PlantGrowth ctrl)/,
    rankTests,
  ],
  ['association', /^(party|a table|UCB)/, tableTests],
  ['normality', /^(weights|Nile(?!, shape)|Nile against)/, shapeTests],
  ['association', /^(Hunter|cars, (Kendall|partial))/, relationTests],
  ['regression', /^cars, (HC3|Breusch|RESET)/, relationTests],
  ['regression', /^(Challenger|Dobson)/, modelTests],
  ['distributions', /^(studentised|Kolmogorov)/, distributionsOf],
]

/** The least digits for a source with fewer than 11, where its own approximation ends. */
const LEAST: Record<string, number> = {
  'studentised range': 6.9,
  'Kolmogorov, n = 1000, d = 0.05': 6,
  'Nile, Shapiro-Wilk': 8,
  'weights of 11 men, Shapiro-Wilk': 8,
  'cars, RESET': 10,
}

export function testFigures(): Figure[] {
  return cases.flatMap(({ case: name, source, values }) => {
    const part = PARTS.find(([, pattern]) => pattern.test(name))
    if (!part) return []
    const answer = part[2](name)
    const known = Object.entries(values).filter(([key]) => key in answer || !name.startsWith('cars, HC3'))
    const pairs = Object.fromEntries(
      known.map(([key, value]) => [key, [value, answer[key]] as [number, unknown]]),
    )
    return figures({ of: part[0], case: name, source, least: LEAST[name] ?? 11 }, pairs)
  })
}
