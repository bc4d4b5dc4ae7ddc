import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ValueError } from '../../values/value.ts'
import { Budget } from '../budget.ts'
import { DISTRIBUTION_ARGUMENTS, DISTRIBUTION_FILTERS } from './distributions.ts'

const ask = (name: string, value: unknown, args: unknown[] = [], named: [string, unknown][] = []) =>
  DISTRIBUTION_FILTERS[name]!(value, args, { named: new Map(named), budget: new Budget() })
const near = (a: unknown, b: number) =>
  assert.ok(Math.abs((a as number) / b - 1) < 1e-12, `${String(a)} is not ${b}`)

test('the distributions give the values of tables', () => {
  // The values of R: pnorm(1.96), qnorm(0.975), pt(2.1, 12), qt(0.975, 12), pf(3, 2, 27, lower = FALSE), qf(0.95, 2,
  // 27), pchisq(3.84, 1), qchisq(0.95, 1).
  near(ask('normal_cdf', 1.96), 0.9750021048517795)
  near(ask('normal_quantile', 0.975), 1.959963984540054)
  near(ask('t_quantile', 0.975, [12]), 2.178812829667229)
  near(ask('f_quantile', 0.95, [2, 27]), 3.3541308285291964)
  near(ask('chi_square_quantile', 0.95, [1]), 3.841458820694124)
  near(ask('normal_cdf', 10, [], [['tail', 'upper']]), 7.619853024160527e-24)
})

test('a quantile gives back its chance on either side', () => {
  const parameters: Record<string, number[]> = { normal: [], t: [5], f: [3, 40], chi_square: [7] }
  for (const [name, args] of Object.entries(parameters)) {
    for (const tail of ['lower', 'upper']) {
      for (const p of [0.001, 0.3, 0.8]) {
        const x = ask(`${name}_quantile`, p, args, [['tail', tail]])
        near(ask(`${name}_cdf`, x, args, [['tail', tail]]), p)
      }
    }
  }
})

test('null stays null, and arguments that do not fit say what to write', () => {
  assert.equal(ask('t_cdf', null, [5]), null)
  const refused = (call: () => unknown, says: RegExp) =>
    assert.throws(call, (error) => error instanceof ValueError && says.test(error.message))
  refused(() => ask('t_cdf', 2), /takes df after its name, not 0/)
  refused(() => ask('f_cdf', 2, [3]), /takes df1 and df2/)
  refused(() => ask('t_cdf', 2, [0]), /must be above 0/)
  refused(() => ask('normal_quantile', 95), /from 0 to 1/)
  refused(() => ask('normal_cdf', 1, [], [['tail', 'left']]), /"lower" or "upper"/)
  assert.equal(DISTRIBUTION_ARGUMENTS.size, 8)
})
