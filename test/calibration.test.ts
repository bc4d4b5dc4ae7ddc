/** The short form of `npm run proof -- calibration`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROCESSES } from '../proofs/calibration/processes.ts'
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
