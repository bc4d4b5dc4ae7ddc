/** Prints ISO dates and times in English by a spreadsheet's pattern of d, m, y, h, s. No locale is involved. */
import { dayNumber, isDay, MONTHS, WEEKDAYS, weekdayOf } from '@assay/model/dates'

interface Moment {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
  weekday: number
}

const MOMENT = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?(?:Z|[+-]\d{2}:?\d{2})?$/

/** Reads "2024-02-29", also with "T12:30:00", a fraction and "Z". Returns null if the text is not a date. */
export function readMoment(text: string): Moment | null {
  const [, date = '', hour = 0, minute = 0, second = 0] = MOMENT.exec(text) ?? []
  if (!isDay(date)) return null
  const [year, month, day] = date.split('-').map(Number) as [number, number, number]
  const weekday = weekdayOf(dayNumber(date))
  return { year, month, day, hour: Number(hour), minute: Number(minute), second: Number(second), weekday }
}

const NAMED: Record<string, string> = {
  date: 'yyyy-mm-dd',
  shortdate: 'mmm d/yy',
  longdate: 'mmmm d, yyyy',
  fulldate: 'dddd mmmm d, yyyy',
  mdy: 'm/d/yy',
  dmy: 'd/m/yy',
  hms: 'h:mi:ss AM/PM',
  datetime: 'yyyy-mm-dd hh:mi',
}
export const DATE_CODES: readonly string[] = [
  ...Object.keys(NAMED),
  ...'ddd dddd mmm mmmm yyyy mmm-yy mmm-yyyy'.split(' '),
]

const TOKEN = /AM\/PM|yyyy|yy|mmmm|mmm|mm|mi|m|dddd|ddd|dd|d|hh|h|ss|s|[-/ ,.:]/gy

/** Reads a pattern. Returns null if the code is not a date pattern. `m` right after `h:` means minutes. */
export function datePattern(code: string): string[] | null {
  const pattern = NAMED[code] ?? code
  const tokens = pattern.match(TOKEN) ?? []
  if (tokens.join('') !== pattern || !/[ymdhs]/.test(pattern)) return null
  return tokens.map((token, index) => {
    const minutes = tokens[index - 2]?.startsWith('h') && tokens[index - 1] === ':'
    return minutes && (token === 'mm' || token === 'm') ? 'mi' : token
  })
}

const STRFTIME: Record<string, string> = {
  Y: 'yyyy',
  y: 'yy',
  m: 'mm',
  d: 'dd',
  e: 'd',
  B: 'mmmm',
  b: 'mmm',
  A: 'dddd',
  a: 'ddd',
  H: 'HH',
  I: 'hh',
  M: 'mi',
  S: 'ss',
  p: 'AM/PM',
}

/** Reads Liquid's own patterns: "%d %B %Y". Returns null for other text, and for more than a date and a time of day. */
export function strftimePattern(pattern: string): string[] | null {
  const pieces = pattern.match(/%-?[A-Za-z]|[^%]+|%/g) ?? []
  if (!pattern.includes('%')) return null
  const tokens = pieces.map((piece) => {
    if (!piece.startsWith('%')) return `'${piece}`
    const token = STRFTIME[piece.at(-1)!]
    return token !== undefined && piece[1] === '-'
      ? token.replace(/^(mm|dd|hh|HH|ss)$/, (two) => two[0]!)
      : token
  })
  return tokens.every((token) => token !== undefined) ? tokens : null
}

/** Formats a moment. Tokens that begin with an apostrophe are text. */
export function formatMoment(moment: Moment, tokens: string[]): string {
  const half = tokens.includes('AM/PM')
  const hour = half ? moment.hour % 12 || 12 : moment.hour
  const two = (value: number): string => String(value).padStart(2, '0')
  const year = String(moment.year).padStart(4, '0')
  const values: Record<string, string> = {
    yyyy: year,
    yy: year.slice(2),
    mmmm: MONTHS[moment.month - 1]!,
    mmm: MONTHS[moment.month - 1]!.slice(0, 3),
    mm: two(moment.month),
    m: String(moment.month),
    dddd: WEEKDAYS[moment.weekday]!,
    ddd: WEEKDAYS[moment.weekday]!.slice(0, 3),
    dd: two(moment.day),
    d: String(moment.day),
    hh: two(hour),
    HH: two(moment.hour),
    H: String(moment.hour),
    h: String(hour),
    mi: two(moment.minute),
    ss: two(moment.second),
    s: String(moment.second),
    'AM/PM': moment.hour < 12 ? 'AM' : 'PM',
  }
  return tokens.map((token) => (token.startsWith("'") ? token.slice(1) : (values[token] ?? token))).join('')
}
