/** The arithmetic of drivers: splits sums and ratios over segments, and measures how surprising a dimension is. */
import { exactSum } from '../../numeric/sum.ts'
import { finite } from './sentence.ts'

/** A segment's sums before and after: of the value or numerator, and of the denominator (rows, for a value). */
export interface Ends {
  top: [before: number, after: number]
  bottom: [before: number, after: number]
}

export interface Part {
  before: number | null
  after: number | null
  /** The segment's part of the total change. */
  change: number | null
  share: number | null
  mix: number | null
  rate: number | null
}

export function partsOfSum(ends: readonly Ends[]): Part[] {
  const whole = exactSum(ends.flatMap(({ top }) => [top[1], -top[0]]))
  return ends.map(({ top: [before, after] }) => {
    const change = after - before
    return {
      before: finite(before),
      after: finite(after),
      change: finite(change),
      share: whole === 0 ? null : finite(change / whole),
      mix: null,
      rate: null,
    }
  })
}

/**
 * Splits the change of a ratio: mix = dw (mean r - mean R), rate = mean w dr. A segment without a denominator on one
 * side is all mix (see drivers.ts).
 */
export function partsOfRatio(ends: readonly Ends[]): Part[] {
  const bottoms = [0, 1].map((side) => exactSum(ends.map(({ bottom }) => bottom[side]!)))
  const [before, after] = [0, 1].map((side) => exactSum(ends.map(({ top }) => top[side]!)) / bottoms[side]!)
  const middle = (before! + after!) / 2
  const whole = after! - before!
  return ends.map(({ top, bottom }) => {
    const weights = [bottom[0] / bottoms[0]!, bottom[1] / bottoms[1]!] as const
    const shift = weights[1] - weights[0]
    const rates = [0, 1].map((side) => (bottom[side] === 0 ? null : top[side]! / bottom[side]!))
    const stray = [0, 1].some((side) => bottom[side] === 0 && top[side] !== 0)
    const [r0, r1] = [rates[0] ?? rates[1] ?? middle, rates[1] ?? rates[0] ?? middle]
    const mix = stray ? -shift * middle : shift * ((r0 + r1) / 2 - middle)
    const rate = stray
      ? top[1] / bottoms[1]! - top[0] / bottoms[0]!
      : ((weights[0] + weights[1]) / 2) * (r1 - r0)
    return {
      before: rates[0] === null ? null : finite(rates[0]!),
      after: rates[1] === null ? null : finite(rates[1]!),
      change: finite(mix + rate),
      share: whole === 0 ? null : finite((mix + rate) / whole),
      mix: finite(mix),
      rate: finite(rate),
    }
  })
}

/** Returns the Jensen-Shannon divergence of the segments' shares before and after (of both sums, for a ratio). */
export function surprise(ends: readonly Ends[], ratio: boolean): number {
  const top = divergence(ends.map((end) => end.top))
  return ratio ? top + divergence(ends.map((end) => end.bottom)) : top
}

function divergence(pairs: readonly (readonly [number, number])[]): number {
  const [before, after] = [0, 1].map((side) => exactSum(pairs.map((pair) => Math.abs(pair[side]!))))
  if (!(before! > 0 && after! > 0)) return 0
  const term = (p: number, q: number) => (p > 0 ? 0.5 * p * Math.log((2 * p) / (p + q)) : 0)
  return exactSum(
    pairs.map(([b, a]) => {
      const p = Math.abs(b) / before!
      const q = Math.abs(a) / after!
      return term(p, q) + term(q, p)
    }),
  )
}
