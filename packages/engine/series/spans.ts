/** Writes the times of a series in words. */
import { clockInZone } from '@assay/model/dates'
import { timeInWords } from '../verdicts/times.ts'
import { type Grid, unitOf } from './grid.ts'
import type { Series, Time } from './load.ts'

/** Says "from January 2001 to June 2004". */
export function spanOf(series: Series, grid: Grid): string {
  return between(series.times[0]!, series.times.at(-1)!, grid)
}

/** Says the same of any two times. */
export function between(first: Time, last: Time, grid: Grid): string {
  return `from ${inWords(first, grid)} to ${inWords(last, grid)}`
}

/** Says a time as the clocks of the template's zone show it. */
export function inWords(time: Time, grid: Grid): string {
  return timeInWords(onTheClock(time, grid), unitOf(grid.step))
}

/** Returns a moment with the date and the hour that its zone had. */
export function onTheClock(time: Time, { time_zone }: { time_zone?: string | undefined }): Time {
  if (typeof time === 'number' || time_zone === undefined || !/^\d{4}-.*Z$/u.test(time)) return time
  return clockInZone(time, time_zone).replace(' ', 'T')
}

/** Says "on 5 May 2024", "in May 2024", "in 1898", "at 17". */
export function atTime(time: Time, grid: Grid): string {
  const unit = unitOf(grid.step)
  const words = inWords(time, grid)
  if (typeof time === 'number')
    return `${Number.isInteger(time) && time >= 1000 && time < 3000 ? 'in' : 'at'} ${words}`
  return `${unit === null || unit === 'day' ? 'on' : 'in'} ${words}`
}
