/**
 * Handles times that follow the clocks of their zone: daily at nine, every six hours from midnight. Around a change of
 * the clocks they are not even in time, and the next one has the same hour on the clock.
 */
import { instantOf, wallAt } from '@assay/model/wall'
import type { Series } from './load.ts'
import { medianOf } from './spikes/tails.ts'

const DAY = 86_400_000
const MINUTE = 60_000
/** One hour in days. A step of an hour or less either exists or not when clocks change (grid.ts). */
const HOUR = 1.001 / 24

export interface Wall {
  /** The clock times of the series, in days as the positions are. */
  shown: number[]
  /** Returns the position at which the clocks show `step` of what they show at `from`. */
  after(from: number, step: (shown: number) => number): number
}

/** Returns the clocks of the series, or null if the times are even steps in time, or have no zone. */
export function wallOf({ kind, time_zone, positions, offsets }: Series): Wall | null {
  if (kind !== 'zoned' || time_zone === undefined || time_zone === 'UTC' || positions.length < 2) return null
  const gap = medianOf(positions.slice(1).map((position, row) => position - positions[row]!))
  if (gap <= HOUR) return null
  const unit = Math.min(1, gap)
  const onWall = (position: number): number => moved(position, (minute) => wallAt(time_zone, minute))
  const last = positions.at(-1)!
  const ahead = onWall(last) - last
  const moves = offsets ?? [{ from: positions[0]!, ahead }]
  let place = 0
  const shown = positions.map((position) => {
    while (place + 1 < moves.length && moves[place + 1]!.from <= position) place += 1
    return position + moves[place]!.ahead
  })
  // A change of the clocks within the series shows whether its times follow the clocks. Without a change, times that
  // are even from midnight do.
  const keeps = offsets
    ? timesOfUnit(shown, unit) <= timesOfUnit(positions, unit)
    : !isMultiple(last, unit) || isMultiple(last + ahead, unit)
  if (!keeps) return null
  return {
    shown,
    after: (from, step) => moved(step(onWall(from)), (minute) => instantOf(time_zone, minute)),
  }
}

/** Moves a time by its clock. The clock is read to whole minutes, and the rest of a minute stays. */
function moved(days: number, to: (minute: number) => number): number {
  const at = Math.round(days * DAY)
  const minute = Math.floor(at / MINUTE) * MINUTE
  return (to(minute) + at - minute) / DAY
}

const isMultiple = (position: number, unit: number): boolean =>
  Math.abs(position / unit - Math.round(position / unit)) * unit * DAY < 1000

/** Counts the different times within a day, or within a shorter step, to the second. */
function timesOfUnit(positions: readonly number[], unit: number): number {
  const seconds = Math.round(unit * 86_400)
  return new Set(positions.map((position) => Math.round(position * 86_400) % seconds)).size
}
