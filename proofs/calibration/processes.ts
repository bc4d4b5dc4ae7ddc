/** Makes simulated series with known content. */

export type Random = () => number

/** Returns a generator of numbers from 0 to 1 (Mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** Draws a normal value (Box and Muller 1958). */
export function normal(random: Random): number {
  let uniform = random()
  while (uniform === 0) uniform = random()
  return Math.sqrt(-2 * Math.log(uniform)) * Math.cos(2 * Math.PI * random())
}

export function student3(random: Random): number {
  const value = normal(random)
  const squares = normal(random) ** 2 + normal(random) ** 2 + normal(random) ** 2
  return value / Math.sqrt(squares / 3)
}

export function poisson(random: Random, mean: number): number {
  const least = Math.exp(-mean)
  let product = random()
  let count = 0
  while (product > least) {
    product *= random()
    count += 1
  }
  return count
}

function autoregressive(random: Random, n: number, a: number): number[] {
  let state = a < 1 ? normal(random) / Math.sqrt(1 - a * a) : 0
  return Array.from({ length: n }, () => (state = a * state + normal(random)))
}

/** The steps of the processes. */
export const STEPS = {
  hour: { unit: 'days', size: 1 / 24 },
  day: { unit: 'days', size: 1 },
  week: { unit: 'days', size: 7 },
  month: { unit: 'months', size: 1 },
} as const

/** What a process contains. */
export interface Process {
  name: string
  /** The step from row to row. A `month` has the length of the calendar's. */
  step: keyof typeof STEPS
  make(random: Random, n: number): number[]
  /** The period of the season in steps; null without one. */
  season: number | null
  /** Whether a finding of the method is neither true nor false here and does not count. */
  uncounted?: readonly string[]
  /** True if rows are left out. */
  gaps?: boolean
}

const weekly = [0.4, 0.2, 0, 0.1, 0.8, -1, -0.9]

const noise: Omit<Process, 'season'>[] = [
  { name: 'white noise', step: 'day', make: (random, n) => autoregressive(random, n, 0) },
  { name: 'AR(1) 0.5', step: 'day', make: (random, n) => autoregressive(random, n, 0.5) },
  { name: 'AR(1) 0.8', step: 'day', make: (random, n) => autoregressive(random, n, 0.8) },
  { name: 'random walk', step: 'day', make: (random, n) => autoregressive(random, n, 1) },
  {
    name: 'log-normal, sigma 0.8',
    step: 'day',
    make: (random, n) => Array.from({ length: n }, () => Math.exp(0.8 * normal(random))),
  },
  {
    name: 'Student t, 3 degrees',
    step: 'day',
    make: (random, n) => Array.from({ length: n }, () => student3(random)),
  },
  {
    name: 'Poisson, mean 3',
    step: 'day',
    make: (random, n) => Array.from({ length: n }, () => poisson(random, 3)),
  },
  {
    name: 'growing variance',
    step: 'day',
    make: (random, n) => Array.from({ length: n }, (_, row) => normal(random) * (1 + (2 * row) / n)),
  },
  {
    name: 'white noise with gaps',
    step: 'day',
    make: (random, n) => autoregressive(random, n, 0),
    gaps: true,
  },
]

export const PROCESSES: readonly Process[] = [
  ...noise.map((process) => ({ ...process, season: null })),
  {
    name: 'weekly season with AR(1) 0.6',
    step: 'day',
    season: 7,
    make: (random, n) => autoregressive(random, n, 0.6).map((value, row) => value + 2 * weekly[row % 7]!),
  },
  ...(
    [
      ['day', 365.25],
      ['week', 52.1775],
      ['month', 12],
    ] as const
  ).map(
    ([step, period]): Process => ({
      name: `yearly season in ${step}s`,
      step,
      season: period,
      make: (random, n) =>
        Array.from({ length: n }, (_, row) => 2 * Math.sin((2 * Math.PI * row) / period) + normal(random)),
      // A part of one cycle of a wave is also a slope and a change of level.
      uncounted: ['trend', 'changepoints'],
    }),
  ),
  {
    name: 'level shift of 3',
    step: 'day',
    season: null,
    make: (random, n) => Array.from({ length: n }, (_, row) => normal(random) + (row >= n / 2 ? 3 : 0)),
    uncounted: ['trend', 'changepoints'],
  },
  {
    name: 'daylight saving: a daily season in hours that moves by one',
    step: 'hour',
    season: 24,
    make: (random, n) =>
      Array.from(
        { length: n },
        (_, row) => 2 * Math.sin((2 * Math.PI * (row + (row >= n / 2 ? 1 : 0))) / 24) + normal(random),
      ),
    uncounted: ['trend', 'changepoints'],
  },
]

/** Series that rise by twenty times their noise without any change of level: `changepoints` has none. */
export const RISES: readonly Process[] = (
  [
    ['a straight rise', (share) => share],
    ['a rise that bends upwards', (share) => share ** 2],
    ['a rise that levels off at both ends', (share) => 1 / (1 + Math.exp(10 * (0.5 - share)))],
    ['a level and then a rise', (share) => Math.max(0, 2 * share - 1)],
  ] satisfies [string, (share: number) => number][]
).map(([name, way]) => ({
  name,
  step: 'day',
  season: null,
  make: (random, n) => Array.from({ length: n }, (_, row) => 20 * way(row / n) + normal(random)),
}))

/** A series that grows to ten times its beginning, with noise of a twentieth of each value. */
export const GROWTH: Process = {
  name: 'growth to ten times, with noise of 5 %',
  step: 'day',
  season: null,
  make: (random, n) => Array.from({ length: n }, (_, row) => 10 ** (row / n) * (1 + normal(random) / 20)),
}

/** Yields the series of a process. One with gaps lacks a tenth of the rows. */
export function* seriesOf(process: Process, n: number, series: number, seed: number) {
  const random = randomFrom(seed)
  for (let count = 0; count < series; count++) {
    const whole = process.make(random, n)
    const rows = whole
      .map((_, row) => row)
      .filter((row) => !process.gaps || row === 0 || row === n - 1 || random() > 0.1)
    yield { values: rows.map((row) => whole[row]!), rows }
  }
}

/** The effects that a method should find, by their size in standard deviations of the noise. */
export const EFFECTS: Record<
  'shift' | 'spike' | 'slope',
  (random: Random, n: number, size: number) => number[]
> = {
  shift: (random, n, size) =>
    Array.from({ length: n }, (_, row) => normal(random) + (row >= Math.floor(0.6 * n) ? size : 0)),
  spike: (random, n, size) =>
    Array.from({ length: n }, (_, row) => normal(random) + (row === Math.floor(0.6 * n) ? size : 0)),
  slope: (random, n, size) => Array.from({ length: n }, (_, row) => normal(random) + (size * row) / n),
}
