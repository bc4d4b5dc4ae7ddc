/**
 * normality: tells whether a column follows a normal distribution, or by `distribution` a uniform, exponential or gamma
 * one.
 *
 * `test: auto` uses Shapiro and Wilk's test up to 5,000 values, and D'Agostino and Pearson's for more, from moments
 * computed in DuckDB. Anderson-Darling and Lilliefors read at most 200,000 values. The exponential and gamma
 * distributions have parameters from the data. Distances from them are judged by 199 samples drawn from the fit (Stute,
 * Manteiga and Quindimil, Metrika 40, 1993) over at most 1,000 values. A uniform distribution is judged by its inner
 * values, whose distribution between the ends is known.
 */
import type { Doubt, Grade } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { normalLower } from '../numeric/distributions.ts'
import { bootstrapDistance } from '../numeric/tests/bootstrap-fit.ts'
import { andersonDarling, dagostinoPearson, distance, lilliefors } from '../numeric/tests/edf.ts'
import { kolmogorovUpper } from '../numeric/tests/kolmogorov.ts'
import { SHAPIRO_MOST, shapiroWilk } from '../numeric/tests/shapiro-wilk.ts'
import { allAlike, leftOut, tooFew } from '../verdicts/common-doubts.ts'
import { measureOf, opening } from '../verdicts/measure.ts'
import { verbFor } from '../verdicts/nouns.ts'
import { doubt, gradeOf, verdict } from '../verdicts/verdict.ts'
import { CERTAINTY } from '../verdicts/words.ts'
import { number, pAdjusted, text } from './shared/fields.ts'
import { type Method, MethodError } from './shared/method.ts'
import { count, figure, finite, probability } from './shared/sentence.ts'
import { readShape, type Shape } from './shared/shape.ts'

