/**
 * Finds the step of a series and puts the series on even steps, as STL, ETS and similar methods need. Months and years
 * count as even steps although their days differ. So do the days of the open weekdays, for example Monday to Friday of
 * an office. A step without a row is marked as not observed. Its value is interpolated for methods that need one at
 * each step. A series without a step is taken in its order, with a note.
 */
import { clockInZone, type DateUnit, monthsAfter, weekdayOf } from '@assay/model/dates'
import { openWeekdays, WORKING } from '../methods/shared/time/due.ts'
import { HOURLY, type Series, type Time } from './load.ts'
import { wallOf } from './on-the-wall.ts'

export type Step =
  | { unit: 'months'; size: number }
  | { unit: 'days'; size: number }
  /** The open weekdays; 0 is Sunday. */
  | { unit: 'weekdays'; open: ReadonlySet<number> }
  | { unit: 'number'; size: number }
  | { unit: 'order' }

export interface Grid {
  step: Step
  times: Time[]
  /** The positions as in the series: days since 1970-01-01, or the numbers. */
  positions: number[]
  /** The values over `unit`, as in the series. */
  values: number[]
  /** False if the value was interpolated. */
  observed: boolean[]
  /** The steps that no clock of the zone shows, because the clocks go forward. */
  skipped: ReadonlySet<number>
  time_zone: string | undefined
  /** The first and the last position of the series, on the clocks of the zone if its times follow these. */
  ends: { first: number; last: number }
  /** Returns the time `ahead` steps after the last one. */
  after(ahead: number): Time
  /**
   * Returns the row of that time, counted after the last row. Rows follow the clocks of the zone, which may go forward
   * or back.
   */
  rowAfter(ahead: number): number
}

/** Returns the position `ahead` steps after `from`. */
type Onward = (from: number, ahead: number) => number

const LEAST = 3

export function gridOf(series: Series): Grid {
  const wall = wallOf(series)
  const { offsets: _, ...still } = series
  const shown = wall ? { ...still, positions: wall.shown } : series
  const { step, indices } = stepOf(shown)
  const onward: Onward = (from, ahead) =>
    wall
      ? wall.after(from, (at) => positionAfter(shown, step, at, ahead))
      : positionAfter(series, step, from, ahead)
  const ends = { first: shown.positions[0] ?? 0, last: shown.positions.at(-1) ?? 0 }
  const after = (ahead: number): Time => timeText(series, onward(series.positions.at(-1) ?? 0, ahead))
  if (step.unit === 'order') {
    return {
      step,
      times: series.times,
      positions: series.positions,
      values: series.values,
      observed: series.values.map(() => true),
      skipped: new Set(),
      time_zone: series.time_zone,
      ends,
      after,
      rowAfter: (ahead) => ahead,
    }
  }
  const length = indices.at(-1)! + 1
  const times = Array.from<Time>({ length })
  const positions = Array.from<number>({ length })
  const values = Array.from<number>({ length })
  const observed = Array.from({ length }, () => false)
  const skipped = new Set<number>()
  for (const [row, index] of indices.entries()) {
    const before = row === 0 ? index : indices[row - 1]!
    const from = row === 0 ? 0 : series.values[row - 1]!
    const unshown = Math.min(skippedBefore(series, step, row), index - before - 1)
    for (let gap = before + 1; gap < index; gap++) {
      if (gap <= before + unshown) skipped.add(gap)
      values[gap] = from + ((gap - before) / (index - before)) * (series.values[row]! - from)
      positions[gap] = onward(series.positions[row - 1]!, Math.max(1, gap - before - unshown))
      times[gap] = timeText(series, positions[gap]!)
    }
    values[index] = series.values[row]!
    positions[index] = series.positions[row]!
    times[index] = series.times[row]!
    observed[index] = true
  }
  return {
    step,
    times,
    positions,
    values,
    observed,
    skipped,
    time_zone: series.time_zone,
    ends,
    after,
    rowAfter:
      !wall && followsClocks(series, step, indices) ? rowsByTheClock(series, step, after) : (ahead) => ahead,
  }
}

/**
 * Tells whether the rows are hours or shorter steps by the clocks of a zone. Steps that are even in time count if no
 * change of the clocks falls among them.
 */
function followsClocks(
  { kind, time_zone, offsets, positions }: Series,
  step: Step,
  indices: readonly number[],
): step is Step & { unit: 'days' } {
  if (
    kind !== 'zoned' ||
    time_zone === undefined ||
    time_zone === 'UTC' ||
    step.unit !== 'days' ||
    step.size >= HOURLY
  )
    return false
  if (!offsets) return true
  const moved = offsets.at(-1)!.ahead - offsets[0]!.ahead
  const rows = (positions.at(-1)! - positions[0]! + moved) / step.size
  return Math.abs(rows - indices.at(-1)!) < 0.5
}

/** Returns the function that gives the rows to come of a series by the hour. */
function rowsByTheClock(
  series: Series,
  step: Step & { unit: 'days' },
  after: Grid['after'],
): Grid['rowAfter'] {
  const found = new Map<number, number>()
  const wallOf = (ahead: number): number => {
    const time = String(ahead === 0 ? timeText(series, series.positions.at(-1)!) : after(ahead))
    return Number.isNaN(Date.parse(time))
      ? Number.NaN
      : Date.parse(`${clockInZone(time, series.time_zone!).replace(' ', 'T')}Z`) / 86_400_000
  }
  let last: number | null = null
  const rowOf = (ahead: number): number => {
    last ??= wallOf(0)
    const row = (wallOf(ahead) - last) / step.size
    // Clocks that move by less than a step leave the rows as they are.
    return Math.abs(row - Math.round(row)) < 0.1 ? Math.max(1, Math.round(row)) : ahead
  }
  return (ahead) => {
    const row = found.get(ahead) ?? rowOf(ahead)
    found.set(ahead, row)
    return row
  }
}

