/** The short form of `npm run proof -- calibration`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COVERED, runCoverage } from '../proofs/calibration/coverage.ts'
import { PROCESSES } from '../proofs/calibration/processes.ts'
import { runAlarms } from '../proofs/calibration/spikes.ts'
import { METHODS, runCell, sharesOf } from '../proofs/calibration.ts'

const SERIES = 40
const seed = 20_260
const cells = PROCESSES.flatMap((process, index) =>
  [36, 60].map((n) => runCell(process, n, SERIES, seed + 1000 * index + n)),
)

test('trends, seasons and changes of level are rarely claimed where none is', () => {
  for (const method of METHODS) {
    const { all, worst } = sharesOf(cells, method)
    // Three standard errors above 5 % over the cells, and above 7 % in one of them.
    const counted = cells.filter(({ false_claims }) => false_claims[method] !== null).length * SERIES
    assert.ok(all <= 0.05 + 3 * Math.sqrt((0.05 * 0.95) / counted), `${method}: ${all} over all cells`)
    assert.ok(worst <= 0.07 + 3 * Math.sqrt((0.07 * 0.93) / SERIES), `${method}: ${worst} in a cell`)
  }
})

test('a weekly season in sixty days and a yearly one in sixty months are found', () => {
  const share = (process: string): number => {
    const cell = cells.find((one) => one.process === process && one.n === 60)!
    return cell.found! / cell.series
  }
  assert.ok(share('weekly season with AR(1) 0.6') > 0.9)
  assert.ok(share('yearly season in months') > 0.9)
})

test('anomalies are rarely claimed where there is no spike, whatever the tails are', () => {
  const cellsOf = PROCESSES.flatMap((process, index) =>
    [36, 60].map((n) => runAlarms(process, n, 20, seed + 1000 * index + n)),
  )
  const all = cellsOf.reduce((sum, { false_alarms }) => sum + false_alarms, 0)
  assert.ok(all <= 0.05 * 20 * cellsOf.length, `${all} alarms`)
  for (const { process, n, false_alarms } of cellsOf)
    assert.ok(false_alarms <= 20 * (0.07 + 3 * Math.sqrt((0.07 * 0.93) / 20)), `${process}, n = ${n}`)
})

test('intervals of forecasts hold about what they state', () => {
  for (const name of ['white noise', 'trend of 0.5 a step', 'multiplicative season in months']) {
    const { within_95 } = runCoverage(COVERED.find((process) => process.name === name)!, 36, 12, seed)
    // Twelve values to come of one series are alike: four standard errors of twelve series.
    assert.ok(within_95 > 0.95 - 4 * Math.sqrt((0.95 * 0.05) / 24), `${name}: ${within_95}`)
  }
})
