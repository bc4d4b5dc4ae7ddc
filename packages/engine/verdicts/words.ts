/**
 * Words numbers, changes and names for headlines: at most 3 significant digits, the unit beside them, words in place
 * of signs. Evidence uses methods/shared/sentence.ts, with the digits that a statistician needs.
 */
import type { Grade } from '@assay/model/insight'
import type { Measure } from './measure.ts'
import { singular, withArticle } from './nouns.ts'

const SIGNIFICANT = 3
const SIZES: [number, string][] = [
  [1e12, 'trillion'],
  [1e9, 'billion'],
  [1e6, 'million'],
]
/** Currencies that stand before their amount. */
const CURRENCIES: Record<string, string> = { eur: '€', gbp: '£', jpy: '¥', usd: '$' }

/** Numbers outside this range are printed by their power of ten. */
const SMALLEST_PLAIN = 1e-6
const LARGEST_PLAIN = 1e18
/** The size below which a number without anything to compare it with may be a rounding error. */
const ROUNDING = 1e-12
/** The share of the difference that matters below which a number is printed as 0. */
const NOTHING_BESIDE = 1e-9
const RAISED: Record<string, string> = {
  '-': '⁻',
  ...Object.fromEntries(Array.from('⁰¹²³⁴⁵⁶⁷⁸⁹', (digit, value) => [String(value), digit])),
}

/**
 * Returns a number of at most 3 significant digits, without a sign. `step`: the size of a difference that matters (a
 * change, half an interval). Digits far below it are left out, and a number far below it is 0. Examples: "12.3",
 * "1,230", "4.56 million", "0.00012", "1.03 × 10⁻⁹".
 */
export function brief(value: number, step?: number | null): string {
  const size = Math.abs(value)
  if (!Number.isFinite(size)) return 'an unknown amount'
  if (size === 0 || (step && size < Math.abs(step) * NOTHING_BESIDE)) return '0'
  if (size < ROUNDING && !step) return 'almost 0'
  // Rounding the largest doubles up would leave their range.
  const rounded = size < 1e300 ? roundedBy(size, step) : size
  if (rounded === 0) return '0'
  if (rounded < SMALLEST_PLAIN || rounded >= LARGEST_PLAIN) return byPower(rounded)
  if (rounded >= 1e15) return `${grouped(trim((rounded / 1e12).toPrecision(SIGNIFICANT)))} trillion`
  for (const [unit, name] of SIZES)
    if (rounded >= unit) return `${trim((rounded / unit).toPrecision(SIGNIFICANT))} ${name}`
  const decimals = Math.max(0, SIGNIFICANT - 1 - Math.floor(Math.log10(rounded)))
  return grouped(trim(rounded.toFixed(Math.min(decimals, 12))))
}

/** Writes a number by its power of ten: "1.03 × 10⁻⁹". */
function byPower(size: number): string {
  const [digits = '', power = ''] = size.toExponential(SIGNIFICANT - 1).split('e')
  const raised = Array.from(String(Number(power)), (sign) => RAISED[sign]).join('')
  return `${trim(digits)} × 10${raised}`
}

/** Rounds to 3 significant digits, or more coarsely if a fifteenth of `step` is larger. */
function roundedBy(size: number, step: number | null | undefined): number {
  const finest = 10 ** (Math.floor(Math.log10(size)) - SIGNIFICANT + 1)
  const needed = step && Number.isFinite(step) ? 10 ** Math.floor(Math.log10(Math.abs(step) / 15)) : finest
  const unit = Math.min(Math.max(finest, needed), 10 ** Math.floor(Math.log10(size)))
  const rounded = Math.round(size / unit) * unit
  const short = Number(rounded.toPrecision(SIGNIFICANT))
  // The largest doubles have no rounded neighbour above.
  return Number.isFinite(short) ? short : size
}

function trim(text: string): string {
  const plain = text.includes('e') ? String(Number(text)) : text
  return plain.includes('.') ? plain.replace(/\.?0+$/u, '') : plain
}

function grouped(text: string): string {
  const [whole = '', fraction] = text.split('.')
  return whole.replaceAll(/\B(?=(\d{3})+$)/gu, ',') + (fraction === undefined ? '' : `.${fraction}`)
}

