/**
 * Measures the cost of a diagnosis and of a forecast: the median processor time of this process, after a few uncounted
 * runs.
 */
import { stepAt } from '../../packages/engine/forecasting/design.ts'
import { forecastSeries } from '../../packages/engine/forecasting/forecast-series.ts'
import { diagnose } from '../../packages/engine/series/diagnosis.ts'
import { gridOf } from '../../packages/engine/series/grid.ts'
import type { Series } from '../../packages/engine/series/load.ts'
import type { Cell } from './cells.ts'
import { normal, PROCESSES, type Process, type Random, randomFrom } from './processes.ts'

export const DIAGNOSED = 'time of a diagnosis'
export const FORECAST = 'time of a forecast'
/** The number of values, the runs of each process, and the most milliseconds that are promised. */
export const TIMED: Record<string, { n: number; runs: number; most: number }[]> = {
  [DIAGNOSED]: [
    { n: 200, runs: 40, most: 5 },
    { n: 20_000, runs: 5, most: 300 },
  ],
  [FORECAST]: [{ n: 20_000, runs: 3, most: 5000 }],
}
const WARM = 10
const DAY = 86_400_000

/** Returns a series of ten levels of different heights. */
const levels = (random: Random, n: number): number[] => {
  let level = 0
  return Array.from({ length: n }, (_, row) => {
    if (row % Math.floor(n / 10) === 0) level = 8 * normal(random)
    return level + normal(random)
  })
}

const twoWaves = (random: Random, n: number, long: number, short: number): number[] =>
  Array.from(
    { length: n },
    (_, row) => 5 * Math.sin((2 * Math.PI * row) / long) + (row % short === 0 ? 3 : 0) + normal(random),
  )

export const TIMED_PROCESSES: readonly Process[] = [
  ...PROCESSES.filter(({ step, gaps }) => step !== 'month' && !gaps),
  { name: 'ten levels', step: 'day', season: null, make: levels },
  {
    name: 'a week and a year in days',
    step: 'day',
    season: 7,
    make: (random, n) => twoWaves(random, n, 365.2425, 7),
  },
]

function seriesOf(values: number[], step: Process['step']): Series {
  const size = step === 'hour' ? 1 / 24 : step === 'week' ? 7 : 1
  const positions = values.map((_, row) => row * size)
  const letters = step === 'hour' ? 19 : 10
  const times = positions.map((position) => new Date(position * DAY).toISOString().slice(0, letters))
  return { times, positions, values, kind: step === 'hour' ? 'timestamp' : 'date', unit: 1, doubts: [] }
}

/** Returns the milliseconds of processor time that a run takes. */
function cost(run: () => void): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function run(part: string, series: Series): void {
  const grid = gridOf(series)
  const rows = [...grid.observed.keys()]
  const known = { time_zone: 'UTC', partial_last: false, gaps: { n: 0, treated: 'missing' } } as const
  const { diagnosis, seasons } = diagnose(series, grid, rows, known)
  if (part === DIAGNOSED) return
  const { ahead } = forecastSeries({
    values: grid.values,
    observed: grid.observed,
    periods: seasons.map(({ period }) => period),
    columns: [],
    levels: diagnosis.level_shifts.map(({ index }) => stepAt(index)),
    horizon: 12,
    counts: diagnosis.counts,
    sparse: diagnosis.sparse,
  })
  // Quantiles are computed when they are read, so all are read here.
  for (const { low_80, high_80, low_95, high_95 } of ahead)
    if (low_80 + high_80 + low_95 + high_95 === 0) return
}

/**
 * Measures each part over each process. `counts` holds the median in microseconds. A forecast includes its diagnosis.
 */
export function timesOf(seed: number): Cell[] {
  return Object.entries(TIMED).flatMap(([part, sizes]) =>
    sizes.flatMap(({ n, runs }) =>
      TIMED_PROCESSES.map(({ name, step, make }): Cell => {
        const warm = n < 1000 ? WARM : 1
        const costs = Array.from({ length: warm + runs }, (_, nth) => {
          const series = seriesOf(make(randomFrom(seed + nth), n), step)
          return cost(() => run(part, series))
        }).slice(warm)
        const median = costs.toSorted((a, b) => a - b)[runs >> 1]!
        return {
          part,
          process: name,
          n,
          seed,
          series: runs,
          counts: { microseconds: Math.round(1000 * median) },
        }
      }),
    ),
  )
}
