/** Counts false claims and found effects of trend, seasonality and changepoints, by the rules of the methods. */
import { calendarSeasons } from '../../packages/engine/series/calendar-seasons.ts'
import { levelChanges } from '../../packages/engine/series/level-changes.ts'
import { judgeLine } from '../../packages/engine/series/line.ts'
import { findSeasons, seasonColumns } from '../../packages/engine/series/seasons.ts'
import { withShortLevels } from '../../packages/engine/series/spikes/short-levels.ts'
import { EFFECTS, type Process, type Random, randomFrom, STEPS } from './processes.ts'

export const OVER_TIME = ['trend', 'seasonality', 'changepoints'] as const
export type OverTime = (typeof OVER_TIME)[number]

export interface OverTimeClaims extends Record<OverTime, number> {
  /** The number of series whose season was found. */
  found: number
}

const ALPHA = 0.05

/** Returns the rows that stay if a tenth of them, but neither the first nor the last, is left out. */
function withoutGaps(random: Random, n: number): number[] {
  const rows = Array.from({ length: n }, (_, row) => row)
  return rows.filter((row) => row === 0 || row === n - 1 || random() > 0.1)
}

/** Tells whether a process shows its season at this length. Two years are 730 days, as `findSeasons` requires. */
export function showsSeason({ season }: Process, n: number): boolean {
  return season !== null && n >= 2 * Math.floor(season)
}

/** Returns the number of changes of level that `changepoints` lists. */
function levelsOf(
  values: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
): number {
  const waves = seasons.flatMap(({ period }) => seasonColumns(rows, period))
  return withShortLevels(levelChanges(values, rows, seasons), values, rows, waves).length
}

export function overTimeClaims(process: Process, n: number, series: number, seed: number): OverTimeClaims {
  const random = randomFrom(seed)
  const claims: OverTimeClaims = { trend: 0, seasonality: 0, changepoints: 0, found: 0 }
  const candidates = calendarSeasons(STEPS[process.step])
  for (let count = 0; count < series; count++) {
    const whole = process.make(random, n)
    const rows = process.gaps ? withoutGaps(random, n) : whole.map((_, row) => row)
    const values = rows.map((row) => whole[row]!)
    const seasons = findSeasons(values, rows, candidates)
    const right = seasons.filter(
      ({ period }) => process.season !== null && Math.abs(period / process.season - 1) < 0.02,
    )
    if (seasons.length > right.length) claims.seasonality += 1
    if (right.length > 0) claims.found += 1
    if ((judgeLine(values, rows, seasons)?.p ?? 1) < ALPHA) claims.trend += 1
    if (levelsOf(values, rows, seasons) > 0) claims.changepoints += 1
  }
  return claims
}

/** Counts the series in which a slope or a shift of `size` standard deviations is found. */
export function effectsFound(
  effect: 'slope' | 'shift',
  size: number,
  n: number,
  series: number,
  seed: number,
): number {
  const rows = Array.from({ length: n }, (_, row) => row)
  const random = randomFrom(seed)
  let found = 0
  for (let count = 0; count < series; count++) {
    const values = EFFECTS[effect](random, n, size)
    const shows =
      effect === 'slope' ? (judgeLine(values, rows, [])?.p ?? 1) < ALPHA : levelsOf(values, rows, []) > 0
    if (shows) found += 1
  }
  return found
}
