/**
 * Computes the chance that a single leaf lies so far from all others if nothing happened, for data in which neither
 * rows nor earlier changes show the noise. Few leaves show neither their spread nor their tails, so the chance is the
 * mean over a grid of spreads, with normal tails and with those of Student's t with 3 degrees of freedom. Each is
 * weighted by how well it fits the other leaves (the posterior predictive tail: Box, J. Royal Statistical Society A
 * 143, 1980).
 */
import { normalTwoSided, studentTwoSided } from '../numeric/distributions.ts'
import { median } from '../numeric/median.ts'

/** The spreads that are tried, as shares of the size. All are as likely before the leaves are seen. */
const SPREADS = Array.from({ length: 36 }, (_, step) => 1e-4 * 1.3 ** step)
/** The degrees of freedom of heavy tails, and how likely they are before the leaves are seen. */
const HEAVY = 3
const HEAVY_TAILS = 0.2
/** Steps of the estimate of a centre under heavy tails (Lange, Little and Taylor, JASA 84, 1989). */
const STEPS = 6

interface Fit {
  /** The logarithm of the likelihood of the others, over all centres. */
  likelihood: number
  p: number
}

/** Returns the two-sided chance of the score `own` beside those of `others`, which lie around 0 if `fixed`. */
export function chanceOfOne(own: number, others: Float64Array, fixed: boolean): number {
  const tried = SPREADS.flatMap((spread) => [
    { prior: 1 - HEAVY_TAILS, ...normalFit(own, others, spread, fixed) },
    { prior: HEAVY_TAILS, ...heavyFit(own, others, spread, fixed) },
  ])
  const best = tried.reduce((most, { likelihood }) => Math.max(most, likelihood), -Infinity)
  let [sum, whole] = [0, 0]
  for (const { prior, likelihood, p } of tried) {
    const weight = prior * Math.exp(likelihood - best)
    whole += weight
    sum += weight * p
  }
  return sum / whole
}

function normalFit(own: number, others: Float64Array, spread: number, fixed: boolean): Fit {
  const n = others.length
  const centre = fixed ? 0 : others.reduce((sum, value) => sum + value, 0) / n
  const squares = others.reduce((sum, value) => sum + (value - centre) ** 2, 0) / spread ** 2
  const known = fixed ? 0 : 1 / n
  return {
    likelihood: -squares / 2 - n * Math.log(spread) + (fixed ? 0 : Math.log(spread)) - n * HALF_LOG_2_PI,
    p: normalTwoSided((own - centre) / (spread * Math.sqrt(1 + known))),
  }
}

const HALF_LOG_2_PI = 0.5 * Math.log(2 * Math.PI)
/** The logarithm of the density of t with 3 degrees of freedom at 0. */
const LOG_T3 = Math.log(2 / (Math.PI * Math.sqrt(HEAVY)))

function heavyFit(own: number, others: Float64Array, spread: number, fixed: boolean): Fit {
  const n = others.length
  const weightOf = (value: number, centre: number): number =>
    (HEAVY + 1) / (HEAVY + ((value - centre) / spread) ** 2)
  let centre = fixed ? 0 : median(Float64Array.from(others))
  for (let step = fixed ? STEPS : 0; step < STEPS; step++) {
    let [pull, heft] = [0, 0]
    for (const value of others) {
      const weight = weightOf(value, centre)
      pull += weight * value
      heft += weight
    }
    centre = pull / heft
  }
  // The variance of the centre of a t is (df + 3) / (df + 1) of the squared scale over n.
  const known = fixed ? 0 : (HEAVY + 3) / (HEAVY + 1) / n
  let likelihood =
    n * (LOG_T3 - Math.log(spread)) + (fixed ? 0 : Math.log(spread * Math.sqrt((HEAVY + 3) / (HEAVY + 1))))
  for (const value of others)
    likelihood -= ((HEAVY + 1) / 2) * Math.log1p(((value - centre) / spread) ** 2 / HEAVY)
  return { likelihood, p: studentTwoSided((own - centre) / (spread * Math.sqrt(1 + known)), HEAVY) }
}
