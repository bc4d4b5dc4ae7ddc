import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitForm, fitForms, likeliest } from './ets.ts'
import { EtsAnswers } from './ets-answers.ts'
import { type EtsForm, etsFilter, etsForecast } from './ets-model.ts'
import { etsPrediction } from './ets-prediction.ts'
import { nelderMead } from './nelder-mead.ts'

const noise = (index: number) => (((index * 7919 + 13) % 101) - 50) / 25
const squares = (errors: Iterable<number>) => [...errors].reduce((sum, error) => sum + error * error, 0)

test('variances follow the closed form of the trend model', () => {
  // The formula is Hyndman et al. (2008), table 6.1: 1 + (h - 1) (alpha^2 + alpha beta h + beta^2 h (2h - 1) / 6).
  const [alpha, beta] = [0.4, 0.15]
  const form = { trend: true, damped: false, period: 1 }
  const points = etsForecast(
    { form, parameters: { alpha, beta, gamma: 0, phi: 1 }, variance: 2 },
    { level: 0, slope: 1, seasons: [] },
    20,
  )
  for (const [index, point] of points.entries()) {
    const h = index + 1
    const expected = 2 * (1 + (h - 1) * (alpha ** 2 + alpha * beta * h + (beta ** 2 * h * (2 * h - 1)) / 6))
    assert.ok(Math.abs(point.variance / expected - 1) < 1e-13)
    assert.equal(point.mean, h)
  }
})

test('no initial state near the one found gives smaller errors', () => {
  const values = Array.from(
    { length: 48 },
    (_, index) => 10 + index * 0.3 + 3 * Math.sin((index * Math.PI) / 2) + noise(index),
  )
  const form: EtsForm = { trend: true, damped: true, period: 4 }
  const fit = fitForm(values, form)!
  const best = squares(fit.errors)
  for (const step of [-0.01, 0.01]) {
    const { level, slope, seasons } = fit.initial
    const moved = [
      { level: level + step, slope, seasons },
      { level, slope: slope + step, seasons },
      { level, slope, seasons: seasons.map((value, index) => (index === 1 ? value + step : value)) },
    ]
    for (const initial of moved) {
      assert.ok(squares(etsFilter(values, form, fit.parameters, initial).errors) > best)
    }
  }
})

test('one answer moved along explains as much as a column for each part of the initial state', () => {
  const values = Array.from(
    { length: 61 },
    (_, index) => 10 + index * 0.3 + 3 * Math.sin(index) + noise(index),
  )
  for (const period of [1, 2, 7])
    for (const trend of [false, true]) {
      const form: EtsForm = { trend, damped: trend, period }
      const fit = fitForm(values, form)!
      const answers = new EtsAnswers(values, form)
      answers.sum(fit.parameters)
      assert.ok(answers.factor())
      const left = answers.whole - squares(answers.forward(answers.moments))
      assert.ok(Math.abs(left / squares(fit.errors) - 1) < 1e-10, `${period} ${trend}`)
    }
})

test('takes the form that made the data', () => {
  const flat = Array.from({ length: 80 }, (_, index) => 20 + noise(index))
  const rising = Array.from({ length: 80 }, (_, index) => 5 * index + noise(index))
  const seasonal = Array.from(
    { length: 80 },
    (_, index) => 30 * Math.cos((index * Math.PI) / 2) + noise(index),
  )
  const chosen = (values: number[], period: number) => likeliest(fitForms(values, period))
  assert.deepEqual(chosen(flat, 1)!.form, { trend: false, damped: false, period: 1 })
  assert.equal(chosen(rising, 1)!.form.trend, true)
  assert.equal(chosen(seasonal, 4)!.form.period, 4)
  assert.equal(chosen([1, 2, 3], 1), null)
})

test('the error of an estimated drift grows with the square of the distance', () => {
  // Hyndman and Athanasopoulos, Forecasting: principles and practice (3rd ed., 2021), section 5.5 and table 5.2: the standard deviation
  // of a drift forecast h steps ahead of T values is sigma sqrt(h (1 + h / (T - 1))).
  const values = Array.from({ length: 40 }, (_, index) => 3 * index + 10 * noise(index))
  const steps = values.slice(1).map((value, index) => value - values[index]!)
  const drift = steps.reduce((sum, step) => sum + step, 0) / steps.length
  const sigma = Math.sqrt(squares(steps.map((step) => step - drift)) / (steps.length - 1))
  const form = { trend: true, damped: false, steady: true, period: 1 }
  const { middles, scales, df } = etsPrediction(values, form, { alpha: 1, beta: 0, gamma: 0, phi: 1 }, 12)!
  assert.equal(df, 38)
  for (const [index, middle] of middles.entries()) {
    const h = index + 1
    assert.ok(Math.abs(middle - (values.at(-1)! + h * drift)) < 1e-9)
    assert.ok(Math.abs(scales[index]! / (sigma * Math.sqrt(h * (1 + h / 39))) - 1) < 1e-9)
  }
})

test('the season of few years is as unsure as their number makes it', () => {
  // Without smoothing this is a regression on the months, with sigma sqrt(1 + 1 / years) after whole years.
  const values = Array.from({ length: 36 }, (_, index) => 5 * Math.cos((index * Math.PI) / 6) + noise(index))
  const form = { trend: false, damped: false, period: 12 }
  const found = etsPrediction(values, form, { alpha: 0, beta: 0, gamma: 0, phi: 1 }, 12)!
  const rest = values.map((value, index) => value - found.middles[index % 12]!)
  const sigma = Math.sqrt(squares(rest) / 24)
  for (const scale of found.scales) assert.ok(Math.abs(scale / (sigma * Math.sqrt(1 + 1 / 3)) - 1) < 1e-9)
})

test('the simplex finds the bottom of a curved valley', () => {
  const { point } = nelderMead(([x = 0, y = 0]) => (1 - x) ** 2 + 100 * (y - x * x) ** 2, [-1.2, 1], 0.5)
  assert.ok(Math.abs(point[0]! - 1) < 1e-2 && Math.abs(point[1]! - 1) < 1e-2)
})

test('of zeros alone the prediction is zero, with a likelihood that can be weighed', () => {
  const form: EtsForm = { trend: false, damped: false, period: 1 }
  const parameters = { alpha: 0.3, beta: 0, gamma: 0, phi: 1 }
  const { middles, scales, restricted } = etsPrediction(Array<number>(60).fill(0), form, parameters, 3)!
  assert.deepEqual(middles, [0, 0, 0])
  assert.ok(scales.every((scale) => scale >= 0 && scale < 1e-100))
  assert.ok(Number.isFinite(restricted), `${restricted}`)
})
