/** Computes the normal scores of Blom (1958): what the ranks of values would be if the values were normal. */
import { ranks } from '../../numeric/mann-kendall.ts'

export function normalScores(values: readonly number[]): number[] {
  const n = values.length
  return ranks(values).map((rank) => score((rank - 0.375) / (n + 0.25)))
}

/**
 * Returns the normal quantile to seven digits: PPND7 of Wichura (algorithm AS 241, Applied Statistics 37, 1988). It is
 * fast, because scores are needed by the ten thousand.
 */
function score(p: number): number {
  const q = p - 0.5
  if (Math.abs(q) <= 0.425) {
    const r = 0.180625 - q * q
    const above = ((59.10937472 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179
    const below = ((67.1875636 * r + 78.757757664) * r + 17.895169469) * r + 1
    return (q * above) / below
  }
  const r = Math.sqrt(-Math.log(q < 0 ? p : 1 - p))
  return Math.sign(q) * (r <= 5 ? near(r - 1.6) : far(r - 5))
}

function near(r: number): number {
  const above = ((0.17023821103 * r + 1.3067284816) * r + 2.75681539) * r + 1.4234372777
  return above / ((0.12021132975 * r + 0.7370016425) * r + 1)
}

function far(r: number): number {
  const above = ((0.017337203997 * r + 0.42868294337) * r + 3.081226386) * r + 6.657905115
  return above / ((0.012258202635 * r + 0.24197894225) * r + 1)
}
