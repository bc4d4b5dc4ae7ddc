/** Writes the known parts of the series of backtest.ts, for make-backtest.R. */
import { HORIZON, monthlySeries } from './backtest.ts'

for (const [name, values] of monthlySeries())
  process.stdout.write(`${[name, ...values.slice(0, -HORIZON)].join('\t')}\n`)
