/**
 * Compares known tests with the methods over time at the same share of false claims. The threshold of a test is raised
 * until it claims no more than the method over all processes, and in no process more than the method's worst.
 */
import { generalisedEsd } from '../../packages/engine/numeric/outliers.ts'
import { EFFECTS, PROCESSES, type Process, randomFrom, seriesOf } from './processes.ts'

/** Returns a number that grows with the effect. */
type Statistic = (values: readonly number[], rows: readonly number[]) => number

/** The number of series of each effect on which a test is tried, and the least number of each process. */
export const BESIDE = 200
/** The number of series, over all processes, by which a threshold is set. */
const BY_WHICH = 2000

export interface Held {
  processes: readonly Process[]
  n: number
  /** The share of false claims over all processes. */
  all: number
  /** The share in the process with most. */
  worst: number
  seed: number
}

/**
 * Returns for each size the share of the series with the effect in which the test finds it. Its threshold is one that
 * only the allowed share of series without the effect exceeds.
 */
export function foundBeside(
  statistic: Statistic,
  effect: keyof typeof EFFECTS,
  sizes: readonly number[],
  { processes, n, all, worst, seed }: Held,
): Map<number, number> {
  const each = Math.max(BESIDE, Math.ceil(BY_WHICH / processes.length))
  const without = processes.map((process, place) =>
    [...seriesOf(process, n, each, seed + place)].map(({ values, rows }) => statistic(values, rows)),
  )
  const passedBy = (share: number, some: readonly number[]): number =>
    some.toSorted((a, b) => b - a)[Math.round(share * some.length)] ?? Number.POSITIVE_INFINITY
  const threshold = Math.max(passedBy(all, without.flat()), ...without.map((some) => passedBy(worst, some)))
  return new Map(
    sizes.map((size) => {
      const random = randomFrom(seed)
      const made = Array.from({ length: BESIDE }, () => EFFECTS[effect](random, n, size))
      return [
        size,
        made.filter((values) => statistic(values, [...values.keys()]) > threshold).length / BESIDE,
      ]
    }),
  )
}

export const WHITE_NOISE = PROCESSES.filter(({ name }) => name === 'white noise')

/** Returns the distance of the farthest value in standard deviations (Rosner, Technometrics 25, 1983). */
export const farthest: Statistic = (values) => generalisedEsd(values, 1, 0.05).steps[0]?.statistic ?? 0

/** Returns the t of a slope by least squares. */
export const slope: Statistic = (values, rows) => slopeOver(values, rows, () => 0)

/**
 * Returns the t of a slope with errors after Newey and West (Econometrica 55, 1987), over 4 (n / 100)^(2/9) lags
 * (Review of Economic Studies 61, 1994).
 */
export const slopeBesideLags: Statistic = (values, rows) =>
  slopeOver(values, rows, (n) => Math.floor(4 * (n / 100) ** (2 / 9)))

function slopeOver(values: readonly number[], rows: readonly number[], lags: (n: number) => number): number {
  const n = values.length
  const [across, up] = [meanOf(rows), meanOf(values)]
  const away = rows.map((row) => row - across)
  const squares = sumOf(away.map((one) => one * one))
  const estimate = sumOf(away.map((one, row) => one * (values[row]! - up))) / squares
  const errors = values.map((value, row) => value - up - estimate * away[row]!)
  const most = lags(n)
  const variance =
    most === 0
      ? (squares * sumOf(errors.map((one) => one * one))) / (n - 2)
      : longRun(
          errors.map((one, row) => one * away[row]!),
          most,
        )
  return Math.abs(estimate) / (Math.sqrt(variance) / squares)
}

/**
 * Returns the farthest sum of residuals about the mean over their long-run variance (Ploberger and Kramer, Econometrica
 * 60, 1992).
 */
export const cusum: Statistic = (values) => {
  const n = values.length
  const away = values.map((value) => value - meanOf(values))
  const scale = Math.sqrt(longRun(away, Math.floor(4 * (n / 100) ** (2 / 9))))
  let [sum, most] = [0, 0]
  for (const one of away) most = Math.max(most, Math.abs((sum += one)))
  return most / scale
}

/**
 * Returns the gain of one change of level, the first that PELT takes (Killick, Fearnhead and Eckley, JASA 107, 2012),
 * in units of the variance of the noise, which is estimated from the differences of neighbours.
 */
export const oneChange: Statistic = (values) => {
  const steps = values.slice(1).map((value, row) => (value - values[row]!) ** 2)
  return gainOf(values) / (sumOf(steps) / 2 / steps.length)
}

/** Returns the gain of one change of level if the variance of the noise is known to be 1. */
export const oneChangeInNoise: Statistic = (values) => gainOf(values)

function gainOf(values: readonly number[]): number {
  const n = values.length
  const whole = sumOf(values)
  let [before, most] = [0, 0]
  for (let row = 1; row < n; row++) {
    before += values[row - 1]!
    most = Math.max(most, (row * (n - row) * (before / row - (whole - before) / (n - row)) ** 2) / n)
  }
  return most
}

/** Returns n times the long-run variance of values about 0, by Bartlett's weights. */
function longRun(values: readonly number[], lags: number): number {
  let sum = sumOf(values.map((value) => value * value))
  for (let lag = 1; lag <= lags; lag++)
    sum += 2 * (1 - lag / (lags + 1)) * sumOf(values.slice(lag).map((value, row) => value * values[row]!))
  return sum
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)
const meanOf = (values: readonly number[]): number => sumOf(values) / values.length
