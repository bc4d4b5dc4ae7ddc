/**
 * Arithmetic on calendar days, free of clocks and zones. A day is its ISO text ("2024-02-29"); ISO texts of days compare
 * as days do. Years 0001 to 9999.
 */

const DAY_MS = 86_400_000
export type Unit = 'day' | 'week' | 'month' | 'quarter' | 'year'

/** Whether the text is a day that exists. */
export function isDay(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (!match || match[1] === '0000') return false
  const time = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(time) && isoDay(time) === text
}

function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

const parts = (day: string): [number, number, number] =>
  day.split('-').map(Number) as [number, number, number]
const toTime = (day: string): number => Date.parse(`${day}T00:00:00Z`)
const pad = (value: number, width: number): string => String(value).padStart(width, '0')

/** Throws RangeError where the outcome lies beyond the years 0001 to 9999. */
export function addDays(day: string, days: number): string {
  const time = toTime(day) + days * DAY_MS
  const outcome = Number.isFinite(time) && Math.abs(time) < 8.64e15 ? isoDay(time) : ''
  if (!isDay(outcome)) throw new RangeError(`${day} and ${days} days is no day of the years 0001 to 9999`)
  return outcome
}

/** The first day of the month that lies `months` after the day's. */
function monthStart(day: string, months: number): string {
  const [year, month] = parts(day)
  const count = year * 12 + (month - 1) + months
  const outcome = `${pad(Math.floor(count / 12), 4)}-${pad((((count % 12) + 12) % 12) + 1, 2)}-01`
  if (!isDay(outcome)) throw new RangeError(`${day} and ${months} months is no day of the years 0001 to 9999`)
  return outcome
}

export function daysBetween(start: string, end: string): number {
  return Math.round((toTime(end) - toTime(start)) / DAY_MS)
}

/** The first day of the unit that holds the day, moved by `count` units. Weeks begin on Monday. */
export function startOf(unit: Unit, day: string, count = 0): string {
  const [year, month] = parts(day)
  switch (unit) {
    case 'day':
      return addDays(day, count)
    case 'week':
      return addDays(day, count * 7 - ((new Date(toTime(day)).getUTCDay() + 6) % 7))
    case 'month':
      return monthStart(day, count)
    case 'quarter':
      return monthStart(day, count * 3 - ((month - 1) % 3))
    case 'year':
      return monthStart(`${pad(year, 4)}-01-01`, count * 12)
  }
}

/** The day that a clock in the zone shows at the instant (RFC 3339). */
export function dayInZone(instant: string, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  const shown: Record<string, string> = {}
  for (const part of format.formatToParts(new Date(instant))) shown[part.type] = part.value
  return `${shown.year!.padStart(4, '0')}-${shown.month}-${shown.day}`
}

/** Whether there is such an IANA zone. Offsets ("+02:00") are none: they have no daylight saving to resolve. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
