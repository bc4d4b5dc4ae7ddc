/**
 * Counts false claims and found effects on simulated series whose truth is known, with the rules by which the methods
 * over time decide.
 *
 * The series of each process and length, 0 to leave a part out: `--series N` (1,000) for trend, seasonality and
 * changepoints, `--anomalies N`, `--coverage N` (forecasts), `--rises N` (changepoints and anomalies on series that
 * rise), `--claims N` (compare, regression, correlation). `--of NAME` takes the cells whose method or process begins
 * with NAME, and `--longest N` bounds the lengths. `--minutes N` ends a run early. `--write 1` continues from the
 * counts in calibration/measured.tsv, keeps the new ones there and writes docs/calibration.md. `--times 1` measures the
 * processor time of diagnosis and forecast. `--afresh 1` drops the kept counts of the parts that run. `--shard K
 * --shards N` runs every Nth cell.
 */
import { type Cell, type Job, keep, readCells, runJobs } from './calibration/cells.ts'
import { anomalyJobs, claimJobs, forecastJobs, overTimeJobs, riseJobs } from './calibration/jobs.ts'
import { JUDGED } from './calibration/outcomes.ts'
import { OVER_TIME } from './calibration/over-time.ts'
import { countedCells, outside, overAll, percent, RISING, within, writePage } from './calibration/page.ts'
import { TIMED, timesOf } from './calibration/times.ts'
import type { Proof, ProofInput } from './main.ts'

/** The largest share of false claims in any cell. */
const MOST_IN_A_CELL = 0.07
/** The largest share of false claims over all cells of a method. */
const MOST_OVER_ALL = 0.05

export const proof: Proof = {
  summary: 'false claims and power of the methods over time, and coverage of forecasts, on simulated series',
  async run(input) {
    const { seed, number, log } = input
    const kept = number('write', 0) === 1
    const chosen = jobsOf(input)
    const cells = await runJobs(
      chosen.map(({ job }) => job),
      {
        seed,
        series: (job) => chosen.find((one) => one.job === job)!.series,
        kept,
        afresh: number('afresh', 0) === 1,
        until: performance.now() + 60_000 * number('minutes', Number.POSITIVE_INFINITY),
        log,
      },
    )
    const times = number('times', 0) === 1 ? timesOf(seed) : []
    for (const { part, process, n, counts } of times)
      log(`${part}, ${process}, n = ${n}: ${(counts.microseconds ?? 0) / 1000} ms`)
    if (kept) {
      keep(times)
      writePage(readCells())
    }
    return [...faultsOf(cells), ...slow(times)]
  },
}

/** Returns the requested cells, and the number of series of each. */
function jobsOf({ number, text }: ProofInput): { job: Job; series: number }[] {
  const only = text('of', '')
  const parts: [readonly Job[], number][] = [
    [overTimeJobs, number('series', 1000)],
    [anomalyJobs, number('anomalies', 1000)],
    [riseJobs, number('rises', 400)],
    [forecastJobs, number('coverage', 1000)],
    [claimJobs, number('claims', 1000)],
  ]
  const longest = number('longest', Number.POSITIVE_INFINITY)
  const shards = number('shards', 1)
  return parts
    .flatMap(([jobs, series]) => (series > 0 ? jobs.map((job) => ({ job, series })) : []))
    .filter(({ job }) => job.n <= longest && (job.part.startsWith(only) || job.process.startsWith(only)))
    .filter((_, place) => place % shards === number('shard', 0))
}

function slow(times: readonly Cell[]): string[] {
  return times.flatMap(({ part, process, n, counts }) => {
    const most = TIMED[part]!.find((one) => one.n === n)!.most
    const own = (counts.microseconds ?? 0) / 1000
    return own > most ? [`${part}, ${process}, n = ${n}: ${own} ms, of ${most} promised`] : []
  })
}

/** Returns each promise that the cells break. */
export function faultsOf(cells: readonly Cell[]): string[] {
  const claims: [string, Cell[], string][] = [
    ...OVER_TIME.map((method): [string, Cell[], string] => [method, countedCells(cells, method), method]),
    ['anomalies', cells.filter(({ part }) => part === 'anomalies'), 'alarms'],
    ...RISING.map((method): [string, Cell[], string] => [
      `${method} on rises`,
      cells.filter(({ part }) => part === 'rises'),
      method,
    ]),
    ...JUDGED.map((method): [string, Cell[], string] => [
      method,
      cells.filter(({ part }) => part === method),
      'claims',
    ]),
  ]
  const says: string[] = []
  for (const [method, own, what] of claims) {
    if (own.length === 0) continue
    const { all, worst } = overAll(own, what)
    if (all > MOST_OVER_ALL) says.push(`${method}: ${percent(all)} false claims over all cells`)
    if (worst > MOST_IN_A_CELL) says.push(`${method}: ${percent(worst)} false claims in a cell`)
  }
  for (const cell of outside(cells))
    says.push(`forecast, ${cell.process}, n = ${cell.n}: ${percent(within(cell, 95))}`)
  return says
}
