/** On which days a row is due, learnt from the days that have rows: every day, working days, weekly, monthly, or with gaps. */
import { isWeekend, monthsAfter, weekdayOf } from '@assay/model/dates'

export interface Due {
  first: number
  last: number
  /** The usual distance between days with rows: nine in ten are no longer. */
  usual: number
  /** The day by which the row after `day` is due at the latest. */
  after(day: number): number
  /** How many rows are due from `start` to the day before `end`, and how many of these days have rows. */
  within(start: number, end: number): { due: number; seen: number }
}

const LEAST_FOR_WEEKDAYS = 10
const MONTH = 28

/** `days`: days since 1970-01-01, ascending, without repetition, at least one. */
export function dueDays(days: readonly number[]): Due {
  const gaps = days
    .slice(1)
    .map((day, index) => day - days[index]!)
    .toSorted((a, b) => a - b)
  const middle = gaps[Math.floor(gaps.length / 2)] ?? 1
  const usual = gaps[Math.floor(0.9 * (gaps.length - 1))] ?? 1
  const step = stepOf(days, middle)
  const seen = (start: number, end: number): number => below(days, end) - below(days, start)
  return {
    first: days[0]!,
    last: days.at(-1)!,
    usual: step.kind === 'weekdays' ? 1 : usual,
    after(day) {
      if (step.kind === 'months') return monthsAfter(day, step.size)
      if (step.kind === 'weekdays') return day + (weekdayOf(day) === 5 ? 3 : 1)
      return day + usual
    },
    within(start, end) {
      const found = seen(start, end)
      return { due: Math.max(found, step.count(start, end)), seen: found }
    },
  }
}

interface DayStep {
  kind: 'days' | 'weekdays' | 'months'
  size: number
  count(start: number, end: number): number
}

function stepOf(days: readonly number[], middle: number): DayStep {
  if (middle >= MONTH) {
    const size = Math.max(1, Math.round(middle / 30.44))
    return { kind: 'months', size, count: () => 0 }
  }
  const weekdays = middle === 1 && days.length >= LEAST_FOR_WEEKDAYS && !days.some(isWeekend)
  if (weekdays) return { kind: 'weekdays', size: 1, count: (start, end) => weekdaysBetween(start, end) }
  if (middle > 1 && days.every((day) => (day - days[0]!) % middle === 0)) {
    const origin = days[0]!
    const before = (day: number): number => Math.ceil((day - origin) / middle)
    return { kind: 'days', size: middle, count: (start, end) => before(end) - before(start) }
  }
  return { kind: 'days', size: 1, count: (start, end) => end - start }
}

function weekdaysBetween(start: number, end: number): number {
  let count = 5 * Math.floor((end - start) / 7)
  for (let day = start + 7 * Math.floor((end - start) / 7); day < end; day++) if (!isWeekend(day)) count += 1
  return count
}

/** How many of the days lie before `limit`. */
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
