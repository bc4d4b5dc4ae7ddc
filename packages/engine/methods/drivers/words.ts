/** Writes the sentences of drivers: the change, its causes, and the rest. */
import { isLevel, LEVEL_SHARE } from '@assay/model/change'
import { type Measure, opening } from '../../verdicts/measure.ts'
import { verbFor, withArticle } from '../../verdicts/nouns.ts'
import { alone, within } from '../../verdicts/times.ts'
import { amount, apartAsTold, changeOf, inPoints, partNamed, quoted, shareOf } from '../../verdicts/words.ts'
import { count, enumeration, figure, signed } from '../shared/sentence.ts'
import type { Cause, Causes } from './causes.ts'
import type { Sides } from './sides.ts'

const MOST_NAMED = 2
/** The fewest combinations that show a usual spread beside which one can stand out. */
const LEAST_PARTS = 6
/** The same number if neither rows nor earlier changes show what is ordinary. */
const LEAST_UNTOLD = 30
/** The largest change, as a share of the value before, that may be called noise if there are few parts. */
const MOST_OF_FEW = 0.1
/**
 * Causes with less than this share of the change are counted, not named. If the whole is level, the limit is `LEVEL_SHARE` of
 * the whole.
 */
const LEAST_SHARE = 0.02
/** The share of the change above which the mix is the first part of the explanation. */
const MOSTLY = 0.5

/** A base below this share of the value after is near zero. */
const NEAR_ZERO = 0.01

/**
 * Returns the change as a share of the value before, or null if that value is near zero, below zero, or of the other
 * sign.
 */
export function relativeOf(before: number, after: number): number | null {
  return baseLacks(before, after) === null ? (after - before) / before : null
}

/** Says why no percentage is given. */
export function baseLacks(before: number, after: number): string | null {
  if (before * after < 0) return 'has the other sign'
  if (before < 0) return 'is below zero'
  return Math.abs(before) < NEAR_ZERO * Math.abs(after) || before === 0 ? 'is too near zero' : null
}

/** Tells whether sentences say "high" (shares, durations and the like) and not "strong". */
const isSize = (measure: Measure): boolean => inPoints(measure) || measure.unit !== null

/** Says `country "DE" and channel "paid"`, `channel "paid" without a country`, by the labels of the columns. */
export function whereInWords({ where }: Pick<Cause, 'where'>, labels: (column: string) => string): string {
  const columns = Object.keys(where)
  const known = columns.filter((column) => where[column] !== null)
  const lacking = columns.filter((column) => where[column] === null)
  const part = enumeration(known.map((column) => partNamed(labels(column), where[column])))
  if (lacking.length === 0) return part
  const without = enumeration(lacking.map((column) => withArticle(labels(column))))
  return `${known.length === 0 ? 'the part' : part} without ${without}`
}

/** Returns how much a value moved: "83 %", "3.4 points" for a share, "12 EUR" if the value before is no base. */
function sizeOf(before: number, after: number, measure: Measure): string {
  const relative = relativeOf(before, after)
  const change = after - before
  return relative === null || inPoints(measure) ? changeOf(change, measure, change) : shareOf(relative)
}

/** Says "down 83 %", "up 12 EUR". */
function moved(before: number | null, after: number | null, measure: Measure): string {
  if (before === null || after === null) return 'new'
  if (after === 0 && before > 0) return 'down to nothing'
  return `${after > before ? 'up' : 'down'} ${sizeOf(before, after, measure)}`
}

/** Says how a rate or a share of the denominator moved: "whose share of visits rose from 28 % to 36 %". */
const movedInWords = (cause: Cause, measure: Measure, { weight }: Causes): string =>
  cause.kind === 'mix'
    ? `whose ${shareOfWhat(weight)} ${shareMoved(cause)}`
    : moved(cause.before, cause.after, measure)

const shareOfWhat = (weight: string | undefined): string =>
  weight === undefined ? 'share' : `share of ${weight}`

function shareMoved({ weight_before, weight_after }: Cause): string {
  const [before, after] = [weight_before ?? 0, weight_after ?? 0]
  return `${after > before ? 'rose' : 'fell'} from ${shareOf(before)} to ${shareOf(after)}`
}

