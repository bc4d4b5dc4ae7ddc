/**
 * The step of a series, and the series on even steps: what STL, ETS and their like need. Months and years count as
 * even steps although their days differ, and so do working days. Gaps are filled on a straight line and counted; a
 * series whose gaps are over a fifth of it, or that has no step, is taken in its order, with a note.
 */
import { isWeekend, monthsAfter } from '@assay/model/dates'
import { count } from './sentence.ts'
import type { Series, Time } from './series.ts'

export type Step =
  | { unit: 'months'; size: number }
  | { unit: 'days'; size: number }
  | { unit: 'weekdays' }
  | { unit: 'number'; size: number }
  | { unit: 'order' }

export interface Grid {
  step: Step
  times: Time[]
  /** Over `unit`, as in the series. */
  values: number[]
  /** False if the value was interpolated. */
  observed: boolean[]
  /** The time `ahead` steps after the last one. */
  after(ahead: number): Time
  notes: string[]
}

const LEAST = 3

export function gridOf(series: Series): Grid {
  const { step, indices } = stepOf(series)
  if (step.unit === 'order') {
    const notes =
      series.times.length > LEAST
        ? ['The times are not evenly spaced; the values are taken one step apart, in order.']
        : []
    return {
      step,
      times: series.times,
      values: series.values,
      observed: series.values.map(() => true),
      after: (ahead) => labelOf(series, { unit: 'order' }, ahead),
      notes,
    }
  }
  const times: Time[] = []
  const values: number[] = []
  const observed: boolean[] = []
  for (const [row, index] of indices.entries()) {
    const before = values.length
    for (let gap = before; gap < index; gap++) {
      const share = (gap - before + 1) / (index - before + 1)
      const from = values[before - 1]!
      values.push(from + share * (series.values[row]! - from))
      times.push(labelOf(series, step, gap - indices.at(-1)!))
      observed.push(false)
    }
    values.push(series.values[row]!)
    times.push(series.times[row]!)
    observed.push(true)
  }
  const filled = values.length - series.values.length
  return {
    step,
    times,
    values,
    observed,
    after: (ahead) => labelOf(series, step, ahead),
    notes: filled > 0 ? [`${count(filled, 'missing time')} filled in on a straight line.`] : [],
  }
}

function stepOf(series: Series): { step: Step; indices: number[] } {
  const candidates: (() => { step: Step; at: number[] } | null)[] =
    series.kind === 'number'
      ? [() => evenStep(series, 'number')]
      : [() => monthStep(series), () => weekdayStep(series), () => evenStep(series, 'days')]
  if (series.times.length >= LEAST) {
    for (const candidate of candidates) {
      const found = candidate()
      if (!found) continue
      const indices = found.at.map((at) => at - found.at[0]!)
      const distinct = indices.every((index, row) => row === 0 || index > indices[row - 1]!)
      if (distinct && indices.length >= 0.8 * (indices.at(-1)! + 1)) return { step: found.step, indices }
    }
  }
  return { step: { unit: 'order' }, indices: series.times.map((_, index) => index) }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

function gapsOf(values: readonly number[]): number[] {
  return values.slice(1).map((value, index) => value - values[index]!)
}

function evenStep(series: Series, unit: 'days' | 'number'): { step: Step; at: number[] } | null {
  const size = median(gapsOf(series.positions))
  const at = series.positions.map((position) => (position - series.positions[0]!) / size)
  if (!at.every((index) => Math.abs(index - Math.round(index)) < 0.1)) return null
  return { step: { unit, size }, at: at.map(Math.round) }
}

/** Times on the same day of their month (or on its last day): steps of 1, 3 or 12 months. */
function monthStep(series: Series): { step: Step; at: number[] } | null {
  if (median(gapsOf(series.positions)) < 28) return null
  const dates = series.positions.map((position) => new Date(Math.floor(position + 1e-9) * 86_400_000))
  const days = dates.map((date) => date.getUTCDate())
  const last = dates.every((date) => new Date(date.getTime() + 86_400_000).getUTCDate() === 1)
  if (!last && !days.every((day) => day === days[0])) return null
  const months = dates.map((date) => date.getUTCFullYear() * 12 + date.getUTCMonth())
  const gap = median(gapsOf(months))
  const size = gap % 12 === 0 ? 12 : gap % 3 === 0 ? 3 : 1
  const at = months.map((month) => (month - months[0]!) / size)
  return at.every(Number.isInteger) ? { step: { unit: 'months', size }, at } : null
}

function weekdayStep(series: Series): { step: Step; at: number[] } | null {
  if (series.times.length < 10 || median(gapsOf(series.positions)) !== 1) return null
  if (!series.positions.every((position) => Number.isInteger(position) && !isWeekend(position))) return null
  // Days since Monday, 1969-12-29.
  const at = series.positions.map((position) => 5 * Math.floor((position + 3) / 7) + ((position + 3) % 7))
  return { step: { unit: 'weekdays' }, at }
}

/** The label of the time `ahead` steps after the last one; a negative `ahead` counts back. */
function labelOf(series: Series, step: Step, ahead: number): Time {
  const last = series.positions.at(-1) ?? 0
  switch (step.unit) {
    case 'months': {
      const first = Math.floor(last + 1e-9)
      return timeText(
        series,
        endOfMonth(series)
          ? lastDay(monthsAfter(first - 27, ahead * step.size))
          : monthsAfter(first, ahead * step.size) + (last - first),
      )
    }
    case 'weekdays': {
      let day = last
      for (let left = Math.abs(ahead); left > 0; left--) {
        do day += Math.sign(ahead)
        while (isWeekend(day))
      }
      return timeText(series, day)
    }
    case 'days':
    case 'number':
      return timeText(series, last + ahead * step.size)
    case 'order': {
      const gap = series.positions.length > 1 ? median(gapsOf(series.positions)) : 1
      return timeText(series, last + ahead * gap)
    }
  }
}

function endOfMonth(series: Series): boolean {
  return series.positions.every(
    (position) => new Date((Math.floor(position) + 1) * 86_400_000).getUTCDate() === 1,
  )
}

function lastDay(day: number): number {
  const date = new Date(day * 86_400_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0) / 86_400_000
}

function timeText(series: Series, position: number): Time {
  if (series.kind === 'number') return Number(position.toPrecision(15))
  const milliseconds = Math.round(position * 86_400_000)
  if (!(Math.abs(milliseconds) <= 8.64e15)) return 'beyond the calendar'
  const text = new Date(milliseconds).toISOString()
  if (series.kind === 'date') return text.slice(0, 10)
  const seconds = text.slice(0, 19)
  return series.kind === 'zoned' ? `${seconds}Z` : seconds
}

/** The name of one step: "month", "day", "2 hours"; null if it has none. */
export function stepName(step: Step): string | null {
  switch (step.unit) {
    case 'months':
      return step.size === 12
        ? 'year'
        : step.size === 3
          ? 'quarter'
          : step.size === 1
            ? 'month'
            : `${step.size} months`
    case 'weekdays':
      return 'working day'
    case 'days': {
      const named: [number, string][] = [
        [7, 'week'],
        [1, 'day'],
        [1 / 24, 'hour'],
        [1 / 1440, 'minute'],
      ]
      const found = named.find(([size]) => Math.abs(step.size / size - 1) < 1e-6)
      return found ? found[1] : `${Number(step.size.toPrecision(4))} days`
    }
    case 'number':
    case 'order':
      return null
  }
}