const Options = Type.Object(
  {
    value: Type.String({ description: 'A number column.' }),
    distribution: Type.Enum(['normal', 'uniform', 'exponential', 'gamma'], { default: 'normal' }),
    test: Type.Enum(
      ['auto', 'shapiro_wilk', 'anderson_darling', 'lilliefors', 'kolmogorov_smirnov', 'dagostino_pearson'],
      { default: 'auto' },
    ),
    mean: Type.Optional(
      Type.Number({ description: 'With sd: the normal distribution that is asked about.' }),
    ),
    sd: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

const LEAST = 8
/** The fewest values for Shapiro and Wilk's test. */
const LEAST_SHAPIRO = 3
const FETCHED = 200_000
const SAMPLED = 1000

interface Answer {
  test: string
  name: string
  reason: string | null
  statistic: number | null
  p: number | null
}

export const normality: Method = {
  name: 'normality',
  options: Options,
  columns: (options) => [{ option: 'value', column: (options as Options).value, numeric: true }],
  fields: {
    distribution: text,
    test: text,
    reason: text,
    statistic: number,
    p: number,
    p_adjusted: pAdjusted,
    skewness: number,
    kurtosis: number,
    mean: number,
    sd: number,
  },
  async run(table, options, { meanings }) {
    const given = options as Options
    checkOptions(given)
    const shape = await readShape(table, given.value)
    const { label } = measureOf(meanings, given.value)
    const stop = stopOf(given, shape, label)
    const answer = stop ? NONE : await answerOf(given, shape)
    const told = verdict({
      headline: (grade) => headline(grade, label, given, shape),
      grade: gradeOf(answer.p),
      evidence: evidence(given, shape, answer),
      doubts: [...(stop ? [stop] : []), ...doubtsOf(shape, label, answer.p !== null)],
      mild: answer.p === null ? [] : ['too_few'],
    })
    const { name, ...fields } = answer
    const { n, skewness, kurtosis, mean, sd } = shape
    return {
      ...told,
      n,
      method: name,
      distribution: given.distribution,
      ...fields,
      skewness,
      kurtosis,
      mean,
      sd,
    }
  },
}

const NONE: Answer = { test: 'none', name: 'test of a distribution', reason: null, statistic: null, p: null }

function checkOptions({ distribution, test, mean, sd }: Options): void {
  if ((mean === undefined) !== (sd === undefined))
    throw new MethodError('mean and sd go together: give both, or neither.')
  if (mean !== undefined && (distribution !== 'normal' || !['auto', 'kolmogorov_smirnov'].includes(test)))
    throw new MethodError('mean and sd go with distribution: normal and test: kolmogorov_smirnov.')
  if (distribution !== 'normal' && !['auto', 'kolmogorov_smirnov'].includes(test))
    throw new MethodError(`test: ${test} is for distribution: normal. The others take kolmogorov_smirnov.`)
}

function stopOf({ distribution, test, mean }: Options, { n, constant }: Shape, label: string): Doubt | null {
  const shapiro = distribution === 'normal' && mean === undefined && ['auto', 'shapiro_wilk'].includes(test)
  const least = shapiro ? LEAST_SHAPIRO : LEAST
  if (n < least) return tooFew(n, label, 'to judge a distribution takes', least)
  return constant ? allAlike(label) : null
}

async function answerOf(given: Options, shape: Shape): Promise<Answer> {
  if (given.distribution !== 'normal') return otherFit(given.distribution, shape)
  if (given.mean !== undefined) {
    const values = await shape.values(FETCHED)
    const chances = values.map((value) => normalLower((value * shape.unit - given.mean!) / given.sd!))
    const d = distance(chances)
    const p = finite(kolmogorovUpper(d, values.length))
    return { test: 'kolmogorov_smirnov', name: 'Kolmogorov-Smirnov test', reason: null, statistic: d, p }
  }
  return given.test === 'auto' ? chosen(shape) : named(given.test, shape)
}

async function chosen(shape: Shape): Promise<Answer> {
  if (shape.n <= SHAPIRO_MOST)
    return {
      ...(await named('shapiro_wilk', shape)),
      reason: 'It was chosen because it finds most departures in up to 5,000 values.',
    }
  return {
    ...(await named('dagostino_pearson', shape)),
    reason: 'It was chosen because there are more than 5,000 values.',
  }
}

async function named(test: string, shape: Shape): Promise<Answer> {
  const answer = (name: string, statistic: number | undefined, p: number | undefined): Answer => ({
    test,
    name,
    reason: null,
    statistic: finite(statistic ?? Number.NaN),
    p: finite(p ?? Number.NaN),
  })
  if (test === 'dagostino_pearson') {
    const found = dagostinoPearson(shape.n, shape.g1 ?? Number.NaN, shape.b2 ?? Number.NaN)
    return answer("D'Agostino-Pearson test", found?.statistic, found?.p)
  }
  if (test === 'shapiro_wilk') {
    const found = shapiroWilk(await shape.values(SHAPIRO_MOST))
    return answer('Shapiro-Wilk test', found?.w, found?.p)
  }
  const values = await shape.values(FETCHED)
  const found = test === 'anderson_darling' ? andersonDarling(values) : lilliefors(values)
  return answer(
    test === 'anderson_darling' ? 'Anderson-Darling test' : 'Lilliefors test',
    found?.statistic,
    found?.p,
  )
}

async function otherFit(distribution: 'uniform' | 'exponential' | 'gamma', shape: Shape): Promise<Answer> {
  const values = await shape.values(SAMPLED)
  const answer = { test: 'kolmogorov_smirnov', name: 'Kolmogorov-Smirnov test', reason: null }
  if (distribution === 'uniform') {
    const [low, high] = [values[0]!, values.at(-1)!]
    const d = distance(values.slice(1, -1).map((value) => (value - low) / (high - low)))
    return { ...answer, statistic: finite(d), p: finite(kolmogorovUpper(d, values.length - 2)) }
  }
  if (values[0]! < 0 || (distribution === 'gamma' && values[0] === 0))
    return { ...answer, statistic: 1, p: 0 }
  const found = bootstrapDistance(distribution, values)
  return {
    ...answer,
    name: 'Kolmogorov-Smirnov test, p by 199 samples of the fit',
    statistic: finite(found.statistic),
    p: finite(found.p),
  }
}

function doubtsOf({ n, left, kurtosis }: Shape, label: string, judged: boolean): Doubt[] {
  const found = leftOut(left, 'without a number')
  if (judged && n < LEAST)
    found.push(
      doubt(
        'too_few',
        `There are only ${n} values of ${label}: too few to show any but the strongest departure.`,
      ),
    )
  if (kurtosis !== null && kurtosis > 3 && n >= 20)
    found.push(doubt('tails_heavy', `A few values of ${label} are far larger or smaller than the rest.`))
  return found
}

const NAMES = {
  normal: 'a normal distribution',
  uniform: 'a uniform distribution',
  exponential: 'an exponential distribution',
  gamma: 'a gamma distribution',
}

function headline(grade: Grade, label: string, { distribution, mean }: Options, shape: Shape): string {
  const what = mean === undefined ? NAMES[distribution] : 'the normal distribution that was asked about'
  const ends = distribution === 'uniform' ? ' between the smallest and the largest value' : ''
  if (grade === 'unclear')
    return `${opening(label)} ${verbFor(label, 'shows', 'show')} no clear departure from ${what}${ends}.`
  const tail = distribution === 'normal' && mean === undefined ? `: ${departure(shape)}` : ''
  return `${opening(label)} ${CERTAINTY[grade]} ${verbFor(label, 'does', 'do')} not follow ${what}${ends}${tail}.`
}

function departure({ skewness, kurtosis }: Shape): string {
  const side = (skewness ?? 0) > 0 ? 'high' : 'low'
  if (Math.abs(skewness ?? 0) > 0.5)
    return `${side} values reach much farther out than ${side === 'high' ? 'low' : 'high'} ones`
  if ((kurtosis ?? 0) > 1) return 'very high and very low values are too frequent'
  if ((kurtosis ?? 0) < -0.8) return 'values near the middle are too rare'
  return 'the departure is small'
}

function evidence({ value }: Options, { n, skewness, kurtosis }: Shape, answer: Answer): string {
  if (answer.p === null) return `${count(n, 'value')} of ${value}.`
  const reason = answer.reason === null ? '' : ` ${answer.reason}`
  const shape = `Skewness (G1) ${figure(skewness)}, excess kurtosis (G2) ${figure(kurtosis)}`
  return `${answer.name} of ${value}: statistic ${figure(answer.statistic)}, ${probability(answer.p)}, n = ${count(n, 'value')}.${reason} ${shape}.`
}