export interface Told {
  headline: string
  /** The sentence of the headline about the causes; null if there is none. */
  explanation: string | null
  /** The kind of a change without a named cause. */
  lie: Lie | null
}

const told = (what: string, why: string, between = ': '): Told =>
  why === ''
    ? { headline: `${what}.`, explanation: null, lie: null }
    : { headline: `${what}${between}${why}.`, explanation: `${opening(why)}.`, lie: null }

export function headline(
  measure: Measure,
  sides: Sides,
  found: Causes,
  labels: (column: string) => string,
  mix: Mix | null,
): Told {
  if (sides.unfinished !== null) return { headline: sides.unfinished, explanation: null, lie: null }
  if (sides.expected) return besideExpected(measure, sides, found, labels, mix)
  const { before, after, causes } = found
  const change = after - before
  const basis = sides.per_day ? ` ${withArticle(sides.unit ?? 'day')}` : ''
  const value = (one: number): string => `${amount(one, measure, change === 0 ? null : change)}${basis}`
  const name = opening(measure.label)
  const were = verbFor(measure.label, 'was', 'were')
  const [now, earlier] = [within(sides.after.named), within(sides.before.named)]
  const lone = unmatchedInWords(found, measure, change > 0 ? 'rise' : 'fall', labels)
  if (isLevel(before, after)) {
    const level =
      value(before) === value(after)
        ? `${name} ${now} ${were} as ${isSize(measure) ? 'high' : 'strong'} as ${earlier}: ${value(after)} in both`
        : `${name} ${were} level: ${value(after)} ${now}, ${value(before)} ${earlier}`
    return told(level, joined(levelInWords(found, measure, labels), lone), '; ')
  }
  const noun = change > 0 ? 'rise' : 'fall'
  if (after === 0)
    return told(
      `${name} fell to ${value(0)} ${now} from ${value(before)} ${earlier}`,
      'nothing is left of any part',
    )
  const base = apartAsTold([after, before], measure, change)
    ? `${value(before)} ${earlier}`
    : alone(sides.before.named)
  const blend = lone === '' ? mixInWords(mix, change, noun, labels) : ''
  const mixed = blend !== ''
  if (!causes.some((cause) => matters(cause, found))) {
    const what = `${name} came to ${value(after)} ${now}, ${moved(before, after, measure)} from ${base}`
    if (lone !== '') return told(what, joined(lone, restInWords(found, measure)))
    if (mixed) return told(what, `${blend}, and no rate stands out of ordinary noise`)
    if (causes.length > 0) return told(what, smallInWords(causes, noun))
    return withoutCause(what, found, sides, { noun, swing: 'swing' })
  }
  const verb = change > 0 ? 'rose' : 'fell'
  const size = sizeOf(before, after, measure)
  return told(
    `${name} ${verb} by ${size} to ${value(after)} ${now} from ${base}`,
    joined(blend, lone, causesInWords(found, measure, noun, labels), restInWords(found, measure)),
  )
}

const joined = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('; ')

/** Returns the effect on the ratio of numerators without a denominator, or 0 if it is too small to be reported. */
function unmatchedEffect({ unmatched, before, after }: Causes): number {
  const effect = unmatched ? unmatched.after - unmatched.before : 0
  const least = isLevel(before, after)
    ? LEVEL_SHARE * Math.abs(before)
    : LEAST_SHARE * Math.abs(after - before)
  return Math.abs(effect) < least ? 0 : effect
}

/** Says "nearly all of the rise came with orders of channel \"paid\" without visits". */
function unmatchedInWords(
  found: Causes,
  measure: Measure,
  noun: string,
  labels: (column: string) => string,
): string {
  const { unmatched, before, after, top, weight } = found
  const effect = unmatchedEffect(found)
  if (!unmatched || effect === 0) return ''
  const one = Object.keys(unmatched.where).length > 0
  const whose = one ? whereInWords(unmatched, labels) : count(unmatched.leaves, 'combination')
  const lone = `${top ?? 'numerators'} of ${whose} without ${weight ?? 'a denominator'}`
  const share = isLevel(before, after) ? 0 : effect / (after - before)
  return share > 0
    ? `${quantity(share)} the ${noun} came with ${lone}`
    : `${lone} made it ${effect > 0 ? 'rise' : 'fall'} by ${changeOf(effect, measure, effect)}`
}