const isShare = (measure: Measure): boolean => /^pct\d?$/u.test(measure.fmt ?? '')
/** Tells whether a measure is a difference of shares. */
const isPoints = (measure: Measure): boolean => /^pts\d?$/u.test(measure.fmt ?? '')
const hundredfold = (measure: Measure): number => (isShare(measure) || isPoints(measure) ? 100 : 1)

/**
 * Tells whether values are percentages. Their changes are told in points, because a percentage of a percentage
 * misleads.
 */
export const inPoints = (measure: Measure): boolean =>
  isShare(measure) || isPoints(measure) || measure.unit === '%'

/**
 * Words for things that may be below zero even if no known value is, and of which a percentage may exceed a hundred.
 * "exchange" and "against" do not count.
 */
const SIGNED = inNames(
  String.raw`\p{L}*(?:growth|margin|profit|yield|inflation|delta)s?|changes?|returns?|interest|gains?|loss(?:es)?|diffs?|differences?|(?:up)?lifts?|(?:in|de)creases?|rises?|fall`,
)
const SIGNED_WHOLE = inNames(
  '(?:im)?balances?|temperatures?|temp|degrees?|°[cf]|net|positions?|elevations?|altitudes?',
)

/** Makes a pattern of whole words in names such as "unit_price" and "unit price", and "unitPrice" once it is `spoken`. */
function inNames(words: string): RegExp {
  return new RegExp(String.raw`(?<!\p{L})(?:${words})(?!\p{L})`, 'iu')
}

const spoken = (names: string): string => names.replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ')

/**
 * Returns the bounds of a measure's values: 0 and 100 % for shares of a whole, and 0 for whole numbers, if no known
 * value is outside and the name is not of something that may lie below zero. Anything else has no bounds.
 */
export function boundsOf(measure: Measure, values: readonly number[]): [number, number] {
  const whole = isShare(measure) ? 1 : 100
  const names = spoken(`${measure.name} ${measure.label} ${measure.unit ?? ''}`)
  const none: [number, number] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  if (isPoints(measure) || SIGNED.test(names) || values.length === 0 || values.some((value) => value < 0))
    return none
  if (inPoints(measure)) return [0, values.some((value) => value > whole) ? Number.POSITIVE_INFINITY : whole]
  const counted = !SIGNED_WHOLE.test(names) && values.every(Number.isInteger)
  return counted ? [0, Number.POSITIVE_INFINITY] : none
}

/** Words a value of a measure: "9 minutes", "€1,230", "44.2 %"; "below zero by 3 degrees" is "-3 degrees". */
export function amount(value: number | null, measure: Measure, step?: number | null): string {
  if (value === null || !Number.isFinite(value)) return 'unknown'
  const text = withUnit(Math.abs(value), measure, step)
  return value < 0 && /[1-9]|almost/u.test(text) ? `minus ${text}` : text
}

/** Words the size of a change, without direction: "19 minutes", "3.4 points" of a share. */
export function changeOf(value: number, measure: Measure, step?: number | null): string {
  const size = Math.abs(value)
  if (inPoints(measure)) {
    const scale = hundredfold(measure)
    return pointsOf(brief(size * scale, step ? step * scale : step))
  }
  return withUnit(size, measure, step)
}

const pointsOf = (text: string): string => `${text} ${text === '1' ? 'point' : 'points'}`

/** Units that are numbers: 129,726 thousand is written as "130 million". */
const MULTIPLE = /^(thousand|million|billion)s?(?: (?:of )?(\p{L}.*))?$/iu
const MULTIPLES: Record<string, number> = { thousand: 1e3, million: 1e6, billion: 1e9 }

function withUnit(size: number, measure: Measure, step?: number | null): string {
  const [, multiple, of] = MULTIPLE.exec(measure.unit ?? '') ?? []
  if (multiple) {
    const by = MULTIPLES[multiple.toLowerCase()]!
    return withUnit(size * by, { ...measure, unit: of ?? null }, step ? step * by : step)
  }
  const told = brief(size * hundredfold(measure), step ? step * hundredfold(measure) : step)
  if (isShare(measure)) return `${told} %`
  if (isPoints(measure)) return pointsOf(told)
  const text = brief(size, step)
  const currency = CURRENCIES[(measure.unit ?? measure.fmt ?? '').toLowerCase().replace(/\d?[kmb]?$/u, '')]
  // Cents have two digits, and yen have none.
  if (currency) return `${currency}${currency !== '¥' && /^\d\.\d$/u.test(text) ? `${text}0` : text}`
  if (measure.unit === null) return text
  return `${text} ${text === '1' ? oneOf(measure.unit) : measure.unit}`
}

