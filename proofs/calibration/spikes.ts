/** Counts false alarms of `anomalies` on simulated series, and the spikes that it finds. */
import { calendarSeasons } from '../../packages/engine/series/calendar-seasons.ts'
import { levelChanges } from '../../packages/engine/series/level-changes.ts'
import { findSeasons, seasonColumns } from '../../packages/engine/series/seasons.ts'
import { findInSeries } from '../../packages/engine/series/spikes/of-series.ts'
import { EFFECTS, PROCESSES, type Process, randomFrom, STEPS, seriesOf } from './processes.ts'

const ALPHA = 0.05
export const SPIKES = [1, 2, 3, 5, 8]

const FIRST_DAY = Date.UTC(2020, 0, 1) / 86_400_000

/** Tells whether a value stands out, by the rules of the method. */
function alarmOf(values: readonly number[], rows: readonly number[], process: Process): boolean {
  const seasons = findSeasons(values, rows, calendarSeasons(STEPS[process.step]))
  const most = Math.min(100, Math.max(1, Math.floor(values.length / 10)))
  const { found } = findInSeries(
    {
      values,
      rows,
      waves: seasons.flatMap(({ period }) => seasonColumns(rows, period)),
      levels: levelChanges(values, rows, seasons).map(({ index }) => index),
      days: process.step === 'day' ? rows.map((row) => FIRST_DAY + row) : null,
    },
    most,
    ALPHA,
  )
  return found.spikes.length > 0
}

export function falseAlarms(process: Process, n: number, series: number, seed: number): number {
  let alarms = 0
  for (const { values, rows } of seriesOf(process, n, series, seed))
    if (alarmOf(values, rows, process)) alarms += 1
  return alarms
}

const NOISE = PROCESSES.find(({ name }) => name === 'white noise')!

function* spikesOf(size: number, n: number, series: number, seed: number) {
  const random = randomFrom(seed)
  for (let count = 0; count < series; count++) yield EFFECTS.spike(random, n, size)
}

/** Counts the spikes of `size` standard deviations that are found in normal noise. */
export function spikesFound(size: number, n: number, series: number, seed: number): number {
  let found = 0
  for (const values of spikesOf(size, n, series, seed))
    if (alarmOf(values, [...values.keys()], NOISE)) found += 1
  return found
}
