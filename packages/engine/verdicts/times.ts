/** Words days and periods as a reader does: "18 June 2001", "June 2001". */
import { type DateUnit, dayNumber, dayText, MONTHS } from '@assay/model/dates'

/**
 * Words a date ("2001-06-18"), a timestamp, or a number (a year, an index). `unit`: the length of the period that it
 * begins.
 */
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

/**
 * Words the period of `unit` that begins on `start`: "June 2001", "the second quarter of 2001", "the week of 18 June
 * 2001".
 */
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

/** Words a period for a sentence without its value: "the week of 18 June 2001", "the year 2000", "that at 17". */
export function alone(named: string): string {
  if (/^[1-2]\d{3}$/u.test(named)) return `the year ${named}`
  return /\p{L}/u.test(named) ? named : `that at ${named}`
}

/** Adds a preposition to a worded period: "in May 2026", "on 3 May 2026", "in 2010 to 2019", "at 17". */
export function within(named: string): string {
  if (/^\d{1,2} \p{Lu}\p{L}+ \d+(?:, \d+:\d+)?$/u.test(named)) return `on ${named}`
  return /^[1-2]\d{3}$|\p{L}/u.test(named) ? `in ${named}` : `at ${named}`
}

function partsOf(day: number): { date: number; month: string; year: number } {
  const text = dayText(day)
  return {
    date: Number(text.slice(8, 10)),
    month: MONTHS[Number(text.slice(5, 7)) - 1]!,
    year: Number(text.slice(0, 4)),
  }
}
