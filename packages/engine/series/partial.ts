/**
 * Tells whether the first or the last period of a series is cut off: by the clock, by a period of the template, or by
 * its data.
 */
import { clockInZone, dayInZone, dayNumber, monthsAfter } from '@assay/model/dates'
import type { Extent, MethodContext } from '../methods/shared/method.ts'
import { clock } from '../methods/shared/time/cut-days.ts'
import { dayInWords } from '../verdicts/times.ts'
import type { Step } from './grid.ts'

export interface Cut {
  /** The day after the last one that has data, in days since 1970-01-01. */
  until: number
  /** The day after the period. */
  end: number
  by: 'clock' | 'period' | 'data'
  /**
   * The time at which the data end: "14:20" within a period of a day or less, "10 March 2024, 14:20" within a day of a
   * longer one.
   */
  at?: string
}

/**
 * Returns the day after the period that begins on `start`; null for steps below a day, of numbers, or without a step.
 */
export function endOf(step: Step, start: number): number | null {
  if (step.unit === 'months') return monthsAfter(start, step.size)
  if (step.unit === 'days' && step.size >= 1) return start + step.size
  if (step.unit === 'weekdays') return start + 1
  return null
}

const DAY_MS = 86_400_000
const MINUTES = 1440

/**
 * Returns how the last period of a series is cut off, or null if it is whole. The series begins at `begin` and the
 * period on `start`. `zone` is the zone in which moments are printed.
 */
export async function lastCut(
  step: Step,
  start: number,
  begin: number,
  context: MethodContext,
  zone?: string,
): Promise<Cut | null> {
  if (step.unit === 'days' && step.size < 1) return stepCut(step.size * MINUTES, start, context, zone)
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

/** Returns the cut of a step that divides the day, such as an hour. */
async function stepCut(
  size: number,
  start: number,
  context: MethodContext,
  zone: string | undefined,
): Promise<Cut | null> {
  const minutes = Math.round(size)
  if (!(minutes >= 1) || Math.abs(size - minutes) > 1e-3 || MINUTES % minutes !== 0) return null
  const moment = Math.round(start * DAY_MS)
  const local = zone === undefined ? moment : onClock(new Date(moment).toISOString(), zone)
  const now = onClock(context.now, context.time_zone)
  const day = Math.floor(start)
  if (local <= now && now < local + minutes * 60_000) return { until: day, end: day + 1, by: 'clock' }
  const { columns } = await context.extent()
  const steps = await Promise.all(columns.flatMap(({ lastStep }) => (lastStep ? [lastStep(minutes)] : [])))
  const within = steps.filter((one) => one !== null).filter((one) => one.start >= local)
  if (within.some((one) => one.start > local)) return null
  const until = within.flatMap((one) => (one.until === null ? [] : [one.until]))
  if (until.length === 0 || until.length < within.length) return null
  return { until: day, end: day + 1, by: 'data', at: until.toSorted().at(-1)! }
}

/** Returns milliseconds since 1970 on the clock of a zone. */
const onClock = (instant: string, zone: string): number =>
  Date.parse(`${clockInZone(instant, zone).replace(' ', 'T')}Z`)

/** Tells whether a day is cut off by the clock of each column that ends, or begins, on it. */
const isCut = (clocks: readonly (number | null)[]): boolean => clocks.length > 0 && !clocks.includes(null)

/** Returns the cut if the data end within the day, by the clock of every time column that ends on it. */
function dayCut(columns: Extent['columns'], day: number): Cut | null {
  if (columns.some(({ last }) => last > day)) return null
  const until = columns.flatMap(({ last, hours }) => (last === day && hours ? [hours.until] : []))
  if (!isCut(until)) return null
  return { until: day, end: day + 1, by: 'data', at: clock(Math.max(...until.map(Number))) }
}

/**
 * Returns the cut if the data end inside the period, and the row after the last whole day would also be due inside it.
 */
function dataCut(columns: Extent['columns'], first: number, end: number): Cut | null {
  const within = columns.filter(({ last }) => first <= last && last < end)
  if (within.length === 0) return null
  const latest = within.reduce((best, one) => (one.last > best.last ? one : best))
  const clocks = within.flatMap(({ last, hours }) => (last === latest.last && hours ? [hours.until] : []))
  const whole = latest.last - (isCut(clocks) ? 1 : 0)
  if (whole + latest.due >= end) return null
  // A last day that is not whole is told with its hour, because it may be the last one of the period.
  const at = isCut(clocks)
    ? `${dayInWords(latest.last)}, ${clock(Math.max(...clocks.map(Number)))}`
    : undefined
  return { until: latest.last + 1, end, by: 'data', ...(at === undefined ? {} : { at }) }
}

/**
 * Returns when the data of the first period begin if that is after its start: a day, or a time within a day. Returns
 * null if the period is whole. `last` is the start of the last period.
 */
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
