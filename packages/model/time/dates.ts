/**
 * Arithmetic on civil dates of the proleptic Gregorian calendar, without a clock. A day is its ISO text
 * ("2024-02-29") or its number, counted from 1970-01-01. ISO texts compare as their days do. Years are 0001 to 9999.
 * The console uses this file too.
 */
export const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const

/** The names of the weekdays, in the order of cron and `Date`: Sunday is 0. */
export const WEEKDAYS = [
  'Sunday',
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
] as const

const DAY_MS = 86_400_000
const DAY = /^(\d{4})-(\d{2})-(\d{2})$/

export type DateUnit = 'day' | 'week' | 'month' | 'quarter' | 'year'
/** The months of each unit. Weeks are counted in days. */
const MONTHS_OF: Record<Exclude<DateUnit, 'day' | 'week'>, number> = { month: 1, quarter: 3, year: 12 }

/** Tells whether the text is a day that exists. */
export function isDay(text: string): boolean {
  if (!DAY.test(text) || text.startsWith('0000')) return false
  const number = dayNumber(text)
  return !Number.isNaN(number) && dayText(number) === text
}

/** Returns the days since 1970-01-01 of "2001-06-30", or of a time that begins with a day. NaN for any other text. */
export function dayNumber(text: string): number {
  return Math.round(Date.parse(`${text.slice(0, 10)}T00:00:00Z`) / DAY_MS)
}

export function dayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** Returns the weekday as an index of WEEKDAYS. 1970-01-01 was a Thursday. */
export function weekdayOf(day: number): number {
  return (((Math.floor(day) + 4) % 7) + 7) % 7
}

export function isWeekend(day: number): boolean {
  return weekdayOf(day) % 6 === 0
}

/** Returns the text of a day. Throws RangeError for a day beyond the years 0001 to 9999. */
function textOf(day: number, what: string): string {
  const text = Number.isFinite(day) && Math.abs(day) < 1e8 ? dayText(day) : ''
  if (!isDay(text)) throw new RangeError(`${what} is not a day of the years 0001 to 9999`)
  return text
}

/** Returns the day `days` later. Throws RangeError for a day beyond the years 0001 to 9999. */
export function addDays(day: string, days: number): string {
  return textOf(dayNumber(day) + days, `${day} and ${days} days`)
}

export function daysBetween(start: string, end: string): number {
  return dayNumber(end) - dayNumber(start)
}

/** Returns the same day of the month `months` later, or the last day of that month if it is shorter. */
export function monthsAfter(day: number, months: number): number {
  const date = new Date(day * DAY_MS)
  const month = new Date(0)
  month.setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + months, 1)
  const next = new Date(month)
  next.setUTCMonth(next.getUTCMonth() + 1, 0)
  return month.getTime() / DAY_MS + Math.min(date.getUTCDate(), next.getUTCDate()) - 1
}

/** Returns the first day after the period that starts on `start`. */
export function periodAfter(start: number, unit: DateUnit): number {
  if (unit === 'day') return start + 1
  return unit === 'week' ? start + 7 : monthsAfter(start, MONTHS_OF[unit])
}

/**
 * Returns the first day of the unit that holds the day, moved by `count` units. Weeks begin on Monday. Throws
 * RangeError for a day beyond the years 0001 to 9999.
 */
export function startOf(unit: DateUnit, day: string, count = 0): string {
  if (unit === 'day') return addDays(day, count)
  const number = dayNumber(day)
  if (unit === 'week') return addDays(day, count * 7 - ((weekdayOf(number) + 6) % 7))
  const length = MONTHS_OF[unit]
  const first = number - Number(day.slice(8)) + 1
  const months = count * length - ((Number(day.slice(5, 7)) - 1) % length)
  return textOf(monthsAfter(first, months), `${day} and ${months} months`)
}

/** Returns the label of a period: "June 2001", "Q2 2001", "2001", "the week of 2001-06-25", "2001-06-30". */
export function periodLabel(start: number, unit: DateUnit): string {
  const text = dayText(start)
  const year = text.slice(0, 4)
  const month = Number(text.slice(5, 7))
  if (unit === 'day') return text
  if (unit === 'week') return `the week of ${text}`
  if (unit === 'month') return `${MONTHS[month - 1]} ${year}`
  return unit === 'quarter' ? `Q${Math.ceil(month / 3)} ${year}` : year
}

/** Returns what a clock in the zone shows at the instant (RFC 3339): "2001-06-30 09:30:00". */
export function clockInZone(instant: string, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
  const shown: Record<string, string> = {}
  for (const part of format.formatToParts(new Date(instant))) shown[part.type] = part.value
  const { year, month, day, hour, minute, second } = shown
  return `${year!.padStart(4, '0')}-${month}-${day} ${hour}:${minute}:${second}`
}

/** Returns the day that a clock in the zone shows at the instant (RFC 3339). */
export function dayInZone(instant: string, timeZone: string): string {
  return clockInZone(instant, timeZone).split(' ')[0]!
}

/** Tells whether there is such an IANA zone. An offset ("+02:00") is not one: it has no daylight saving to resolve. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