/** Tells whether a cause is large enough to be named. */
function matters(cause: Cause, { before, after }: Causes): boolean {
  return isLevel(before, after)
    ? Math.abs(effectOf(cause)) >= LEVEL_SHARE * Math.abs(before)
    : Math.abs(cause.share ?? 1) >= LEAST_SHARE
}

/** Returns the effect of a cause on the whole. */
const effectOf = ({ kind, after, expected, change }: Cause): number =>
  kind === undefined ? (after ?? 0) - (expected ?? 0) : (change ?? 0)

/** Tells whether causes cancel each other by half of their sizes or more. */
function undo(causes: readonly Cause[]): boolean {
  const effects = causes.map(effectOf)
  const sum = effects.reduce((all, effect) => all + effect, 0)
  return Math.abs(sum) < 0.5 * effects.reduce((all, effect) => all + Math.abs(effect), 0)
}

/** Says "2 small parts stand out, each with less than 2 % of the fall". */
function smallInWords(causes: readonly Cause[], noun: string): string {
  const parts = count(causes.length, 'small part')
  const what = noun === '' ? `${shareOf(LEVEL_SHARE)} of the whole` : `${shareOf(LEAST_SHARE)} of the ${noun}`
  return causes.length === 1
    ? `${parts} stands out, with less than ${what}`
    : `${parts} stand out, each with less than ${what}`
}

/** Says the causes inside a whole that stayed level. */
function levelInWords(found: Causes, measure: Measure, labels: (column: string) => string): string {
  const { causes } = found
  if (causes.length === 0) return ''
  if (!causes.some((cause) => matters(cause, found))) return smallInWords(causes, '')
  return `${partsInWords(found, causes, measure, labels)}${undo(causes) ? ', which cancel' : ''}`
}

/**
 * The effect of the mix: the part of the change from moved shares of segments, and the segment that made most of it.
 */
export interface Mix {
  part: number
  by: string
  segment: string | null
  /** Whether that segment has a larger share than before. */
  grew: boolean
}

/**
 * Returns "most of the fall came with another mix of country: \"US\" has a larger share", or an empty text if rates
 * made most of the change.
 */
function mixInWords(
  mix: Mix | null,
  change: number,
  noun: string,
  labels: (column: string) => string,
): string {
  if (mix === null || !(mix.part / change > MOSTLY)) return ''
  const size = mix.grew ? 'larger' : 'smaller'
  return `${quantity(mix.part / change)} the ${noun} came with another mix of ${labels(mix.by)}, in which ${mix.segment === null ? partNamed(labels(mix.by), null) : quoted(mix.segment)} has a ${size} share`
}

/** Says "Revenue came to 80 in May 2026, 20 % less than expected (100): ...". */
function besideExpected(
  measure: Measure,
  sides: Sides,
  found: Causes,
  labels: (column: string) => string,
  mix: Mix | null,
): Told {
  const { before, after, causes } = found
  const change = after - before
  const value = (one: number): string => amount(one, measure, change === 0 ? null : change)
  const when = sides.expected === 'forecast' ? ` ${within(sides.after.named)}` : ''
  const came = `${opening(measure.label)} came to ${value(after)}${when}`
  const lone = unmatchedInWords(found, measure, 'gap', labels)
  if (isLevel(before, after))
    return told(`${came}, as expected`, joined(levelInWords(found, measure, labels), lone), '; ')
  const what = `${came}, ${sizeOf(before, after, measure)} ${change > 0 ? 'more' : 'less'} than expected (${value(before)}${sides.usual === undefined ? '' : `, usually ${sides.usual}`})`
  if (sides.parted === false) return told(what, '')
  if (after === 0) return told(what, 'nothing came of any part')
  const blend = lone === '' ? mixInWords(mix, change, 'gap', labels) : ''
  const rest = restBesideExpected(found, measure)
  if (causes.some((cause) => matters(cause, found)))
    return told(what, joined(blend, lone, causesInWords(found, measure, 'gap', labels), rest))
  if (lone !== '') return told(what, joined(lone, rest))
  if (blend !== '') return told(what, `${blend}, and no rate stands out of ordinary noise`)
  if (causes.length > 0) return told(what, smallInWords(causes, 'gap'))
  return withoutCause(what, found, sides, { noun: 'gap', swing: 'gap' })
}

