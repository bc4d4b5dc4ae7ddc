/**
 * Checks that a text has only numbers that were given. A number is accepted if a given number, rounded as the text
 * writes it (decimals, thousands, percent), is the same. Signs are ignored: "fell by 3" stands for -3. Numbers in
 * words from two on are checked too.
 */

const WORDS: Record<string, number> = {
  ...Object.fromEntries(
    'two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
      .split(' ')
      .map((word, index) => [word, index + 2]),
  ),
  ...Object.fromEntries(
    'twenty thirty forty fifty sixty seventy eighty ninety'
      .split(' ')
      .map((word, index) => [word, (index + 2) * 10]),
  ),
  twice: 2,
  double: 2,
  doubled: 2,
  triple: 3,
  tripled: 3,
  half: 0.5,
  third: 1 / 3,
  quarter: 0.25,
  dozen: 12,
  hundred: 100,
  thousand: 1e3,
  million: 1e6,
  billion: 1e9,
}

const SCALES: Record<string, number> = { k: 1e3, thousand: 1e3, m: 1e6, million: 1e6, bn: 1e9, billion: 1e9 }

/** Digits with separators, then an optional percent or scale. */
const DIGITS =
  /(?<![\p{N}])(\d{1,3}(?:[,\u00a0\u202f]\d{3})+|\d+)(\.\d+)?(?:\s?(%|percent\b|per cent\b|k\b|m\b|bn\b|thousand\b|million\b|billion\b))?/giu
/** Digits of other scripts, fractions and numerals in one character. They are never accepted. */
const OTHER_NUMERALS = /[\p{Nl}\p{No}]+|(?![0-9])\p{Nd}+/gu
const NUMBER_WORDS = new RegExp(`\\b(?:${Object.keys(WORDS).join('|')})\\b`, 'giu')

/** The given numbers without signs, in rising order, so that one is found by bisection. */
export class GivenNumbers {
  readonly #sorted: Float64Array

  constructor(numbers: Iterable<number>) {
    this.#sorted = Float64Array.from(numbers).toSorted()
  }

  has(number: number): boolean {
    return this.hasWithin(number, number)
  }

  hasWithin(low: number, high: number): boolean {
    let from = 0
    let to = this.#sorted.length
    while (from < to) {
      const middle = (from + to) >> 1
      if (this.#sorted[middle]! < low) from = middle + 1
      else to = middle
    }
    return from < this.#sorted.length && this.#sorted[from]! <= high
  }
}

/** Returns all numbers in a value and in its texts. A date gives its year, month and day. */
export function numbersIn(value: unknown): GivenNumbers {
  return new GivenNumbers(collect(value, new Set()))
}

function collect(value: unknown, found: Set<number>): Set<number> {
  if (typeof value === 'number') found.add(Math.abs(value))
  else if (typeof value === 'string') {
    if (value.trim() !== '' && Number.isFinite(Number(value))) found.add(Math.abs(Number(value)))
    for (const [, whole = '', part = ''] of value.matchAll(DIGITS))
      found.add(Number(whole.replace(/\D/g, '') + part))
    for (const [, ...parts] of value.matchAll(/(\d{4})-(\d{2})-(\d{2})/g))
      for (const part of parts) found.add(Number(part))
  } else if (Array.isArray(value)) {
    found.add(value.length)
    for (const item of value) collect(item, found)
  } else if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) collect(item, found)
  }
  return found
}

/** Returns the numbers of a text that were not given, as they are written. */
export function unknownNumbers(text: string, given: GivenNumbers): string[] {
  const unknown: string[] = []
  const rest = text.replace(DIGITS, (written, whole: string, part: string | undefined, unit = '') => {
    const decimals = (part ?? '').length === 0 ? 0 : part!.length - 1
    const number = Number(whole.replace(/\D/g, '') + (part ?? ''))
    const percent = /^(?:%|per)/i.test(unit as string)
    const scale = SCALES[(unit as string).toLowerCase()] ?? 1
    if (!isGiven(number, decimals, percent ? [1, 0.01] : [scale], given)) unknown.push(written.trim())
    return ' '
  })
  for (const [numeral] of rest.matchAll(OTHER_NUMERALS)) unknown.push(numeral)
  for (const [word] of rest.matchAll(NUMBER_WORDS)) {
    if (!given.has(WORDS[word.toLowerCase()]!)) unknown.push(word)
  }
  return unknown
}

/** Tells whether a given number, divided by one of the scales, rounds to `number` at these decimals. */
function isGiven(number: number, decimals: number, scales: readonly number[], given: GivenNumbers): boolean {
  const room = 0.5 * 10 ** -decimals * (1 + 1e-9)
  return scales.some((scale) => {
    // The bounds are as exact as a quotient is.
    const slack = Math.abs(number) * scale * 2 ** -51
    return given.hasWithin((number - room) * scale - slack, (number + room) * scale + slack)
  })
}
