/** The short form of `npm run proof -- calibration`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runJobs } from '../../proofs/calibration/cells.ts'
import { COVERED, runCoverage } from '../../proofs/calibration/coverage.ts'
import { anomalyJobs, overTimeJobs } from '../../proofs/calibration/jobs.ts'
import { OVER_TIME } from '../../proofs/calibration/over-time.ts'
import { countedCells, overAll, shareOf } from '../../proofs/calibration/page.ts'
import { cusum, foundBeside, slope, WHITE_NOISE } from '../../proofs/calibration/references.ts'

const SERIES = 40
const ALARMS = 20
const seed = 20_260
const jobs = [...overTimeJobs, ...anomalyJobs].filter(
  ({ part, n }) => n <= 60 && (part === 'over time' || part === 'anomalies'),
)
const cells = await runJobs(jobs, {
  seed,
  series: ({ part }) => (part === 'anomalies' ? ALARMS : SERIES),
  kept: false,
  afresh: true,
  until: Number.POSITIVE_INFINITY,
  log: () => undefined,
})

/** Returns the share three standard errors above `share` for `series` series. */
const above = (share: number, series: number): number => share + 3 * Math.sqrt((share * (1 - share)) / series)

test('trends, seasons and changes of level are rarely claimed where none is', () => {
  for (const method of OVER_TIME) {
    const counted = countedCells(cells, method)
    const { all, worst } = overAll(counted, method)
    assert.ok(all <= above(0.05, counted.length * SERIES), `${method}: ${all} over all cells`)
    assert.ok(worst <= above(0.07, SERIES), `${method}: ${worst} in a cell`)
  }
})

test('a weekly season in sixty days and a yearly one in sixty months are found', () => {
  const found = (process: string): number =>
    shareOf(
      cells.find((one) => one.part === 'over time' && one.process === process && one.n === 60)!,
      'found',
    )
  assert.ok(found('weekly season with AR(1) 0.6') > 0.9)
  assert.ok(found('yearly season in months') > 0.9)
})

test('anomalies are rarely claimed where there is no spike, whatever the tails are', () => {
  const { all, worst } = overAll(
    cells.filter(({ part }) => part === 'anomalies'),
    'alarms',
  )
  assert.ok(all <= 0.05, `${all} over all cells`)
  assert.ok(worst <= above(0.07, ALARMS), `${worst} in a cell`)
})

test('intervals of forecasts hold about what they state', () => {
  for (const name of ['white noise', 'trend of 0.5 a step', 'multiplicative season in months']) {
    const { within_95, values } = runCoverage(COVERED.find((process) => process.name === name)!, 36, 12, seed)
    // The twelve values to come of one series are alike, so the bound is four standard errors of 24 values.
    assert.ok(within_95 / values > 0.95 - 4 * Math.sqrt((0.95 * 0.05) / 24), `${name}: ${within_95}`)
  }
})

test('the tests beside which power is told find in white noise what they are known to find', () => {
  const held = { processes: WHITE_NOISE, n: 36, all: 0.05, worst: 0.05, seed }
  // A slope of 2 over 36 values has a t of about 3.5, and exceeds 1.94 with a probability of 93 %.
  const found = foundBeside(slope, 'slope', [0, 2], held)
  assert.ok(found.get(0)! < above(0.05, 200) && Math.abs(found.get(2)! - 0.93) < 0.06, [...found].join())
  assert.ok(foundBeside(cusum, 'shift', [3], held).get(3)! > 0.9)
})
