/** Counts the future values that lie in the 95 % intervals of forecasts, on simulated series. */
import { harmonics, stepAt } from '../../packages/engine/forecasting/design.ts'
import { forecastSeries } from '../../packages/engine/forecasting/forecast-series.ts'
import { calendarSeasons } from '../../packages/engine/series/calendar-seasons.ts'
import { levelChanges, mostLevels } from '../../packages/engine/series/level-changes.ts'
import { begunSeasons, findSeasons } from '../../packages/engine/series/seasons.ts'
import { normal, PROCESSES, type Process, type Random, randomFrom, STEPS } from './processes.ts'

const HORIZON = 12

/** The number of future values of each series. */
export interface Covered extends Record<string, number> {
  values: number
  within_95: number
  within_80: number
}

const sums = (random: Random, n: number, drift: number): number[] => {
  let level = 0
  return Array.from({ length: n }, () => (level += drift + normal(random)))
}

const ONLY_FORECAST: readonly Process[] = [
  {
    name: 'random walk with a drift of 0.5',
    step: 'day',
    season: null,
    make: (random, n) => sums(random, n, 0.5),
  },
  {
    name: 'trend of 0.5 a step',
    step: 'day',
    season: null,
    make: (random, n) => Array.from({ length: n }, (_, row) => 0.5 * row + normal(random)),
  },
  {
    name: 'multiplicative season in months',
    step: 'month',
    season: 12,
    make: (random, n) =>
      Array.from(
        { length: n },
        (_, row) =>
          (100 + 2 * row) * (1 + 0.3 * Math.sin((2 * Math.PI * row) / 12)) * Math.exp(0.05 * normal(random)),
      ),
  },
  {
    name: 'intermittent demand',
    step: 'day',
    season: null,
    make: (random, n) =>
      Array.from({ length: n }, () => (random() < 0.3 ? 1 + Math.floor(-3 * Math.log(1 - random())) : 0)),
  },
]

export const COVERED = [...PROCESSES.filter(({ gaps }) => !gaps), ...ONLY_FORECAST]

export function runCoverage(process: Process, n: number, series: number, seed: number): Covered {
  const random = randomFrom(seed)
  let within95 = 0
  let within80 = 0
  for (let count = 0; count < series; count++) {
    const whole = process.make(random, n + HORIZON)
    const values = whole.slice(0, n)
    const rows = values.map((_, row) => row)
    const counts = values.every((value) => Number.isInteger(value) && value >= 0)
    const candidates = calendarSeasons(STEPS[process.step])
    const seasons = findSeasons(values, rows, candidates)
    const begun = begunSeasons(values, rows, candidates, seasons)
    const { ahead } = forecastSeries({
      values,
      observed: values.map(() => true),
      periods: seasons.map(({ period }) => period),
      columns: begun.flatMap((period) => harmonics(period, 1)),
      levels: levelChanges(values, rows, seasons)
        .slice(-mostLevels(n) || n)
        .map(({ index }) => stepAt(index)),
      horizon: HORIZON,
      counts,
      sparse: 2 * values.filter((value) => value === 0).length > n,
    })
    for (const [step, { low_95, high_95, low_80, high_80 }] of ahead.entries()) {
      const value = whole[n + step]!
      if (value >= low_95 - 1e-9 && value <= high_95 + 1e-9) within95 += 1
      if (value >= low_80 - 1e-9 && value <= high_80 + 1e-9) within80 += 1
    }
  }
  return { values: series * HORIZON, within_95: within95, within_80: within80 }
}
