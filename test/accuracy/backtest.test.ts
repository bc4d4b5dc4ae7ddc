import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backtestScores } from './backtest.ts'

test('forecasts real series better than the naive benchmark and Theta, and about as well as R', async () => {
  const scores = await backtestScores()
  const owa = (method: string) => scores.find((score) => score.method === method)!.owa
  const own = owa('`forecast`')
  assert.ok(own < owa('Naive 2'), `OWA ${own}`)
  assert.ok(own < owa('Theta (R)'), `OWA ${own}`)
  assert.ok(own < 1.1 * owa('ETS, additive (R)'), `OWA ${own}`)
})
