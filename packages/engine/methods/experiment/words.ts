/** Writes the sentences of `experiment`: headline, evidence and caveats. */
import type { Doubt, Grade } from '@assay/model/insight'
import { leftOut } from '../../verdicts/common-doubts.ts'
import { type Meanings, type Measure, measureOf, opening, readable, withThe } from '../../verdicts/measure.ts'
import { nounsOf, verbFor } from '../../verdicts/nouns.ts'
import { doubt, lesser } from '../../verdicts/verdict.ts'
import { against, amount, brief, CERTAINTY, changeOf, quoted, shareOf } from '../../verdicts/words.ts'
import { type Decisive, gradeAt } from '../ab-test/influence.ts'
import { better } from '../ab-test/words.ts'
import { enumeration, figure, probability, signed } from '../shared/sentence.ts'
import type { Metric } from './options.ts'
import { isBetter, type Judged } from './results.ts'

export interface Power {
  /** The chance to find the smallest difference that matters with the units so far. */
  now: number | null
  /** The number of units over all arms for a power of 80 %. */
  needed_n: number | null
  /** The number of days left at the traffic so far. */
  days_left: number | null
}

export interface Told {
  meanings: Meanings
  control: string
  unit: string
  judged: readonly Judged[]
  power: Power
  confidence: number
  sequential: boolean
}

/**
 * Returns the measure of a metric: what the template says of its name or its column. The metric's own \`good\` takes
 * precedence.
 */
export function measureOfMetric(meanings: Meanings, { units }: Judged): Measure {
  return meaningOf(meanings, units.metric)
}

export function meaningOf(meanings: Meanings, metric: Metric): Measure {
  const named = [metric.name, metric.value ?? ''].find((name) => meanings.has(name.toLowerCase()))
  const measure = measureOf(meanings, named ?? metric.name)
  return { ...measure, label: withThe(measure.label), good: metric.good ?? measure.good }
}

/** Returns the results after a correction for further tests. */
export function raisedBy(told: Told, factor: number): Told {
  const judged = told.judged.map((one) => {
    const q = one.result.q === null ? null : Math.min(1, one.result.q * factor)
    return {
      ...one,
      result: { ...one.result, q, grade: lesser(one.result.grade, gradeAt(q, told.confidence)) },
    }
  })
  return { ...told, judged }
}

/** Writes the headline. It claims no more than the grade `most`, which a correction over the whole report may lower. */
export function headline(told: Told, most: Grade): string {
  const primary = told.judged.filter((one) => one.primary && one.effect)
  const found = primary.filter(({ result }) => ['firm', 'likely'].includes(lesser(most, result.grade)))
  const [only] = primary
  const asked = primary.some(({ result }) => result.margin !== null)
  if (found.length === 0) {
    if (asked && primary.length > 1)
      return `The experiment cannot answer any of its ${primary.length} main comparisons with ${quoted(told.control)}${ahead(told)}.`
    const what = asked
      ? loss(told, only!)
      : primary.length === 1
        ? `${quoted(only!.result.arm)} changed ${measureOfMetric(told.meanings, only!).label}: ${levels(told, only!)}`
        : `anything changed in ${primary.length} comparisons with ${quoted(told.control)}`
    return `The experiment cannot tell whether ${what}${ahead(told)}.`
  }
  const far = found.toSorted((a, b) => Math.abs(zOf(b)) - Math.abs(zOf(a)))[0]!
  const rest =
    primary.length === 1
      ? ''
      : `; ${partOf(found.length, primary.length)} main comparisons ${asked ? 'have an answer' : 'found a difference'}`
  return `${opening(change(told, far, most))}${rest}.`
}

const partOf = (some: number, all: number): string =>
  some < all ? `${some} of ${all}` : all === 2 ? 'both' : `all ${all}`

const zOf = ({ effect }: Judged): number => (effect!.estimate - effect!.boundary) / (effect!.error || 1)

