/** Days and periods as a reader says them: "18 June 2001", "18 to 24 June 2001", "June 2001". */
import { type DateUnit, dayNumber, dayText, MONTHS, periodAfter } from '@assay/model/dates'

/** A date ("2001-06-18"), a timestamp, or a number (a year, an index), in words. `unit` is the length of the period that it begins. */
export function timeInWords(time: string | number, unit: DateUnit | null = null): string {
  if (typeof time === 'number') return String(time)
  const day = /^\d{4}-\d{2}-\d{2}/.test(time) ? dayNumber(time) : Number.NaN
  if (/^[+-]/.test(time)) return 'a day beyond the calendar'
  if (Number.isNaN(day)) return time
  if (unit !== null && unit !== 'day') return periodInWords(day, unit)
  const clock = /T(\d{2}:\d{2})/.exec(time)?.[1]
  return dayInWords(day) + (clock === undefined || clock === '00:00' ? '' : `, ${clock}`)
}

export function dayInWords(day: number): string {
  const { date, month, year } = partsOf(day)
  return `${date} ${month} ${year}`
}

/** The period of `unit` that begins on `start`: "June 2001", "the second quarter of 2001", "the week of 18 June 2001". */
export function periodInWords(start: number, unit: DateUnit): string {
  const { month, year } = partsOf(start)
  if (unit === 'day') return dayInWords(start)
  if (unit === 'week') return `the week of ${dayInWords(start)}`
  if (unit === 'month') return `${month} ${year}`
  if (unit === 'year') return String(year)
  const quarter = ['first', 'second', 'third', 'fourth'][
    Math.floor((MONTHS as readonly string[]).indexOf(month) / 3)
  ]
  return `the ${quarter} quarter of ${year}`
}

/** From the first to the last day, both of which belong: "18 to 24 June 2001", "30 June to 6 July 2001". A whole unit is named. */
export function rangeInWords(first: number, last: number): string {
  for (const unit of ['month', 'quarter', 'year'] as const)
    if (startsUnit(first, unit) && periodAfter(first, unit) === last + 1) return periodInWords(first, unit)
  if (first === last) return dayInWords(first)
  const from = partsOf(first)
  const to = partsOf(last)
  if (from.year !== to.year) return `${dayInWords(first)} to ${dayInWords(last)}`
  if (from.month !== to.month) return `${from.date} ${from.month} to ${dayInWords(last)}`
  return `${from.date} to ${dayInWords(last)}`
}

function startsUnit(day: number, unit: 'month' | 'quarter' | 'year'): boolean {
  const text = dayText(day)
  const month = Number(text.slice(5, 7))
  if (!text.endsWith('-01')) return false
  return unit === 'month' || (unit === 'quarter' ? month % 3 === 1 : month === 1)
}

function partsOf(day: number): { date: number; month: string; year: number } {
  const text = dayText(day)
  return {
    date: Number(text.slice(8, 10)),
    month: MONTHS[Number(text.slice(5, 7)) - 1]!,
    year: Number(text.slice(0, 4)),
  }
}