const oneOf = (unit: string): string => (/^\p{Ll}{4,}$/u.test(unit) ? singular(unit) : unit)

/**
 * Words two values of a measure with their unit once: "8.4 to 9.4 minutes", "€20 to €23", "41.5 to 46.7 %"; "about 1"
 * if three digits do not distinguish them.
 */
export function both(
  [first, second]: readonly [number | null, number | null],
  measure: Measure,
  { joined = 'to', step = null }: { joined?: string; step?: number | null } = {},
): string {
  const [from, to] = [amount(first, measure, step), amount(second, measure, step)]
  if (joined === 'to' && from === to) return `about ${from}`
  const unit = isShare(measure) ? '%' : isPoints(measure) ? 'points' : measure.unit
  const end = unit === null ? '' : ` ${unit}`
  const shared = end !== '' && from.endsWith(end) && to.endsWith(end)
  return `${shared ? from.slice(0, -end.length) : from} ${joined} ${to}`
}

/**
 * Words two values in comparison: "25.8 against 22.3 minutes", "44.2 % against 44.8 %"; "both are about 100" if three
 * digits do not distinguish them.
 */
export function against(
  [value, base]: readonly [number | null, number | null],
  measure: Measure,
): { same: boolean; text: string } {
  const [left, right] = [amount(value, measure), amount(base, measure)]
  if (left === right) return { same: true, text: `both are about ${left}` }
  const text = inPoints(measure)
    ? `${left} against ${right}`
    : both([value, base], measure, { joined: 'against' })
  return { same: false, text }
}

/** The largest error of a printed difference, as a share of it. */
const OFF = 0.15

/**
 * Tells whether two values, as a sentence rounds them, differ by about as much as they do. 117,500 and 116,400 do
 * not: "118,000, up 0.94 % from 116,000" would contradict itself.
 */
export function apartAsTold(
  [value, base]: readonly [number, number],
  measure: Measure,
  step?: number | null,
): boolean {
  const scale = hundredfold(measure)
  const told = (one: number): number =>
    one === 0 ? 0 : Math.sign(one) * roundedBy(Math.abs(one) * scale, step ? step * scale : step)
  const apart = (value - base) * scale
  return Math.abs(told(value) - told(base) - apart) <= OFF * Math.abs(apart)
}

/**
 * Words a share of a whole or of a change, as a percentage without sign: 0.834 is "83 %". Above ten times it is "12
 * times".
 */
export function shareOf(share: number | null): string {
  if (share === null || !Number.isFinite(share)) return 'an unknown share'
  const size = Math.abs(share)
  if (size >= 10) return `${brief(size)} times`
  if (size > 0 && size < 0.001) return 'less than 0.1 %'
  if (size < 1 && size >= 0.995) return 'over 99 %'
  return `${size < 0.1 ? trim((size * 100).toPrecision(2)) : Math.round(size * 100)} %`
}

/** The words for how sure a claim is, by its grade. */
export const CERTAINTY: Record<Grade, string> = {
  firm: 'clearly',
  likely: 'probably',
  unclear: 'cannot tell',
  withheld: 'must not be read',
}

/** Returns a value of the data in quotes, in its own spelling, on one line, at most 60 characters. */
export function quoted(value: unknown): string {
  if (value === null || value === undefined) return 'no value'
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/gu, ' ').trim()
  if (text === '') return 'an empty text'
  const letters = Array.from(text)
  return `"${letters.length <= 60 ? text : `${letters.slice(0, 59).join('')}…`}"`
}

/** Names the rows of one value of a column: `country "DE"`, "the part without a country". */
export function partNamed(label: string, value: unknown): string {
  return value === null || value === undefined
    ? `the part without ${withArticle(label)}`
    : `${label} ${quoted(value)}`
}

/**
 * Says how a row changes the grade. The grade before is not named, because a correction for several tests may lower it.
 */
export function withoutRow([before, after]: readonly [Grade, Grade], what: string): string {
  if (after === 'unclear') return `there would be no clear ${what}`
  if (before === 'firm') return `the ${what} would be less certain`
  return `there would be a ${after === 'firm' ? 'clear' : 'probable'} ${what}`
}