/**
 * Says "revenue is worse with "b" by more than 0.5 EUR: 11.7 EUR against 11.9 EUR for "a"". `how` stands before
 * "worse".
 */
function loss(told: Told, judged: Judged, how = ''): string {
  const measure = measureOfMetric(told.meanings, judged)
  const { arm, margin } = judged.result
  return `${measure.label} ${verbFor(measure.label)} ${how}worse with ${quoted(arm)} by more than ${changeOf(margin!, measure)}: ${levels(told, judged)}`
}

/** Says "revenue is clearly higher with "b", by 0.4 EUR: 12.3 EUR against 11.9 EUR for "a"". */
function change(told: Told, judged: Judged, most: Grade): string {
  const { result, units } = judged
  const sure = CERTAINTY[lesser(most, result.grade)]
  if (result.margin !== null)
    return loss(told, judged, isBetter(judged.effect!) ? `${sure} not ` : `${sure} `)
  const measure = measureOfMetric(told.meanings, judged)
  const way = result.estimate! > 0 ? 'higher' : 'lower'
  const least = units.metric.minimum_effect
  const small =
    least !== undefined && Math.abs(result.estimate!) < least
      ? `, less than the ${changeOf(least, measure)} that matter`
      : ''
  return (
    `${measure.label} ${verbFor(measure.label)} ${sure} ${way} with ${quoted(result.arm)}${better(measure, result.estimate!)}, ` +
    `by ${changeOf(result.estimate!, measure)}${small}: ${levels(told, judged)}`
  )
}

/**
 * Says the values of both arms. The arm's value is the control's plus the estimate. With a covariate this is not its
 * plain mean.
 */
function levels({ meanings, control }: Told, judged: Judged): string {
  const measure = measureOfMetric(meanings, judged)
  const { control_value, estimate } = judged.result
  const { same, text } = against([control_value! + estimate!, control_value], measure)
  return same ? text : `${text} for ${quoted(control)}`
}

function ahead({ power, unit }: Told): string {
  if (power.needed_n === null || power.now === null || power.now >= 0.8) return ''
  const days =
    power.days_left === null
      ? ''
      : `, ${power.days_left === 1 ? 'one more day' : `${brief(power.days_left)} more days`} at the traffic so far`
  return `; it needs about ${brief(power.needed_n)} ${nounsOf(unit).many} in all${days}`
}

export function evidence(told: Told): string {
  const shown = told.judged.slice(0, 4).map((one) => {
    const { arm, estimate, low, high, q } = one.result
    const measure = measureOfMetric(told.meanings, one)
    const metric = measure.label
    if (!one.effect || low === null || high === null)
      return `${metric}, ${quoted(arm)}: too few units, or nothing varies`
    const [scale, unit] = measure.fmt?.startsWith('pct') ? [100, ' points'] : [1, '']
    const half = (scale * (high - low)) / 2
    const shown = (value: number): string => signed(scale * value, half)
    const { margin } = one.result
    const beyond = margin === null ? '' : ` against a loss of ${changeOf(margin, measure)}`
    const level = `${+(told.confidence * 100).toPrecision(4)} % ${told.sequential ? 'always-valid ' : ''}interval`
    return `${metric}, ${quoted(arm)} ${shown(estimate!)}${unit} (${level} ${shown(low)} to ${shown(high)}${lift(one.result, told.control)}; ${probability(q)} adjusted${beyond}, n = ${figure(one.arm.n)} and ${figure(one.control.n)})`
  })
  const more = told.judged.length > 4 ? `; and ${told.judged.length - 4} more` : ''
  const { now } = told.power
  const power =
    now === null
      ? ''
      : losing(told)
        ? ` If nothing changes, a loss of the margin is excluded with a chance of ${shareOf(now)} so far.`
        : ` The smallest difference that matters is found with a chance of ${shareOf(now)} so far.`
  return `Difference from ${quoted(told.control)}: ${shown.join('; ')}${more}.${power}`
}

