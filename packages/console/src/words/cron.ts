/** Writes a cron expression in words, and an expression from choices. Pure. */
import { CRON_NAMES } from '@assay/model/cron-names'
import { MONTHS, WEEKDAYS } from '@assay/model/dates'

const NUMBER = /^\d{1,2}$/

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

/** Returns the numbers of "6" or "6,18"; null for any other field. */
function numbersOf(field: string): number[] | null {
  const items = field.split(',')
  return items.every((item) => NUMBER.test(item)) ? items.map(Number) : null
}

/** Returns the full word for a number or an abbreviation. */
function wordOf(item: string, words: readonly string[], first: number): string | undefined {
  if (NUMBER.test(item)) return words[(Number(item) - first) % words.length]
  return item.length === 3
    ? words.find((word) => word.slice(0, 3).toUpperCase() === item.toUpperCase())
    : undefined
}

function daysOf(field: string): string | null {
  const range = /^(\w+)-(\w+)$/.exec(field)
  if (range) {
    const [from, to] = [wordOf(range[1]!, WEEKDAYS, 0), wordOf(range[2]!, WEEKDAYS, 0)]
    return from && to ? `${from} to ${to}` : null
  }
  const days = field.split(',').map((item) => wordOf(item, WEEKDAYS, 0))
  return days.every((day) => day !== undefined) ? `every ${listed(days)}` : null
}

/** Returns the days of an expression: "every day", "Monday to Friday", "on day 1 of each month". */
function dates(day: string, month: string, weekday: string): string | null {
  if (month === '*' && day === '*') return weekday === '*' ? 'every day' : daysOf(weekday)
  if (weekday !== '*') return null
  const numbers = numbersOf(day)
  const which = day.toUpperCase() === 'L' ? 'the last day' : numbers && `day ${listed(numbers.map(String))}`
  if (which === null) return null
  if (month === '*') return `on ${which} of each month`
  const months = month.split(',').map((item) => wordOf(item, MONTHS, 1))
  return months.every((name) => name !== undefined) ? `on ${which} of ${listed(months)}` : null
}

const two = (value: number): string => String(value).padStart(2, '0')

/** Returns the step of a field. A step that restarts at each hour or day is regular only if it divides it. */
function stepOf(field: string, whole: number): number | null {
  const step = Number(/^\*\/(\d{1,2})$/.exec(field)?.[1] ?? Number.NaN)
  return step > 1 && whole % step === 0 ? step : null
}

/** Returns the frequency within a day; null if the expression has fixed times. */
function rhythm(minute: string, hour: string): string | null {
  const minutes = stepOf(minute, 60)
  if (hour === '*' && minute === '*') return 'every minute'
  if (hour === '*' && minutes !== null) return `every ${minutes} minutes`
  if (!NUMBER.test(minute)) return null
  if (hour === '*') return minute === '0' ? 'every hour' : `every hour at minute ${minute}`
  const hours = stepOf(hour, 24)
  return hours === null ? null : `every ${hours} hours${minute === '0' ? '' : ` at minute ${minute}`}`
}

/** Returns the expression in words; null if no short sentence describes it. */
export function cronWords(line: string): string | null {
  const fields = (CRON_NAMES[line.trim().toLowerCase()] ?? line).trim().split(/\s+/)
  if (fields.length !== 5) return null
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string]
  const when = dates(day, month, weekday)
  if (when === null) return null
  const often = rhythm(minute, hour)
  if (often !== null) return when === 'every day' ? often : `${often}, ${when.replace(/^every /, 'each ')}`
  const [minutes, hours] = [numbersOf(minute), numbersOf(hour)]
  if (minutes?.length !== 1 || hours === null || hours.length > 4) return null
  return `${when} at ${listed(hours.map((at) => `${two(at)}:${two(minutes[0]!)}`))}`
}

/** Returns the expression for days and a time of the day, "08:30". */
export function cronAt(days: string | null, time: string): string {
  if (days === null) return '0 * * * *'
  const [hour = '6', minute = '0'] = time.split(':')
  return `${Number(minute)} ${Number(hour)} ${days}`
}

/** Returns the time and the days of an expression with one time a day; null for any other. */
export function timeOf(cron: string): { time: string; days: string } | null {
  const [, minute, hour, days] =
    /^(\d{1,2}) (\d{1,2}) (\S+ \S+ \S+)$/.exec(cron.trim().replaceAll(/\s+/g, ' ')) ?? []
  if (minute === undefined || hour === undefined || days === undefined) return null
  if (Number(minute) > 59 || Number(hour) > 23) return null
  return { time: `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`, days }
}
