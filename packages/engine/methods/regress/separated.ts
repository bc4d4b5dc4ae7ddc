/**
 * Handles outcomes that the columns of x separate without an error. Logistic regression has no finite answer for them
 * (Albert and Anderson, Biometrika 71, 1984). For one column the outcome says where the border lies, and the chance
 * that so many outcomes of each kind fall on two sides of a border by accident: 2 of all their orders.
 */
import type { Doubt, Grade } from '@assay/model/insight'
import { logGamma } from '../../numeric/gamma.ts'
import { type Meanings, measureOf, opening } from '../../verdicts/measure.ts'
import { doubt, gradeOf } from '../../verdicts/verdict.ts'
import { amount, CERTAINTY } from '../../verdicts/words.ts'
import { count, figure, probability } from '../shared/sentence.ts'
import type { Design, NamedTerm } from './design.ts'

export interface Separated {
  headline: (grade: Grade) => string
  grade: Exclude<Grade, 'withheld'>
  evidence: string
  doubt: Doubt
}

export function separated(
  { response, columns }: Design,
  terms: readonly NamedTerm[],
  y: string,
  meanings: Meanings,
): Separated {
  const measure = measureOf(meanings, y)
  const says = `No row of ${measure.label} lies on the wrong side, so the size of the effect has no bound in these rows; only rows that overlap can give one.`
  const found = { doubt: doubt('separated', says) }
  const border = terms.length === 1 ? borderOf(columns[0]!, response) : null
  const name = opening(measure.label)
  if (!border) {
    const evidence = `${count(response.length, 'complete row')}, told apart by ${count(terms.length, 'column')} without an error.`
    const headline = (): string => `${name} is told apart completely by the columns of x in these rows.`
    return { ...found, headline, grade: 'unclear', evidence }
  }
  const x = measureOf(meanings, terms[0]!.column)
  const { above, below, up, p } = border
  const gap = (above - below) / 2
  const [from, to] = [amount(above, x, gap), amount(below, x, gap)]
  const [high, low] = up ? ['always', 'never'] : ['never', 'always']
  const sides =
    above === below
      ? `above ${from} it is ${high} so, below ${low}`
      : `from ${from} on it is ${high} so, up to ${to} ${low}`
  const headline = (grade: Grade): string =>
    grade === 'unclear'
      ? `No clear link between ${measure.label} and ${x.label}: the two sides of a border tell it apart, but so few rows may fall so by chance.`
      : `${name} ${CERTAINTY[grade]} goes with ${x.label}: ${sides}.`
  const evidence = `${measure.label} told apart by ${x.label} between ${figure(below, gap)} and ${figure(above, gap)}, ${probability(p)} over all orders, n = ${count(response.length, 'row')}.`
  return { ...found, headline, grade: gradeOf(p), evidence }
}

interface Border {
  /** The least x on the upper side and the greatest on the lower side. */
  above: number
  below: number
  /** Whether the outcome is true on the upper side. */
  up: boolean
  p: number
}

function borderOf(x: readonly number[], y: readonly number[]): Border | null {
  const of = (outcome: number): number[] => x.filter((_, row) => y[row] === outcome)
  const ends = [of(0), of(1)].map((values) => ({
    n: values.length,
    low: values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY),
    high: values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY),
  })) as [End, End]
  const [never, always] = ends
  const orders = logGamma(never.n + always.n + 1) - logGamma(never.n + 1) - logGamma(always.n + 1)
  const p = Math.min(1, 2 * Math.exp(-orders))
  if (always.low >= never.high) return { above: always.low, below: never.high, up: true, p }
  if (never.low >= always.high) return { above: never.low, below: always.high, up: false, p }
  return null
}

interface End {
  n: number
  low: number
  high: number
}
