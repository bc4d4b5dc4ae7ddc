/** Whether the first or the last period of a series is cut off: by the clock, by a period of the template, or by its data. */
import { dayInZone, dayNumber, monthsAfter } from '@assay/model/dates'
import type { Extent, MethodContext } from '../methods/shared/method.ts'
import { clock } from '../methods/shared/time/cut-days.ts'
import type { Step } from './grid.ts'

export interface Cut {
  /** The day after the last one that has data, in days since 1970-01-01. */
  until: number
  /** The day after the period. */
  end: number
  by: 'clock' | 'period' | 'data'
  /** Of a day in which the data end: when, as "14:20". */
  at?: string
}

/** The day after the period that begins on `start`; null for steps of less than a day, of numbers or of none. */
export function endOf(step: Step, start: number): number | null {
  if (step.unit === 'months') return monthsAfter(start, step.size)
  if (step.unit === 'days' && step.size >= 1) return start + step.size
  if (step.unit === 'weekdays') return start + 1
  return null
}

/** How the period that begins on `start`, the last of a series from `begin` on, is cut off; null if it is whole. */
export async function lastCut(
  step: Step,
  start: number,
  begin: number,
  context: MethodContext,
): Promise<Cut | null> {
  const first = Math.floor(start)
  const end = endOf(step, first)
  if (end === null) return null
  const today = dayNumber(dayInZone(context.now, context.time_zone))
  if (first <= today && today < end) return { until: today, end, by: 'clock' }
  const { periods, columns } = await context.extent()
  const period = periods.map((one) => one.end).filter((day) => first < day && day < end)
  if (period.length > 0) return { until: Math.max(...period), end, by: 'period' }
  // A column that begins after the series is not the one that its times come from.
  const since = endOf(step, Math.floor(begin)) ?? begin
  const own = columns.filter((one) => one.first < since)
  return end - first < 2 ? dayCut(own, first) : dataCut(own, first, end)
}

/** Whether a day is cut off by the clock of each column that ends, or begins, on it. */
const isCut = (clocks: readonly (number | null)[]): boolean => clocks.length > 0 && !clocks.includes(null)

/** The data end within the day, by the clock of every time of the day that ends on it. */
function dayCut(columns: Extent['columns'], day: number): Cut | null {
  if (columns.some(({ last }) => last > day)) return null
  const until = columns.flatMap(({ last, hours }) => (last === day && hours ? [hours.until] : []))
  if (!isCut(until)) return null
  return { until: day, end: day + 1, by: 'data', at: clock(Math.max(...until.map(Number))) }
}

/** The data end inside the period, and the row after the last whole day would be due inside it, too. */
function dataCut(columns: Extent['columns'], first: number, end: number): Cut | null {
  const within = columns.filter(({ last }) => first <= last && last < end)
  if (within.length === 0) return null
  const latest = within.reduce((best, one) => (one.last > best.last ? one : best))
  const clocks = within.flatMap(({ last, hours }) => (last === latest.last && hours ? [hours.until] : []))
  const whole = latest.last - (isCut(clocks) ? 1 : 0)
  return whole + latest.due < end ? { until: latest.last + 1, end, by: 'data' } : null
}

/** When the data of the first period begin, if that is later than its start: a day, or of a day a clock; null if it is whole. `last` begins the last one. */
export async function firstCut(
  step: Step,
  start: number,
  last: number,
  context: MethodContext,
): Promise<number | string | null> {
  const first = Math.floor(start)
  const end = endOf(step, first)
  if (end === null) return null
  const { periods, columns } = await context.extent()
  if (end - first < 2) {
    const own = columns.filter((one) => one.last >= last)
    const from = own.flatMap((one) => (one.first === first && one.hours ? [one.hours.from] : []))
    if (!isCut(from) || own.some((one) => one.first < first)) return null
    return clock(Math.min(...from.map(Number)))
  }
  const period = periods.map((one) => one.start).find((day) => first < day && day < end)
  if (period !== undefined) return period
  const within = columns.filter((one) => first <= one.first && one.first < end && one.last >= last)
  if (within.length === 0) return null
  const earliest = within.reduce((best, one) => (one.first < best.first ? one : best))
  const clocks = within.flatMap((one) => (one.first === earliest.first && one.hours ? [one.hours.from] : []))
  const whole = earliest.first + (isCut(clocks) ? 1 : 0)
  return whole - earliest.due >= first ? earliest.first : null
}
