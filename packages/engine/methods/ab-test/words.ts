/** What `ab_test` says: headline, evidence and doubts. */
import type { Doubt } from '@assay/model/insight'
import { type Meanings, type Measure, measureOf, opening, readable } from '../../verdicts/measure.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { amount, CERTAINTY, changeOf, quoted } from '../../verdicts/words.ts'
import type { Comparison } from '../shared/arms.ts'
import { count, enumeration, figure, probability, signed } from '../shared/sentence.ts'
import { type Decisive, decisive, gradeAt } from './influence.ts'
import type { ObservedArm } from './observations.ts'

export interface Told {
  /** The column, for sentences. */
  measure: Measure
  rates: boolean
  /** False where the groups were not drawn by chance. */
  randomised: boolean
  confidence: number
  test: string
  control: ObservedArm
  arms: readonly ObservedArm[]
  comparisons: readonly Comparison[]
  /** What an observation is: "row", or the readable name of the unit. */
  what: string
}

/** The measure with the name that a sentence gives it: "average delay", "the rate of returned"; a label of the template as it is. */
export function measured(meanings: Meanings, name: string, rates: boolean): Measure {
  const measure = measureOf(meanings, name)
  if (!rates) return { ...measure, label: `average ${measure.label}` }
  const named = meanings.get(name.toLowerCase())?.label
  const fmt = measure.fmt?.startsWith('pct') ? measure.fmt : 'pct1'
  return { ...measure, unit: null, fmt, label: named ? measure.label : `the rate of ${measure.label}` }
}

export const plural = (what: string): string =>
  readable(what).endsWith('s') ? readable(what) : `${readable(what)}s`

const levelOf = (arm: ObservedArm): number | null => arm.rate ?? arm.mean

export function headline(told: Told): string {
  const { comparisons, measure } = told
  const [only] = comparisons
  if (comparisons.length === 1) return oneArm(told, only!)
  const sure = comparisons.filter(({ p_adjusted }) => gradeAt(p_adjusted, told.confidence) !== 'unclear')
  const others = `the other ${comparisons.length} groups`
  if (sure.length === 0) {
    const who = told.randomised ? 'The test' : 'The data'
    return `${who} cannot tell any of ${others} from ${quoted(told.control.name)} by ${measure.label}.`
  }
  const far = sure.toSorted((a, b) => Math.abs(b.estimate!) - Math.abs(a.estimate!))[0]!
  if (sure.length === 1) return oneArm(told, far)
  const grade = gradeAt(Math.max(...sure.map(({ p_adjusted }) => p_adjusted!)), told.confidence)
  const all = sure.length === comparisons.length ? `All ${others}` : `${sure.length} of ${others}`
  return (
    `${all} ${CERTAINTY[grade]} differ from ${quoted(told.control.name)} by ${measure.label}; the farthest, ` +
    `${quoted(far.arm)}, ${told.randomised ? 'has' : 'shows'} ${levels(told, far)}${association(told)}.`
  )
}

function oneArm(told: Told, found: Comparison): string {
  const { measure, control, randomised } = told
  const grade = gradeAt(found.p_adjusted, told.confidence)
  const [arm, base] = [quoted(found.arm), quoted(control.name)]
  if (grade === 'unclear') {
    return randomised
      ? `The test cannot tell whether ${arm} changed ${measure.label}: ${levels(told, found)} for ${base}.`
      : `The data cannot tell whether ${measure.label} differs between ${arm} and ${base}: ${levels(told, found)}.`
  }
  const way = found.estimate! > 0 ? 'higher' : 'lower'
  const size = changeOf(found.estimate!, measure)
  const place = randomised ? 'with' : 'among'
  return (
    `${opening(measure.label)} is ${CERTAINTY[grade]} ${way} ${place} ${arm} than ${place} ${base}, ` +
    `by ${size}: ${levels(told, found)}${association(told)}.`
  )
}

const association = ({ randomised }: Told): string =>
  randomised ? '' : '; the groups were not drawn by chance, so this is an association and no proof of a cause'

/** "44.2 % against 44.8 %". */
function levels({ arms, control, measure }: Told, found: Comparison): string {
  const arm = arms.find(({ name }) => name === found.arm)!
  return `${amount(levelOf(arm), measure)} against ${amount(levelOf(control), measure)}`
}

export function evidence(told: Told): string {
  const { comparisons, control, rates, measure } = told
  const shown = comparisons.slice(0, 3).map((comparison) => difference(told, comparison))
  const more = comparisons.length > 3 ? `; and ${count(comparisons.length - 3, 'further group')}` : ''
  const level = levelOf(control)
  const base = rates && level !== null ? `${figure(level * 100)} %` : figure(level)
  const what = rates ? `rate of ${measure.name}` : `mean of ${measure.name}`
  return `Difference of the ${what} from ${quoted(control.name)} (${base}, n = ${figure(control.n)}): ${shown.join('; ')}${more}.`
}

/** "b" +1.8 points (95 % interval +1.3 to +2.3; pooled z test, p = 0.01, n = 20; 0.7 points would be found 4 times in 5). */
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

/** What a reader must know of the comparisons. */
export function caveats(told: Told, kurtosis: number | null): Doubt[] {
  const { arms, control, comparisons, test } = told
  const found: Doubt[] = []
  for (const comparison of comparisons) {
    const arm = arms.find(({ name }) => name === comparison.arm)!
    const one = decisive(control, arm, comparison, test, told.confidence)
    if (one && found.length === 0) found.push(doubt('one_row_decides', decides(told, comparison, one)))
  }
  if (kurtosis !== null && kurtosis > 3)
    found.push(
      doubt(
        'tails_heavy',
        `A few ${plural(told.what)} lie far from the rest, and the averages lean on them.`,
      ),
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
  if (known > 0 && small.length > 0)
    found.push(
      doubt(
        'too_few',
        `${enumeration(small.slice(0, 5).map(({ name }) => quoted(name)))} ${small.length === 1 ? 'has' : 'have'} fewer than two ${plural(told.what)}: too few to compare.`,
      ),
    )
  return found
}

function decides(told: Told, { arm }: Comparison, one: Decisive): string {
  const { measure, rates, what } = told
  const value = rates ? '' : `, at ${amount(one.value, measure)},`
  const versus = told.comparisons.length > 1 ? ` of ${quoted(arm)} from ${quoted(told.control.name)}` : ''
  const sizes = [one.after, one.before].map((size) => changeOf(size, measure))
  const says: Record<string, string> = {
    firm: 'a clear difference',
    likely: 'a probable difference',
    unclear: 'no answer',
  }
  const change = {
    direction: 'would point the other way',
    size: `would be ${sizes[0]} in place of ${sizes[1]}`,
    grade: `would give ${says[one.grades[1]]} in place of ${says[one.grades[0]]}`,
  }[one.what]
  return `Without one single ${readable(what)} of ${quoted(one.arm)}${value} the difference${versus} ${change}.`
}
