/**
 * What the rate of each leaf is expected to be at one step, so that the leaves make up what is expected of their segment: its rate in the
 * steps around, of the same weekday where there is a season, at its usual share of the denominator. What leaves lately strayed from
 * that, for each unit of the denominator, is their noise; of counts it is at least the chance of single events.
 */
import { emptySums, type Sums } from '../drivers/leaf-rows.ts'
import type { Earlier } from '../drivers/leaves.ts'
import type { Ends } from './segments.ts'
import { EARLIER, type Expectation, LEAST_AROUND, near, nearest, type Window } from './shares.ts'

export interface RateLeaves {
  /** How many there are. */
  n: number
  /** For each row its leaf, step, numerator and denominator. */
  leaf: Int32Array
  step: Int32Array
  value: Float64Array
  bottom: Float64Array
  /** What they make up, at each step. */
  ends: Ends
  /** What one event adds to numerator and denominator; null where they are no counts. */
  event: number | null
}

interface Sides {
  /** Expected rates, and the numerators and denominators that would have come of them. */
  rate: Float64Array
  before: Ends
  after: Ends
}

/** A table of leaves before and after, as the search for causes takes it; null where too few steps are around. */
export function expectRatesAt(
  leaves: RateLeaves,
  at: number,
  whole: Expectation,
  window: Window,
): { now: Earlier & { noise: Float64Array }; history: Earlier[] } | null {
  const around = near(window, at)
  if (around.length < LEAST_AROUND) return null
  const past = nearest(window, at).flatMap((step) => {
    const steps = near(window, step)
    const own = leaves.ends.top[step]! / leaves.ends.bottom[step]!
    if (steps.length < LEAST_AROUND || !Number.isFinite(own)) return []
    return [{ own, ...sidesOf(leaves, step, own, steps) }]
  })
  const strays = straysOf(leaves.n, past)
  const table = ({ rate, before, after }: Sides, expected: number, error: number) => ({
    before: sumsOf(before),
    after: sumsOf(after),
    noise: rate.map((own, leaf) => {
      const size = after.bottom[leaf]!
      const shared = expected === 0 ? 0 : ((own * size * error) / expected) ** 2
      return Math.max(strays[leaf]! * size, chanceOf(own, size, leaves.event)) + shared
    }),
    days: [1, 1] as [number, number],
  })
  return {
    now: table(sidesOf(leaves, at, whole.value, around), whole.value, whole.error),
    history: past.slice(0, EARLIER).map((one) => table(one, one.own, 0)),
  }
}

/** The variance of what came of each leaf, for each unit of its denominator. */
function straysOf(n: number, past: readonly Sides[]): Float64Array {
  const [squares, sizes] = [new Float64Array(n), new Float64Array(n)]
  for (const { rate, after } of past)
    for (let leaf = 0; leaf < n; leaf++) {
      squares[leaf]! += (after.top[leaf]! - rate[leaf]! * after.bottom[leaf]!) ** 2
      sizes[leaf]! += after.bottom[leaf]!
    }
  return squares.map((square, leaf) => (sizes[leaf]! > 0 ? square / sizes[leaf]! : 0))
}

/** The variance of a number of events: of shares the binomial one, of others that of Poisson. */
function chanceOf(rate: number, size: number, event: number | null): number {
  if (event === null) return 0
  return event * size * (rate >= 0 && rate <= 1 ? rate * (1 - rate) : Math.abs(rate))
}

/** The rates of the steps around, moved by one factor so that at their usual shares they make up `expected`. */
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