/**
 * The kinds of a change without a cause. `one_row`: without one row the change would be another (one-row.ts).
 * `too_few`: with few parts and no earlier changes, no part can be told from noise, however far it moved.
 */
export type Lie = 'one_row' | 'one_part' | 'too_few' | 'in_noise' | 'in_all' | 'unseen'

function lieOf(found: Causes, { history }: Sides): Lie {
  const { before, after, error, told, in_all, searched, even } = found
  if (found.one_row) return 'one_row'
  if (searched === 1) return 'one_part'
  const change = Math.abs(after - before)
  const small = error !== null && change < 2 * error
  if (even && !small) return 'in_all'
  const few = searched < (told ? LEAST_PARTS : LEAST_UNTOLD) && history.length === 0
  if (few && !(told && small && change < MOST_OF_FEW * Math.abs(before))) return 'too_few'
  if (small) return 'in_noise'
  return in_all ? 'in_all' : 'unseen'
}

/** Says why no cause is named. */
function withoutCause(
  what: string,
  found: Causes,
  sides: Sides,
  { noun, swing }: { noun: string; swing: string },
): Told {
  const words: Record<Lie, string> = {
    one_row: `one single row decides the ${noun}`,
    one_part: 'there is only one part, so nothing can be compared with it',
    too_few: 'the parts are too few to tell which of them stands out of ordinary noise',
    in_noise: `a ${swing} of this size may be ordinary noise here`,
    in_all: `the ${noun} is spread over all, and no part stands out of ordinary noise`,
    unseen: `the parts stray too much to tell where the ${noun} lies`,
  }
  const lie = lieOf(found, sides)
  return { ...told(what, words[lie]), lie }
}

/** Says "everything else was 3 % above". */
function restBesideExpected({ rest }: Causes, measure: Measure): string {
  if (rest === null || (rest.before === 0 && rest.after === 0)) return 'nothing else is left'
  const { before, after } = rest
  if (after === 0) return 'nothing came of anything else'
  if (isLevel(before, after)) return 'everything else was as expected'
  return `everything else was ${sizeOf(before, after, measure)} ${after > before ? 'above' : 'below'}`
}

/**
 * Tells whether a part stands out because it did not move as everything else did: it moved the other way or not at all.
 */
const staysBehind = (cause: Cause): boolean =>
  cause.kind === undefined && (stays(cause) || effectOf(cause) * (cause.change ?? 0) <= 0)

/** Tells whether a part did not move: it is level, or the interval of its move contains 0. */
const stays = ({ before, after, low, high }: Cause): boolean =>
  isLevel(before ?? 0, after ?? 0) || (low !== null && high !== null && low <= 0 && high >= 0)

/** Says "country \"FR\" stayed level", "country \"FR\" fell by only 8 %". */
function behindInWords(
  cause: Cause,
  { beside }: Causes,
  measure: Measure,
  labels: (column: string) => string,
): string {
  const where = whereInWords(cause, labels)
  const [before, after] = [cause.before ?? 0, cause.after ?? 0]
  if (stays(cause)) return `${where} ${beside ? 'was as expected' : 'stayed level'}`
  const size = sizeOf(before, after, measure)
  return beside
    ? `${where} was only ${size} ${after > before ? 'above' : 'below'} what was expected`
    : `${where} ${after > before ? 'rose' : 'fell'} by only ${size}`
}

