/** Writes the sentences of `plan`: headline, evidence and doubts. */
import type { Doubt } from '@assay/model/insight'
import { allAlike, leftOut, tooFew } from '../../verdicts/common-doubts.ts'
import { type Meanings, type Measure, measureOf, opening, withThe } from '../../verdicts/measure.ts'
import { nounsOf, singular, verbFor, withArticle } from '../../verdicts/nouns.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { amount, brief, changeOf, inPoints, shareOf } from '../../verdicts/words.ts'
import type { Units } from '../experiment/units.ts'
import { count, enumeration, figure } from '../shared/sentence.ts'
import type { PlanOptions } from './options.ts'
import { falls, type Traffic } from './traffic.ts'

/** What is known of the measure. `variance` is that of a unit after the adjustment by the covariate. */
export interface Seen {
  n: number
  value: number
  variance: number
  /** Whether every unit is 0 or 1. */
  rate: boolean
}

/** The smallest difference that a test of `weeks` weeks finds. */
export interface Within {
  weeks: number
  units: number
  effect: number | null
  lift: number | null
}

export interface PlannedMeasure extends Measure {
  ratio: boolean
}

export interface Told {
  asked: PlanOptions
  measure: PlannedMeasure
  units: Units
  /** The number of units with a value. */
  n: number
  seen: Seen | null
  /** The difference in the unit of the measure; null if it is a share of a value that is not above 0. */
  effect: number | null
  traffic: Traffic | null
  groups: number
  /** The number of units over all groups; null if no plan can be made. */
  needed: number | null
  /** The size of each group, the control first; empty if no plan can be made. */
  sizes: readonly number[]
  days: number | null
  within: readonly Within[]
}

/** The number of units below which their spread is badly known. */
const FEW = 30
/** Fewer units do not show how a measure varies at all. */
export const LEAST = 5
/** The number of successes, or failures, below which a share is badly known. */
const FEW_OF_A_KIND = 5
const YEAR = 365

/**
 * Names the measure: "orders per customer" for a sum, "revenue per visit" for a ratio. A share without a format is
 * given in percent.
 */
export function measureOfPlan(meanings: Meanings, asked: PlanOptions, rate: boolean): PlannedMeasure {
  const { success, value = success, aggregate, numerator, denominator, unit } = asked
  const ratio = value === undefined
  const measure = measureOf(meanings, value ?? numerator!)
  const share = rate || (success !== undefined && aggregate !== 'sum')
  const shown = share && measure.fmt === null && measure.unit === null ? { ...measure, fmt: 'pct1' } : measure
  const below = ratio ? singular(measureOf(meanings, denominator!).label) : nounsOf(unit).one
  const per = ratio || aggregate === 'sum' ? ` per ${below}` : ''
  const named = meanings.get((value ?? '').toLowerCase())?.label
  const label =
    share && success !== undefined && !named && !/^(?:the )?(?:rate|share)\b/iu.test(measure.label)
      ? `the rate of ${measure.label}`
      : withThe(measure.label)
  return { ...shown, label: `${label}${per}`, ratio }
}

/** Returns why no plan can be made, or null if one can. */
export function stopOf({
  asked,
  measure,
  seen,
  effect,
}: Pick<Told, 'asked' | 'measure' | 'seen' | 'effect'>): Doubt | null {
  const { label } = measure
  if (seen === null || seen.n < 2) return tooFew(seen?.n ?? 0, label, 'a plan takes', 2)
  if (!Number.isFinite(seen.value) || !Number.isFinite(seen.variance))
    return doubt(
      'no_base',
      `${opening(label)} cannot be computed: what it is divided by adds up to 0, or its values are too large.`,
    )
  if (seen.variance === 0) return allAlike(label)
  if (effect === null)
    return doubt(
      'no_base',
      `${opening(label)} ${verbFor(label)} ${amount(seen.value, measure)}, and a share of that is no size to look for: name the change itself.`,
    )
  const other = seen.value + effect
  if (seen.rate && asked.margin === undefined && (other <= 0 || other >= 1))
    return doubt(
      'no_base',
      `${opening(label)} ${verbFor(label)} ${amount(seen.value, measure)}, and a ${effect < 0 ? 'fall' : 'rise'} of ${changeOf(effect, measure)} leads beyond ${effect < 0 ? '0' : '100 %'}: plan for a smaller one.`,
    )
  return null
}

/**
 * Says "To find a change of 5 % in orders per customer, the test needs about 31,000 customers, some 3 weeks at the
 * present traffic."
 */
export function headline(told: Told): string {
  const { asked, needed, groups, days } = told
  const { many } = nounsOf(asked.unit)
  const arms = groups > 2 ? ` in ${groups} groups` : ''
  const size = needed === null ? `more ${many} than anyone has` : `about ${brief(needed)} ${many}${arms}`
  return `${aim(told)}, the test needs ${size}${days === null ? '' : `, ${stretch(days)} at the present traffic`}.`
}

function aim(told: Told): string {
  const { asked, measure, effect, seen } = told
  const { label } = measure
  if (asked.margin !== undefined)
    return `To show that ${label} ${verbFor(label)} not worse by more than ${changeOf(effect!, measure)}`
  const way = effect! < 0 ? 'fall' : seen!.rate ? 'rise' : 'change'
  const now = inPoints(measure) ? `, which ${verbFor(label)} ${amount(seen!.value, measure)} now` : ''
  return `To find a ${way} of ${sizeOf(told, effect!)} in ${label}${now}`
}

