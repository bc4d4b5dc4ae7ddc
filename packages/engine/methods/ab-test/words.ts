/** What `ab_test` says: headline, evidence and doubts. */
import type { Doubt, Grade } from '@assay/model/insight'
import { FEW, fewRows } from '../../verdicts/common-doubts.ts'
import {
  averageOf,
  type Meanings,
  type Measure,
  measureOf,
  opening,
  withThe,
} from '../../verdicts/measure.ts'
import { verbFor } from '../../verdicts/nouns.ts'
import { doubt, lesser } from '../../verdicts/verdict.ts'
import { against, amount, CERTAINTY, changeOf, quoted, withoutRow } from '../../verdicts/words.ts'
import type { Comparison } from '../shared/arms.ts'
import { factorOf } from '../shared/multiplicity.ts'
import { count, enumeration, figure, probability, signed } from '../shared/sentence.ts'
import { type Decisive, decisive, gradeAt } from './influence.ts'
import type { ObservedArm } from './observations.ts'

export interface Told {
  /** How sentences name the column. */
  measure: Measure
  rates: boolean
  /** False if the groups were not drawn by chance. */
  randomised: boolean
  confidence: number
  test: string
  control: ObservedArm
  arms: readonly ObservedArm[]
  comparisons: readonly Comparison[]
  /** The factor by which corrections raised p, beyond the correction over the arms. */
  factor: number
  /** What an observation is called: "row" and "rows", or after the unit. */
  nouns: { one: string; many: string }
}

/**
 * Returns the measure with the name that a sentence gives it: "the average of delay", "the rate of returned". A label
 * of a rate stays as it is.
 */
export function measured(meanings: Meanings, name: string, rates: boolean): Measure {
  const measure = measureOf(meanings, name)
  if (!rates) return { ...measure, label: averageOf(measure) }
  const named = meanings.get(name.toLowerCase())?.label
  const fmt = measure.fmt?.startsWith('pct') ? measure.fmt : 'pct1'
  return {
    ...measure,
    unit: null,
    fmt,
    label: named ? withThe(measure.label) : `the rate of ${measure.label}`,
  }
}

const levelOf = (arm: ObservedArm): number | null => arm.rate ?? arm.mean

/** Writes the headline. It claims no more than the grade `most`, which a correction over the whole report may lower. */
export function headline(told: Told, most: Grade): string {
  const { comparisons, measure } = told
  const [only] = comparisons
  if (comparisons.length === 1) return oneArm(told, only!, most)
  const gradeFor = (p: number | null): Grade => lesser(most, gradeAt(p, told.confidence))
  const sure = comparisons.filter(({ p_adjusted }) => gradeFor(p_adjusted) !== 'unclear')
  const [two, base] = [comparisons.length === 2, quoted(told.control.name)]
  if (sure.length === 0) {
    const who = told.randomised ? 'The test' : 'The data'
    const others = two ? 'either of the two other groups' : `any of the ${comparisons.length} other groups`
    return `${who} cannot tell ${others} from ${base} in ${measure.label}.`
  }
  const far = sure.toSorted((a, b) => Math.abs(b.estimate!) - Math.abs(a.estimate!))[0]!
  if (sure.length === 1) return oneArm(told, far, most)
  const grade = gradeFor(Math.max(...sure.map(({ p_adjusted }) => p_adjusted!)))
  const all = two
    ? 'Both other groups'
    : `${sure.length === comparisons.length ? 'All' : `${sure.length} of the`} ${comparisons.length} other groups`
  const { same, text } = levels(told, far)
  return (
    `${all} ${CERTAINTY[grade]} differ from ${base} in ${measure.label}; the farthest is ${quoted(far.arm)}, ` +
    `${changeOf(far.estimate!, measure)} ${far.estimate! > 0 ? 'higher' : 'lower'}${same ? '; ' : ': '}${text}${association(told)}.`
  )
}

function oneArm(told: Told, found: Comparison, most: Grade): string {
  const { measure, control, randomised } = told
  const grade = lesser(most, gradeAt(found.p_adjusted, told.confidence))
  const [arm, base] = [quoted(found.arm), quoted(control.name)]
  const { same, text } = levels(told, found)
  if (grade === 'unclear') {
    return randomised
      ? `The test cannot tell whether ${arm} changed ${measure.label}: ${text}${same ? '' : ` for ${base}`}.`
      : `The data cannot tell whether ${measure.label} differs between ${arm} and ${base}: ${text}.`
  }
  const way = found.estimate! > 0 ? 'higher' : 'lower'
  const size = changeOf(found.estimate!, measure)
  const place = randomised ? 'with' : 'among'
  return (
    `${opening(measure.label)} ${verbFor(measure.label)} ${CERTAINTY[grade]} ${way} ${place} ${arm} than ${place} ${base}${randomised ? better(measure, found.estimate!) : ''}, ` +
    `by ${size}${same ? '; ' : ': '}${text}${association(told)}.`
  )
}

const association = ({ randomised }: Told): string =>
  randomised ? '' : '; the groups were not drawn by chance, so this is an association and no proof of a cause'

/** Returns ", for the better" or its opposite if the template says which direction is good. */
export function better({ good }: Measure, change: number): string {
  if (good === 'none') return ''
  return change > 0 === (good === 'up') ? ', for the better' : ', for the worse'
}

