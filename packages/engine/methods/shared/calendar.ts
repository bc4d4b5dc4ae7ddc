/** Days and periods of the proleptic Gregorian calendar, as numbers of days since 1970-01-01; no clock, no zone. */
import { MONTHS } from '@assay/model/calendar'

export type PeriodUnit = 'day' | 'week' | 'month' | 'quarter' | 'year'

/** "2001-06-30" as days since 1970-01-01. */
export function dayNumber(text: string): number {
  return Math.round(Date.parse(`${text.slice(0, 10)}T00:00:00Z`) / 86_400_000)
}

export function dayText(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10)
}

export function isWeekend(day: number): boolean {
  // 1970-01-01 was a Thursday.
  return (((Math.floor(day) + 3) % 7) + 7) % 7 >= 5
}

/** The first day after the period that starts on `start`. */
export function periodAfter(start: number, unit: PeriodUnit): number {
  if (unit === 'day') return start + 1
  if (unit === 'week') return start + 7
  return monthsAfter(start, unit === 'month' ? 1 : unit === 'quarter' ? 3 : 12)
}

/** The same day of the month `months` later, or that month's last day where it is shorter. */
export function monthsAfter(day: number, months: number): number {
  const date = new Date(day * 86_400_000)
  const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1)
  const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months + 1, 0)).getUTCDate()
  return first / 86_400_000 + Math.min(date.getUTCDate(), length) - 1
}

/** "June 2001", "Q2 2001", "2001", "the week of 2001-06-25", "2001-06-30". */
export function periodLabel(start: number, unit: PeriodUnit): string {
  const text = dayText(start)
  const year = text.slice(0, 4)
  const month = Number(text.slice(5, 7))
  switch (unit) {
    case 'day':
      return text
    case 'week':
      return `the week of ${text}`
    case 'month':
      return `${MONTHS[month - 1]} ${year}`
    case 'quarter':
      return `Q${Math.ceil(month / 3)} ${year}`
    case 'year':
      return year
  }
}