function partsInWords(
  found: Causes,
  causes: readonly Cause[],
  measure: Measure,
  labels: (column: string) => string,
): string {
  const named = causes.slice(0, MOST_NAMED).filter((cause) => matters(cause, found))
  const shown = named.map((cause) => {
    const change = cause.change ?? 0
    if (cause.kind === 'mix')
      return `${whereInWords(cause, labels)}, whose ${shareOfWhat(found.weight)} ${shareMoved(cause)}, made it ${change > 0 ? 'rise' : 'fall'} by ${changeOf(change, measure, change)}`
    if (staysBehind(cause)) return behindInWords(cause, found, measure, labels)
    const size = changeOf(change, measure, change)
    if (found.beside)
      return `${whereInWords(cause, labels)} was ${size} ${change > 0 ? 'above' : 'below'} what was expected`
    return `${whereInWords(cause, labels)} ${change > 0 ? 'rose' : 'fell'} by ${size}`
  })
  const more = causes.length - shown.length
  return enumeration(more > 0 ? [...shown, `${more} more moved`] : shown)
}

function causesInWords(
  found: Causes,
  measure: Measure,
  noun: string,
  labels: (column: string) => string,
): string {
  const { causes, cancelling } = found
  if (cancelling) return `${partsInWords(found, causes, measure, labels)}, which largely cancel`
  const along = causes.filter(({ share }) => (share ?? 0) > 0)
  const against = causes.filter((cause) => (cause.share ?? 0) <= 0 && matters(cause, found))
  const behind = against.filter(staysBehind)
  const turned = against.filter((cause) => !staysBehind(cause))
  const counter = joined(
    turned.length === 0 ? '' : `against the ${noun}, ${partsInWords(found, turned, measure, labels)}`,
    behind.length === 0 ? '' : partsInWords(found, behind, measure, labels),
  )
  const large = along.filter((cause) => matters(cause, found))
  if (large.length === 0) return counter
  const shown = large
    .slice(0, MOST_NAMED)
    .map((cause) => `${whereInWords(cause, labels)}, ${movedInWords(cause, measure, found)}`)
  const more = along.length - shown.length
  const list = enumeration(more > 0 ? [...shown, `${more} more`] : shown)
  const share = along.reduce((sum, one) => sum + (one.share ?? 0), 0)
  const told = `${quantity(share)} the ${noun} came with ${list}`
  return counter === '' ? told : `${told}; ${counter}`
}

function quantity(share: number): string {
  if (share > 1.1) return 'more than all of'
  if (share >= 0.9) return 'nearly all of'
  if (share >= 0.6) return 'most of'
  if (share >= 0.4) return 'about half of'
  return `${shareOf(share)} of`
}

/** Says "everything else fell by 16 %". */
function restInWords({ rest }: Causes, measure: Measure): string {
  if (rest === null) return 'nothing else is left'
  const { before, after } = rest
  if (before === 0 && after === 0) return 'nothing else is left'
  if (after === 0) return 'nothing came of anything else'
  if (isLevel(before, after)) return 'everything else was level'
  return `everything else ${after > before ? 'rose' : 'fell'} by ${sizeOf(before, after, measure)}`
}

/** Writes the sentence about everything beside the causes. */
export function restSays(found: Causes, measure: Measure, expected: Sides['expected']): string {
  const rest = expected ? restBesideExpected(found, measure) : restInWords(found, measure)
  if (found.causes.length === 0 && unmatchedEffect(found) === 0)
    return 'Nothing stands out of ordinary noise.'
  return `${opening(rest)}; nothing more stands out of ordinary noise.`
}

export function evidence(name: string, n: number, sides: Sides, found: Causes): string {
  const change = found.after - found.before
  const basis = sides.per_day ? ` ${withArticle(sides.unit ?? 'day')}` : ''
  const size = `${name}: ${figure(found.before, change / 10)} against ${figure(found.after, change / 10)}${basis}, change ${signed(change, change / 10)} (n = ${count(n, 'row')}; ${count(found.searched, 'combination')} searched)`
  const [first] = found.causes
  if (!first) return `${size}.`
  return `${size}. Largest cause: change ${signed(first.change, change / 10)}, 95 % interval ${signed(first.low, change / 10)} to ${signed(first.high, change / 10)}, q = ${first.q.toPrecision(2)}.`
}
