/** Finds which days of a series are closed, which are missing, and in which stretches they are read. */
import { addDays, dayInZone, dayNumber, dayText, startOf } from '@assay/model/dates'
import type { Grain, PartitionRules } from '@assay/model/metric'

/** A stretch of days: from a day to before another. */
export interface Stretch {
  from: string
  until: string
}

/** The number of days that are found, read and kept at once. What was read stays kept if a job ends in the middle. */
const STRETCH_DAYS = 100
/** The most days of a series. With more, a wrong date is among them. */
export const DAYS_MOST = 40_000

/** Returns the first day that may still get rows. */
export const openFrom = (started_at: string, zone: string, { reopen_days }: PartitionRules): string =>
  addDays(dayInZone(started_at, zone), -reopen_days)

/** Splits a stretch into stretches of at most STRETCH_DAYS. */
export function partsOf({ from, until }: Stretch): Stretch[] {
  const parts: Stretch[] = []
  for (let start = from; start < until; start = addDays(start, STRETCH_DAYS)) {
    const end = addDays(start, STRETCH_DAYS)
    parts.push({ from: start, until: end < until ? end : until })
  }
  return parts
}

/** Returns the days of the stretch that are not in `kept`, as stretches. */
export function missing({ from, until }: Stretch, kept: (day: string) => boolean): Stretch[] {
  const found: Stretch[] = []
  let start: string | null = null
  const end = (day: string): void => {
    if (start !== null) found.push({ from: start, until: day })
    start = null
  }
  for (const day of daysOf({ from, until })) {
    if (kept(day)) end(day)
    else start ??= day
  }
  end(until)
  return found
}

export function daysOf({ from, until }: Stretch): string[] {
  const first = dayNumber(from)
  return Array.from({ length: Math.max(0, dayNumber(until) - first) }, (_, index) => dayText(first + index))
}

/** Returns the step of the grain that holds a day, or an hour of one. */
export const stepOf =
  (grain: Grain) =>
  (step: string): string =>
    grain === 'hour' ? step : startOf(grain, step.slice(0, 10))