/** Says "44.2 % against 44.8 %". */
function levels({ arms, control, measure }: Told, found: Comparison): { same: boolean; text: string } {
  const arm = arms.find(({ name }) => name === found.arm)!
  return against([levelOf(arm), levelOf(control)], measure)
}

export function evidence(told: Told): string {
  const { comparisons, control, rates, measure } = told
  const shown = comparisons.slice(0, 3).map((comparison) => difference(told, comparison))
  const more = comparisons.length > 3 ? `; and ${count(comparisons.length - 3, 'further group')}` : ''
  const level = levelOf(control)
  const base = rates && level !== null ? `${figure(level * 100)} %` : figure(level)
  return `Difference of ${measure.label} from ${quoted(control.name)} (${base}, n = ${figure(control.n)}): ${shown.join('; ')}${more}.`
}

/**
 * Says "b" +1.8 points (95 % interval +1.3 to +2.3; pooled z test, p = 0.01, n = 20; 0.7 points would be found 4 times
 * in 5).
 */
function difference({ rates, arms, comparisons, confidence }: Told, found: Comparison): string {
  const { estimate, low, high, p_adjusted, detectable } = found
  const n = arms.find(({ name }) => name === found.arm)!.n
  if (estimate === null) return `${quoted(found.arm)} unknown (n = ${figure(n)})`
  const half = low === null || high === null || low === high ? estimate : (high - low) / 2
  const shown = (value: number): string =>
    rates ? signed(value * 100, half < 0.001 ? half * 100 : 1) : signed(value, half)
  const level = `${+(confidence * 100).toPrecision(4)} %`
  const several = comparisons.filter(({ p }) => p !== null).length > 1 ? ', corrected for several groups' : ''
  const parts = [
    low === null || high === null ? '' : `${level} interval ${shown(low)} to ${shown(high)}${several}`,
    `${found.test}, ${p_adjusted === null ? 'too few to test' : probability(p_adjusted) + (several ? ' adjusted' : '')}, n = ${figure(n)}`,
    detectable === null || gradeAt(p_adjusted, confidence) !== 'unclear'
      ? ''
      : `${rates ? `${figure(detectable * 100)} points` : figure(detectable)} would be found 4 times in 5`,
  ]
  const unit = rates ? ' points' : ''
  return `${quoted(found.arm)} ${shown(estimate)}${unit} (${parts.filter((part) => part !== '').join('; ')})`
}

/** Returns the comparisons after a correction for further tests. */
export function raisedBy(told: Told, factor: number): Told {
  const raised = (p: number | null): number | null => (p === null ? null : Math.min(1, p * factor))
  const comparisons = told.comparisons.map((one) => ({ ...one, p_adjusted: raised(one.p_adjusted) }))
  return { ...told, comparisons, factor }
}

/** Returns the doubt about the first comparison that one observation decides. */
export function oneDecides(told: Told): Doubt[] {
  const { arms, control, comparisons, test, confidence } = told
  const known = comparisons.filter(({ p }) => p !== null).length
  for (const comparison of comparisons) {
    const arm = arms.find(({ name }) => name === comparison.arm)!
    const { p, p_adjusted } = comparison
    const factor = p === null || p_adjusted === null ? 1 : factorOf(p, p_adjusted, known * told.factor)
    const one = decisive(control, arm, comparison, test, confidence, factor)
    if (one) return [doubt('one_row_decides', decides(told, comparison, one))]
  }
  return []
}

/** Returns the caveats about the comparisons. */
export function caveats(told: Told, kurtosis: number | null): Doubt[] {
  const { arms, control, comparisons, rates } = told
  const found: Doubt[] = []
  if (kurtosis !== null && kurtosis > 3)
    found.push(
      doubt('tails_heavy', `A few ${told.nouns.many} lie far from the rest, and the averages lean on them.`),
    )
  const known = comparisons.filter(({ p }) => p !== null).length
  if (known > 1)
    found.push(
      doubt(
        'many_tests',
        `${known} groups were compared with ${quoted(control.name)}; the answers allow for that.`,
      ),
    )
  const small = arms.filter(({ n }) => n < 2)
  const least = Math.min(...arms.filter(({ n }) => n > 1).map(({ n }) => n))
  const varied = arms.some(({ min, max }) => min !== max)
  if (!rates && varied && known > 0 && least < FEW) found.push(fewRows(least, told.nouns))
  if (known > 0 && small.length > 0)
    found.push(
      doubt(
        'too_few',
        `${enumeration(small.slice(0, 5).map(({ name }) => quoted(name)))} ${small.length === 1 ? 'has' : 'have'} fewer than two ${told.nouns.many}: too few to compare.`,
      ),
    )
  return found
}

function decides(told: Told, { arm }: Comparison, one: Decisive): string {
  const { measure, rates, nouns } = told
  const value = rates ? '' : `, at ${amount(one.value, measure)},`
  const versus = told.comparisons.length > 1 ? ` of ${quoted(arm)} from ${quoted(told.control.name)}` : ''
  const sizes = [one.after, one.before].map((size) => changeOf(size, measure))
  const from = `Without one single ${nouns.one} of ${quoted(one.arm)}${value}`
  if (one.what === 'grade') return `${from} ${withoutRow(one.grades, `difference${versus}`)}.`
  const change = {
    direction: 'would point the other way',
    size: `would be ${sizes[0]} in place of ${sizes[1]}`,
  }[one.what]
  return `${from} the difference${versus} ${change}.`
}
