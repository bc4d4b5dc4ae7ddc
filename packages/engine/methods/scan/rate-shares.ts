/**
 * Computes the expected rate of each leaf at one step, so that the leaves make up the expectation of their segment. A
 * leaf's rate is that of the steps around (of the same weekday if there is a season), at its usual share of the
 * denominator. The noise of a leaf is its recent variance around that, per unit of the denominator; for counts it is at
 * least that of single events.
 */
import { emptySums, type Sums } from '../drivers/leaf-rows.ts'
import { type Expectation, type Expected, tablesAround, type Window } from './around.ts'
import type { Ends } from './segments.ts'

export interface RateLeaves {
  /** The number of leaves. */
  n: number
  /** The leaf, step, numerator and denominator of each row. */
  leaf: Int32Array
  step: Int32Array
  value: Float64Array
  bottom: Float64Array
  /** Their sums at each step. */
  ends: Ends
  /** What one event adds to numerator and denominator; null if they are no counts. */
  event: number | null
}

interface Sides {
  /** The expected rates, and the numerators and denominators at these rates. */
  rate: Float64Array
  before: Ends
  after: Ends
}

/** Returns a table of leaves before and after, as the search for causes takes it; null if too few steps are around. */
export function expectRatesAt(
  leaves: RateLeaves,
  at: number,
  whole: Expectation,
  window: Window,
): Expected | null {
  return tablesAround(window, at, whole, {
    sides: (step, expected, around) => sidesOf(leaves, step, expected, around),
    own: (step) => leaves.ends.top[step]! / leaves.ends.bottom[step]!,
    table: (past) => {
      const strays = straysOf(leaves.n, past)
      return ({ rate, before, after }, expected, error) => ({
        before: sumsOf(before),
        after: sumsOf(after),
        noise: rate.map((own, leaf) => {
          const size = after.bottom[leaf]!
          const shared = expected === 0 ? 0 : ((own * size * error) / expected) ** 2
          return Math.max(strays[leaf]! * size, chanceOf(own, size, leaves.event)) + shared
        }),
      })
    },
  })
}

/** Returns the variance of each leaf per unit of its denominator. */
function straysOf(n: number, past: readonly Sides[]): Float64Array {
  const [squares, sizes] = [new Float64Array(n), new Float64Array(n)]
  for (const { rate, after } of past)
    for (let leaf = 0; leaf < n; leaf++) {
      squares[leaf]! += (after.top[leaf]! - rate[leaf]! * after.bottom[leaf]!) ** 2
      sizes[leaf]! += after.bottom[leaf]!
    }
  return squares.map((square, leaf) => (sizes[leaf]! > 0 ? square / sizes[leaf]! : 0))
}

/** Returns the variance of a number of events: binomial for shares, Poisson for others. */
function chanceOf(rate: number, size: number, event: number | null): number {
  if (event === null) return 0
  return event * size * (rate >= 0 && rate <= 1 ? rate * (1 - rate) : Math.abs(rate))
}

/**
 * Returns the rates of the steps around, multiplied by one factor so that at their usual shares they make up
 * `expected`.
 */
function sidesOf(
  { n, leaf, step, value, bottom }: RateLeaves,
  at: number,
  expected: number,
  around: readonly number[],
): Sides {
  const near = new Set(around)
  const make = (): Ends => ({ top: new Float64Array(n), bottom: new Float64Array(n) })
  const [mean, after] = [make(), make()]
  for (const [row, of] of leaf.entries()) {
    const side = near.has(step[row]!) ? mean : step[row] === at ? after : null
    if (!side) continue
    side.top[of]! += value[row]!
    side.bottom[of]! += bottom[row]!
  }
  const sum = (values: Float64Array): number => values.reduce((all, one) => all + one, 0)
  const usual = sum(mean.top) / sum(mean.bottom)
  const factor = usual > 0 ? expected / usual : 1
  const rate = mean.top.map((top, of) => (mean.bottom[of]! > 0 ? (top / mean.bottom[of]!) * factor : 0))
  const share = sum(after.bottom) / sum(mean.bottom)
  const sizes = mean.bottom.map((one) => one * share)
  return { rate, before: { top: rate.map((own, of) => own * sizes[of]!), bottom: sizes }, after }
}

function sumsOf({ top, bottom }: Ends): Sums {
  return { ...emptySums(top.length), top, bottom, rows: bottom.map((size) => (size > 0 ? 1 : 0)) }
}
