/**
 * Learns from the days with rows on which days a row is due: every day, the open weekdays, weekly, monthly, or with
 * gaps.
 */
import { isWeekend, monthsAfter, weekdayOf } from '@assay/model/dates'

export interface Due {
  first: number
  last: number
  /** The unit of time of a row: "day", "week", "month", or "row" for other distances. */
  unit: string
  /** Returns the day by which the row after `day` is due at the latest. */
  after(day: number): number
  /** Returns the day before `day` on which a row was due at the latest. */
  before(day: number): number
  /** Returns how many rows are due from `start` to the day before `end`, and how many of these days have rows. */
  within(start: number, end: number): { due: number; seen: number }
  /** Tells whether no row is due from `end` to the day before `start`. */
  adjoin(end: number, start: number): boolean
}

const LEAST_FOR_WEEKDAYS = 10
const LEAST_WEEKS = 4
/** The share of the days of open weekdays that have rows. */
const NEARLY = 0.9
const MONTH = 28
const ALL: ReadonlySet<number> = new Set([0, 1, 2, 3, 4, 5, 6])
export const WORKING: ReadonlySet<number> = new Set([1, 2, 3, 4, 5])

/** Learns when rows are due. `days` are days since 1970-01-01, ascending, without repetition, at least one. */
export function dueDays(days: readonly number[]): Due {
  const gaps = days
    .slice(1)
    .map((day, index) => day - days[index]!)
    .toSorted((a, b) => a - b)
  const middle = gaps[Math.floor(gaps.length / 2)] ?? 1
  // Nine in ten distances between days with rows are no longer.
  const usual = gaps[Math.floor(0.9 * (gaps.length - 1))] ?? 1
  const step = stepOf(days, middle)
  const seen = (start: number, end: number): number => below(days, end) - below(days, start)
  return {
    first: days[0]!,
    last: days.at(-1)!,
    unit: unitOf(step),
    after(day) {
      if (step.kind === 'months') return monthsAfter(day, step.size)
      if (step.kind === 'weekdays') return nextOpen(day, step.open)
      return day + usual
    },
    before(day) {
      let earlier = day - (step.kind === 'weekdays' ? 1 : usual)
      while (!step.open.has(weekdayOf(earlier))) earlier -= 1
      return earlier
    },
    within(start, end) {
      const found = seen(start, end)
      return { due: Math.max(found, step.count(start, end)), seen: found }
    },
    adjoin: (end, start) => end === start || (step.kind !== 'months' && step.count(end, start) === 0),
  }
}

interface DayStep {
  kind: 'days' | 'weekdays' | 'months'
  size: number
  /** The weekdays with rows; 0 is Sunday. */
  open: ReadonlySet<number>
  count(start: number, end: number): number
}

function unitOf({ kind, size }: DayStep): string {
  const sizes: Record<number, string> =
    kind === 'months' ? { 1: 'month', 3: 'quarter', 12: 'year' } : { 1: 'day', 7: 'week' }
  return sizes[size] ?? 'row'
}

function stepOf(days: readonly number[], middle: number): DayStep {
  if (middle >= MONTH) {
    const size = Math.max(1, Math.round(middle / 30.44))
    return { kind: 'months', size, open: ALL, count: () => 0 }
  }
  const open = middle === 1 ? openWeekdays(days) : ALL
  if (open.size < ALL.size)
    return { kind: 'weekdays', size: 1, open, count: (start, end) => openBetween(start, end, open) }
  if (middle > 1 && days.every((day) => (day - days[0]!) % middle === 0)) {
    const origin = days[0]!
    const before = (day: number): number => Math.ceil((day - origin) / middle)
    return { kind: 'days', size: middle, open: ALL, count: (start, end) => before(end) - before(start) }
  }
  return { kind: 'days', size: 1, open: ALL, count: (start, end) => end - start }
}

/**
 * Returns the open weekdays: Monday to Friday after ten such days. Another weekday is closed if it has no row in four
 * weeks in which the others are nearly full.
 */
export function openWeekdays(days: readonly number[]): ReadonlySet<number> {
  if (days.length >= LEAST_FOR_WEEKDAYS && !days.some(isWeekend)) return WORKING
  const seen = new Set(days.map(weekdayOf))
  const weeks = (days.at(-1)! - days[0]! + 1) / 7
  return weeks >= LEAST_WEEKS && days.length >= NEARLY * weeks * seen.size ? seen : ALL
}

function openBetween(start: number, end: number, open: ReadonlySet<number>): number {
  const weeks = Math.floor((end - start) / 7)
  let count = open.size * weeks
  for (let day = start + 7 * weeks; day < end; day++) if (open.has(weekdayOf(day))) count += 1
  return count
}

function nextOpen(day: number, open: ReadonlySet<number>): number {
  let next = day + 1
  while (!open.has(weekdayOf(next))) next += 1
  return next
}

/** Counts the days that lie before `limit`. */
function below(days: readonly number[], limit: number): number {
  let low = 0
  let high = days.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (days[middle]! < limit) low = middle + 1
    else high = middle
  }
  return low
}
