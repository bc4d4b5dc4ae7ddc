/**
 * Preloaded into a service under test (NODE_OPTIONS=--import). It shifts the wall clock, `Date`, by the milliseconds in the
 * file ASSAY_TEST_CLOCK, which is read again on SIGUSR2. `performance.now` and timers are not shifted, as when the clock of
 * a machine is set.
 */
import { readFileSync } from 'node:fs'

const file = process.env.ASSAY_TEST_CLOCK

if (file !== undefined) {
  const real = Date
  const realNow = Date.now.bind(Date)
  let shift = 0
  const read = (): void => {
    try {
      shift = Number(readFileSync(file, 'utf8'))
    } catch {
      shift = 0
    }
  }
  read()
  process.on('SIGUSR2', read)
  real.now = () => realNow() + shift
  globalThis.Date = new Proxy(real, {
    apply: () => new real(real.now()).toString(),
    construct: (target, args: [], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [real.now()] : args, newTarget) as Date,
  })
}
