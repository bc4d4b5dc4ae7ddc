/**
 * Preloaded into a service under test (NODE_OPTIONS=--import): its wall clock, `Date`, is off by the milliseconds that
 * stand in the file ASSAY_TEST_CLOCK, read anew on SIGUSR2. `performance.now` and timers go on as they are, as they do
 * where somebody sets the clock of a machine.
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
