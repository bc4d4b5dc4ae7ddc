/**
 * Reads numbers as people write them for people: with a currency or a %, in brackets or with a minus behind for
 * negative values, or with a minus sign that is no hyphen. One pattern describes such a value, here for one value and
 * in SQL (written-sql.ts) for all of a column.
 */

export type Minus = 'front' | 'brackets' | 'behind'

export interface WrittenNumber {
  /** The digits with their marks, without all that stands around them. */
  bare: string
  /** The currency; empty for none. */
  currency: string
  percent: boolean
  /** The place of the minus; null for no sign, or a plus. */
  minus: Minus | null
  plus: boolean
  /** True if a code stands in front of a short whole number, which may be a name, such as "RON 95". */
  named: boolean
}

export const BLANKS = ' \u00a0\u2009\u202f'
const BLANK = `[${BLANKS}]*`
const SIGN = '[-+\u2212\u2013]'
const MINUS = '[-\u2212\u2013]'

/**
 * The codes of currencies as accounts write them. Codes that are words or names of other things, such as TOP and PHP,
 * are left out.
 */
const CODES =
  'AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KES KRW MXN MYR NGN NOK NZD PKR PLN RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR'.split(
    ' ',
  )
const UNMISTAKABLE = new Set(['USD', 'EUR', 'GBP', 'CHF'])
const NAMES = ['kr\\.?', 'zł', 'Kč', 'S?Fr\\.']
const CURRENCY = `(?:\\p{Lu}{0,3}\\p{Sc}|${[...CODES, ...NAMES].join('|')})`

interface Around {
  /** The pattern of the digits. */
  number: string
  /** The pattern of the currencies; null for none. */
  currency: string | null
  /** Whether numbers have a %. `all`: each number but 0 has one. */
  percent: 'none' | 'any' | 'all'
}

/** Returns the pattern of a value whose sign is written in one of the ways, for JavaScript and for RE2. */
export function writtenPattern({ number, currency, percent }: Around, minus: Minus): string {
  const front = currency === null ? '' : `(?:${currency}${BLANK})?`
  const behind = currency === null ? '' : `(?:${BLANK}${currency})?`
  const share = `${BLANK}%`
  const ending = percent === 'none' ? '' : `(?:${share})?`
  const digits = percent === 'all' ? `(?:0(?:[.,]0*)?|${number}${share})` : `${number}${ending}`
  switch (minus) {
    case 'front':
      return `(?:(?:${SIGN}${BLANK})?${front}|${front}${SIGN}${BLANK})${digits}${behind}`
    case 'behind':
      return `${front}${digits}${behind}${BLANK}${MINUS}${behind}`
    default: {
      const inner = percent === 'all' ? `${number}${ending}` : digits
      return `${front}\\(${BLANK}${front}${inner}${behind}${BLANK}\\)${ending}${behind}`
    }
  }
}

const ANY = { number: `(?:[0-9][0-9.,'’${BLANKS}]*|[.,][0-9]+)`, currency: CURRENCY, percent: 'any' } as const
const FORMS = (['front', 'brackets', 'behind'] as const).map(
  (minus) => [minus, new RegExp(`^${writtenPattern(ANY, minus)}$`, 'u')] as const,
)
const NAMED = new RegExp(CURRENCY, 'u')
const LONGEST = 40
/** Matches digits that only an amount of money has. */
const AMOUNT = /[.,]\d{2}$|\d[.,'’\u00a0\u2009\u202f ]\d{3}(?!\d)/

/** Returns the number; null if the text is no such number. */
export function writtenNumber(text: string): WrittenNumber | null {
  if (text.length > LONGEST || !/[0-9]/.test(text)) return null
  const form = FORMS.find(([, pattern]) => pattern.test(text))
  if (!form) return null
  const currency = NAMED.exec(text)?.[0] ?? ''
  const bare = text
    .replaceAll(currency === '' ? /$^/g : currency, '')
    .replaceAll(/[^0-9.,'’\u00a0\u2009\u202f ]/g, '')
    .replaceAll(new RegExp(`^[${BLANKS}]+|[${BLANKS}]+$`, 'g'), '')
  const plus = text.includes('+')
  const signed = form[0] !== 'front' || new RegExp(MINUS).test(text)
  return {
    bare,
    currency,
    percent: text.includes('%'),
    minus: signed ? form[0] : null,
    plus,
    named:
      CODES.includes(currency) &&
      !UNMISTAKABLE.has(currency) &&
      text.startsWith(currency) &&
      !AMOUNT.test(bare),
  }
}

/** Tells whether a value with its minus behind is an amount, and no mark such as "2-". */
export const isAmount = (bare: string): boolean => AMOUNT.test(bare) || /\d{3}/.test(bare)