/** Tells whether the power is that of excluding a loss. */
function losing({ judged }: Told): boolean {
  const first = judged.find(
    ({ primary, effect, units: { metric } }) =>
      primary && effect && (metric.margin ?? metric.minimum_effect) !== undefined,
  )
  return typeof first?.result.margin === 'number'
}

/**
 * Says "; relative to "old" +27.4 %, +24.9 % to +29.8 %". The interval has the level of the result's interval.
 */
function lift({ relative, relative_low, relative_high }: Judged['result'], control: string): string {
  if (relative === null || relative_low === null || relative_high === null) return ''
  const half = 50 * (relative_high - relative_low)
  const shown = (value: number): string => `${signed(100 * value, half)} %`
  return `; relative to ${quoted(control)} ${shown(relative)}, ${shown(relative_low)} to ${shown(relative_high)}`
}

export function gradeOfAll(judged: readonly Judged[]): Exclude<Grade, 'withheld'> {
  const grades = judged.filter(({ primary }) => primary).map(({ result }) => result.grade)
  return grades.includes('firm') ? 'firm' : grades.includes('likely') ? 'likely' : 'unclear'
}

/** Returns the caveats that hold for all metrics together. */
export function caveatsOfAll(told: Told): Doubt[] {
  const tested = told.judged.filter(({ effect }) => effect !== null).length
  const flat = told.judged.filter(({ effect }) => effect === null)
  const left = told.judged.reduce((most, { units }) => Math.max(most, units.left), 0)
  return [
    ...(tested > 1
      ? [doubt('many_tests', `${tested} comparisons were made; their certainty allows for that.`)]
      : []),
    ...(flat.length > 0 && tested > 0 ? [doubt('constant', untested(flat, nounsOf(told.unit).many))] : []),
    ...leftOut(left, 'without a value', nounsOf(told.unit)),
  ]
}

/** Says "Visits and returns cannot be compared: all users have the same." */
function untested(flat: readonly Judged[], many: string): string {
  const names = [...new Set(flat.map(({ result }) => readable(result.metric)))].slice(0, 5)
  const same = flat.every(
    ({ units, control, arm }) => !units.beyond && !units.ratio && control.n > 1 && arm.n > 1,
  )
  const why = same ? `all ${many} have the same` : `too few ${many}, or nothing varies`
  return `${opening(enumeration(names))} cannot be compared: ${why}.`
}

interface Subject {
  measure: Measure
  nouns: { one: string }
  /** Whether the units are 0 or 1. Sentences then give their share, not their value. */
  flags: boolean
}

/** Says "Without one user of "b", at 90,000, revenue would differ by 0.1 in place of 90." */
export function decides(
  { measure, nouns, flags }: Subject,
  { arm, value, before, after, what, grades }: Decisive,
): string {
  const sizes = [after, before].map((size) => changeOf(size, measure))
  const change =
    what === 'direction'
      ? 'would differ the other way'
      : /[1-9]|almost/u.test(sizes[0]!)
        ? `would differ by ${sizes[0]} in place of ${sizes[1]}`
        : 'would not differ at all'
  const sure =
    grades[0] === grades[1] ? '' : `, and the answer would be ${surer(grades) ? 'surer' : 'less sure'}`
  return `Without one ${nouns.one} of ${quoted(arm)}${flags ? '' : `, at ${amount(value, measure)},`} ${measure.label} ${change}${sure}.`
}

/** Says what one unit changes about a loss that is asked about. Returns null if the answer stays. */
export function decidesLoss(
  { measure, nouns, flags }: Subject,
  { arm, value, what, grades }: Decisive,
): string | null {
  if (what !== 'direction' && grades[0] === grades[1]) return null
  const answer = what === 'direction' ? 'the opposite' : surer(grades) ? 'surer' : 'less sure'
  return `Without one ${nouns.one} of ${quoted(arm)}${flags ? '' : `, at ${amount(value, measure)},`} the answer would be ${answer}.`
}

const surer = ([before, after]: Decisive['grades']): boolean => lesser(before, after) === before