/** The most steps of a grid, and the least share of them that must have a value. */
const MOST_STEPS = 100_000
const LEAST_SHARE = 0.05
/** One second, in days. */
const SECOND = 1 / 86_400

function stepOf(series: Series): { step: Step; indices: number[] } {
  const order = { step: { unit: 'order' } as Step, indices: series.times.map((_, index) => index) }
  if (series.times.length < LEAST) return order
  const candidates: (() => { step: Step; at: number[] } | null)[] =
    series.kind === 'number'
      ? [() => evenStep(series, 'number')]
      : [
          () => monthStep(series),
          () => weekdayStep(series),
          () => clockStep(series),
          () => evenStep(series, 'days'),
          () => dayStep(series),
        ]
  for (const candidate of candidates) {
    const found = candidate()
    if (!found) continue
    const indices = found.at.map((at) => at - found.at[0]!)
    const steps = indices.at(-1)! + 1
    const distinct = indices.every((index, row) => row === 0 || index > indices[row - 1]!)
    if (distinct && steps <= MOST_STEPS && indices.length >= LEAST_SHARE * steps)
      return { step: found.step, indices }
  }
  return order
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

/** Finds even steps on the clocks of the zone. */
function clockStep(series: Series): { step: Step; at: number[] } | null {
  const { offsets, positions } = series
  if (!offsets) return null
  const ahead = (position: number): number =>
    (offsets.findLast(({ from }) => from <= position) ?? offsets[0]!).ahead
  const found = evenStep({ ...series, positions: positions.map((one) => one + ahead(one)) }, 'days')
  return found && { ...found, step: { ...found.step, size: median(gapsOf(positions)) } as Step }
}

/** Counts the steps before a row that the clocks of the zone do not show. */
function skippedBefore({ offsets, positions }: Series, step: Step, row: number): number {
  if (!offsets || step.unit !== 'days' || row === 0) return 0
  const passed = offsets.filter(({ from }) => from > positions[row - 1]! && from <= positions[row]!)
  const forward = passed.map((one) => one.ahead - offsets[offsets.indexOf(one) - 1]!.ahead)
  return Math.max(0, Math.round(forward.reduce((sum, one) => sum + one, 0) / step.size))
}

/** Returns the days if all times have the same hour, else null. */
function daysOf({ positions }: Series): number[] | null {
  const days = positions.map((position) => Math.floor(position + SECOND))
  const hour = positions[0]! - days[0]!
  return positions.every((position, row) => Math.abs(position - days[row]! - hour) < SECOND) ? days : null
}

/** Finds steps of whole days at any distance, for rows that exist only on days with events. */
function dayStep(series: Series): { step: Step; at: number[] } | null {
  const at = daysOf(series)
  return at && { step: { unit: 'days', size: 1 }, at }
}

/** Finds steps of 1, 3 or 12 months, for times on the same day of their month (or on its last day). */
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
  const positions = daysOf(series)
  if (!positions || positions.length < 10 || median(gapsOf(positions)) !== 1) return null
  const open = openWeekdays(positions)
  if (open.size === 7) return null
  const order = [1, 2, 3, 4, 5, 6, 0].filter((day) => open.has(day))
  // Positions are days since Monday, 1969-12-29.
  const at = positions.map(
    (position) => order.length * Math.floor((position + 3) / 7) + order.indexOf(weekdayOf(position)),
  )
  return { step: { unit: 'weekdays', open }, at }
}

/** Returns the position `ahead` steps after `from`. */
function positionAfter(series: Series, step: Step, from: number, ahead: number): number {
  switch (step.unit) {
    case 'months': {
      const first = Math.floor(from + 1e-9)
      return endOfMonth(series)
        ? lastDay(monthsAfter(first - 27, ahead * step.size))
        : monthsAfter(first, ahead * step.size) + (from - first)
    }
    case 'weekdays': {
      let day = from
      for (let left = ahead; left > 0; left--) {
        do day += 1
        while (!step.open.has(weekdayOf(day)))
      }
      return day
    }
    case 'days':
    case 'number':
      return from + ahead * step.size
    case 'order': {
      const gap = series.positions.length > 1 ? median(gapsOf(series.positions)) : 1
      return from + ahead * gap
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

/** Returns the name of one step: "month", "day", "15 minutes", "2 hours"; null if it has none. */
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
      return step.open === WORKING ? 'working day' : 'business day'
    case 'days': {
      const named: [number, string][] = [
        [7, 'week'],
        [1, 'day'],
        [1 / 24, 'hour'],
        [1 / 1440, 'minute'],
      ]
      const found = named.find(([size]) => Math.abs(step.size / size - 1) < 1e-6)
      if (found) return found[1]
      const [size, name] =
        step.size < 1 / 24 ? [1 / 1440, 'minutes'] : step.size < 1 ? [1 / 24, 'hours'] : [1, 'days']
      return `${Number((step.size / size).toPrecision(4))} ${name}`
    }
    case 'number':
    case 'order':
      return null
  }
}

/** Returns the noun that counts steps: "day", or "time" for a step without a name of its own, such as 15 minutes. */
export function countedStep(step: Step): string {
  const name = stepName(step)
  return name === null || /^\d/u.test(name) ? 'time' : name
}

/** Returns the calendar unit that a step begins, for sentences; null if there is none. */
export function unitOf(step: Step): DateUnit | null {
  return unitNamed(stepName(step))
}

export function unitNamed(name: string | null): DateUnit | null {
  if (name === 'working day' || name === 'business day') return 'day'
  return (['day', 'week', 'month', 'quarter', 'year'] as const).find((unit) => unit === name) ?? null
}
