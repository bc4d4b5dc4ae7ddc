/** Lists every cell of docs/calibration.md, and says how each is counted. */
import type { Job } from './cells.ts'
import { COVERED, runCoverage } from './coverage.ts'
import { countsFor, effectOf, JUDGED, runClaims, runHits, sizesOf } from './outcomes.ts'
import { effectsFound, overTimeClaims } from './over-time.ts'
import { GROWTH, PROCESSES, type Process, RISES } from './processes.ts'
import { falseAlarms, SPIKES, spikesFound } from './spikes.ts'

export const LENGTHS = [36, 60, 200, 730]
/** The lengths of series whose forecasts are checked. */
export const LENGTHS_COVERED = [12, ...LENGTHS]
/** The lengths at which power is counted. */
export const LENGTHS_FOUND = LENGTHS.slice(0, 3)
export const SIZES = [1, 2, 3]

type Count = (n: number, series: number, seed: number) => ReturnType<Job['run']>

const cells = (part: string, process: string, lengths: readonly number[], count: Count): Job[] =>
  lengths.map((n) => ({ part, process, n, run: (series, seed) => count(n, series, seed) }))

const each = (
  part: string,
  processes: readonly Process[],
  lengths: readonly number[],
  count: (process: Process) => Count,
) => processes.flatMap((process) => cells(part, process.name, lengths, count(process)))

/** The cells of trend, seasonality and changepoints. */
export const overTimeJobs: readonly Job[] = [
  ...each('over time', PROCESSES, LENGTHS, (process) => (n, series, seed) => ({
    ...overTimeClaims(process, n, series, seed),
  })),
  ...(['slope', 'shift'] as const).flatMap((effect) =>
    SIZES.flatMap((size) =>
      cells('power', `${effect} of ${size}`, LENGTHS_FOUND, (n, series, seed) => ({
        found: effectsFound(effect, size, n, series, seed),
      })),
    ),
  ),
]

/** The cells of changes of level and anomalies on series that only rise. */
export const riseJobs: readonly Job[] = each(
  'rises',
  [...RISES, GROWTH],
  LENGTHS,
  (process) => (n, series, seed) => ({
    changepoints: overTimeClaims(process, n, series, seed).changepoints,
    anomalies: falseAlarms(process, n, series, seed + 1),
  }),
)

export const anomalyJobs: readonly Job[] = [
  ...each('anomalies', PROCESSES, LENGTHS, (process) => (n, series, seed) => ({
    alarms: falseAlarms(process, n, series, seed),
  })),
  ...SPIKES.flatMap((size) =>
    cells('spikes', `spike of ${size}`, LENGTHS_FOUND, (n, series, seed) => ({
      found: spikesFound(size, n, series, seed),
    })),
  ),
]

export const forecastJobs: readonly Job[] = each(
  'forecast',
  COVERED,
  LENGTHS_COVERED,
  (process) => (n, series, seed) => runCoverage(process, n, series, seed),
)

export const claimJobs: readonly Job[] = JUDGED.flatMap((method) => [
  ...each(
    method,
    PROCESSES.filter((process) => countsFor(method, process)),
    LENGTHS,
    (process) => async (n, series, seed) => ({ claims: await runClaims(method, process, n, series, seed) }),
  ),
  ...sizesOf(method).flatMap((size) =>
    cells(`${method}, found`, effectOf(method, size), LENGTHS_FOUND, async (n, series, seed) => ({
      found: await runHits(method, size, n, series, seed),
    })),
  ),
])