/**
 * Says the size of the difference as it was asked for: a share of the present value, or an amount. Shares change by
 * points.
 */
function sizeOf({ asked, measure, seen }: Told, effect: number): string {
  const relative = asked.lift !== undefined && !inPoints(measure)
  return relative ? shareOf(effect / seen!.value) : changeOf(effect, measure)
}

/** Says "one day", "some 9 days", "some 3 weeks", "more than 2 years". */
function stretch(days: number): string {
  if (days === 1) return 'one day'
  if (days < 14) return `some ${days} days`
  if (days <= YEAR) return `some ${Math.ceil(days / 7)} weeks`
  const years = Math.floor(days / 365.25)
  return years < 2 ? 'more than a year' : `more than ${brief(years)} years`
}

export function evidence({ asked, measure, n, seen, needed, sizes, groups, traffic }: Told): string {
  const { one, many } = nounsOf(asked.unit)
  if (seen === null) return `${count(n, one, many)}.`
  const level = `${opening(measure.label)}: ${figure(seen.value)} with a standard deviation of ${figure(Math.sqrt(seen.variance))} over ${count(n, one, many)}`
  const percent = (share: number): string => `${+(share * 100).toPrecision(4)} %`
  const looks = asked.looks === 'fixed' ? 'one look' : 'any number of looks'
  const size =
    needed === null
      ? ''
      : `; ${eachOf(sizes, groups)} for a power of ${percent(asked.power)} at ${percent(asked.confidence)} confidence and ${looks}`
  const come =
    traffic === null
      ? ''
      : ` ${opening(count(traffic.units, `new ${one}`, `new ${many}`))} in ${count(traffic.days, 'day')}, ${figure(traffic.per_day)} a day: each counts on the day of its first row.`
  return `${level}${size}.${come}`
}

/** Says "640 in each of 2 groups", "800 and 200 in the 2 groups, the control first". */
function eachOf(sizes: readonly number[], groups: number): string {
  const even = sizes.every((size) => size === sizes[0])
  return even
    ? `${figure(sizes[0]!)} in each of ${groups} groups`
    : `${enumeration(sizes.map((size) => figure(size)))} in the ${groups} groups, the control first,`
}

/** Returns the doubts about rows and units that are left out. */
export function leftOutOf({ units, asked, measure }: Told): Doubt[] {
  const nouns = nounsOf(asked.unit)
  return [
    ...leftOut(units.left, `without ${withArticle(nouns.one)}`),
    ...leftOut(units.metrics[0]!.left, `without a value of ${measure.label}`, nouns),
  ]
}

/** Returns all caveats of the plan. `kurtosis` is that of the units, null for shares and few units. */
export function caveats(told: Told, kurtosis: number | null): Doubt[] {
  const { asked, measure } = told
  const { many } = nounsOf(asked.unit)
  const found = [...fewDoubt(told), ...daysDoubts(told), ...leftOutOf(told)]
  if (kurtosis !== null && kurtosis > 3 && asked.winsorise === undefined)
    found.push(
      doubt(
        'tails_heavy',
        `A few ${many} weigh most in ${measure.label}; with winsorise: 0.99, here and in the experiment, fewer are needed.`,
      ),
    )
  return found
}

function fewDoubt({ asked, n, seen, measure }: Told): Doubt[] {
  if (seen === null) return []
  const { many } = nounsOf(asked.unit)
  const rarest = seen.rate ? n * Math.min(seen.value, 1 - seen.value) : FEW_OF_A_KIND
  if (n >= FEW && Math.round(rarest) >= FEW_OF_A_KIND) return []
  return [
    doubt(
      'too_few',
      `The past has too few ${many} to show well how ${measure.label} ${verbFor(measure.label, 'varies', 'vary')}, so the number is rough.`,
    ),
  ]
}

function daysDoubts(told: Told): Doubt[] {
  const { asked, traffic, days, needed } = told
  const { many } = nounsOf(asked.unit)
  if (traffic === null)
    return asked.time === undefined || told.n === 0
      ? []
      : [
          doubt(
            'rows_left_out',
            `No days can be counted for the ${many} of the past, so nobody can say how many the test needs.`,
          ),
        ]
  const found: Doubt[] = []
  if (days !== null && days > YEAR)
    found.push(
      doubt('out_of_reach', `That is longer than a year, so plan for a larger difference${fourWeeks(told)}.`),
    )
  if (falls(traffic)) {
    const { weeks, per_day, before } = traffic.recent!
    const span = weeks === 1 ? 'week' : `${weeks} weeks`
    const later =
      needed === null || per_day === 0
        ? ''
        : ` At the later pace the test takes ${stretch(Math.ceil(needed / per_day))}.`
    found.push(
      doubt(
        'traffic_falls',
        `New ${many} become fewer: ${brief(per_day)} a day in the last ${span} after ${brief(before)} in the ${span} before.${later}`,
      ),
    )
  }
  if (traffic.days < 7)
    found.push(
      doubt(
        'week_uncovered',
        `The past holds ${count(traffic.days, 'day')}, less than a week: other days of the week may bring more or fewer ${many}.`,
      ),
    )
  else if (days !== null && days < 7)
    found.push(
      doubt('week_uncovered', 'Days of the week differ, so let the test run for a whole week all the same.'),
    )
  return found
}

/** Says ": four weeks find 12 % and more". */
function fourWeeks(told: Told): string {
  const effect = told.within.find(({ weeks }) => weeks === 4)?.effect
  return effect === undefined || effect === null ? '' : `: four weeks find ${sizeOf(told, effect)} or more`
}
