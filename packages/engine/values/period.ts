/**
 * Resolves the text of a period to whole days. A relative one is resolved once, at run: from the start of the job in the
 * template's time zone, or from the latest day of the data. `last_N_UNITS` are complete units: the current one (today, this
 * month) is left out. `start` belongs to the period, `end` does not.
 */
import { addDays, type DateUnit, dayInZone, daysBetween, isDay, MONTHS, startOf } from '@assay/model/dates'

export interface Period {
  /** The first day, such as "2024-01-01". */
  start: string
  /** The day after the last one. */
  end: string
  /** The period in words: "January to March 2024", "18 to 24 June 2001". */
  label: string
  /** "week" for one whole calendar week, and so on for day, month, quarter and year; else the length: "9 days". */
  unit: string
  /** The period of the same number of days directly before. */
  previous: { start: string; end: string; label: string }
}

export interface PeriodContext {
  /** The start of the job by RFC 3339. */
  started_at: string
  time_zone: string
  /** The latest value of the `until` column: a date or timestamp as text. */
  latest?: string | null
}

const RELATIVE = /^(?:last|previous)_(?:([1-9]\d{0,3})_)?(day|week|month|quarter|year)s?$/
const CURRENT = /^this_(day|week|month|quarter|year)$/
const TO_DATE = /^(week|month|quarter|year)_to_date$/

export const PERIOD_HELP =
  'a period such as 2024-01-01..2024-03-31, 2024-03, 2024-Q1, 2024, today, yesterday, last_30_days, last_6_months, ' +
  'this_month, last_quarter or year_to_date'

export function isPeriod(text: string): boolean {
  return resolved(text, '2000-06-15', '2000-06-15') !== null
}

/**
 * Tells whether the days of a period depend on the day of the run, or on the latest day of the data: `last_30_days`,
 * `today`.
 */
export function isCountedFromNow(text: string): boolean {
  return resolved(text, '2000-06-15', '2000-06-15')?.[0] !== resolved(text, '1990-01-01', '1990-01-01')?.[0]
}

/** Resolves a period. Throws RangeError if the text is not one: check it with isPeriod first. */
export function resolvePeriod(text: string, context: PeriodContext): Period {
  const latest = (context.latest ?? null) === null ? null : dayOf(context.latest!, context.time_zone)
  const today = latest ?? dayInZone(context.started_at, context.time_zone)
  // With `until` the latest day counts as complete. By the clock, today does not.
  const reference = latest === null ? today : addDays(today, 1)
  const days = resolved(text, today, reference)
  if (!days) throw new RangeError(`${JSON.stringify(text)} is not ${PERIOD_HELP}.`)
  const [start, end] = days
  const before = addDays(start, -daysBetween(start, end))
  return {
    start,
    end,
    label: periodLabel(start, end),
    unit: unitOf(start, end),
    previous: { start: before, end: start, label: periodLabel(before, start) },
  }
}

const UNITS: readonly DateUnit[] = ['day', 'week', 'month', 'quarter', 'year']

function unitOf(start: string, end: string): string {
  const whole = UNITS.find((unit) => startOf(unit, start) === start && startOf(unit, start, 1) === end)
  return whole ?? `${daysBetween(start, end)} days`
}

/** Returns a period in a reader's words: "2001", "April to June 2001", "18 to 24 June 2001", "18 June to 4 July 2001". */
export function periodLabel(start: string, end: string): string {
  const [from, to] = [partsOf(start), partsOf(addDays(end, -1))]
  const [whole, year, month] = [
    from.day === 1 && end.endsWith('-01'),
    from.year === to.year,
    from.month === to.month,
  ]
  if (whole && start.endsWith('-01-01') && end.endsWith('-01-01'))
    return year ? String(from.year) : `${from.year} to ${to.year}`
  const last = whole ? `${to.month} ${to.year}` : `${to.day} ${to.month} ${to.year}`
  if (year && month) return whole || from.day === to.day ? last : `${from.day} to ${last}`
  const first = whole ? from.month : `${from.day} ${from.month}`
  return `${first}${year ? '' : ` ${from.year}`} to ${last}`
}

const partsOf = (day: string) => ({
  day: Number(day.slice(8)),
  month: MONTHS[Number(day.slice(5, 7)) - 1]!,
  year: Number(day.slice(0, 4)),
})

function dayOf(value: string, timeZone: string): string {
  const zoned = /(Z|[+-]\d{2}(:?\d{2})?)$/.test(value) && value.includes(':')
  return zoned ? dayInZone(value.replace(' ', 'T'), timeZone) : value.slice(0, 10)
}

/** Returns the days of a period. `reference`: the first day that is not complete. */
function resolved(text: string, today: string, reference: string): [string, string] | null {
  try {
    return absolute(text) ?? relative(text, today, reference)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function absolute(text: string): [string, string] | null {
  const [first, last, ...rest] = text.split('..')
  if (rest.length > 0) return null
  const start = span(first!.trim())
  const end = last === undefined ? start : span(last.trim())
  if (!start || !end || start[0] >= end[1]) return null
  // The period before must exist as well.
  addDays(start[0], -daysBetween(start[0], end[1]))
  return [start[0], end[1]]
}

/** Returns a day, month, quarter or year as [first day, day after the last]. */
function span(text: string): [string, string] | null {
  const quarter = /^(\d{4})-Q([1-4])$/i.exec(text)
  const [day, unit]: [string, DateUnit] = quarter
    ? [`${quarter[1]}-${String(Number(quarter[2]) * 3 - 2).padStart(2, '0')}-01`, 'quarter']
    : /^\d{4}$/.test(text)
      ? [`${text}-01-01`, 'year']
      : /^\d{4}-\d{2}$/.test(text)
        ? [`${text}-01`, 'month']
        : [text, 'day']
  return isDay(day) ? [day, startOf(unit, day, 1)] : null
}

function relative(text: string, today: string, reference: string): [string, string] | null {
  if (text === 'today') return [today, addDays(today, 1)]
  if (text === 'yesterday') return [addDays(today, -1), today]
  const current = CURRENT.exec(text)
  if (current) return [startOf(current[1] as DateUnit, today), startOf(current[1] as DateUnit, today, 1)]
  const toDate = TO_DATE.exec(text)
  if (toDate) return [startOf(toDate[1] as DateUnit, today), addDays(today, 1)]
  const last = RELATIVE.exec(text)
  if (!last) return null
  const unit = last[2] as DateUnit
  const end = startOf(unit, reference)
  const start = startOf(unit, reference, -Number(last[1] ?? 1))
  addDays(start, -daysBetween(start, end))
  return [start, end]
}
