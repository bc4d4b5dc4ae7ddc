/**
 * Computes the Kolmogorov-Smirnov distance of values from an exponential or gamma distribution fitted to them. It is
 * judged by the distances of samples that are drawn from the fit and fitted again. The draws come from a fixed sequence
 * (Park and Miller, CACM 31, 1988), so the same values give the same p. Gamma is fitted by maximum likelihood (Minka
 * 2002) and drawn after Marsaglia and Tsang (ACM TOMS 26, 2000).
 */
import { normalQuantile } from '../distributions.ts'
import { gammaTails } from '../gamma.ts'
import { distance, type Fit } from './edf.ts'

const SAMPLES = 199

/** Tests values in rising order, none negative (none zero for gamma). p is at least 1 / 200. */
export function bootstrapDistance(kind: 'exponential' | 'gamma', sorted: readonly number[]): Fit {
  const fitted = fit(kind, sorted)
  const statistic = distanceFrom(fitted, sorted)
  const random = sequence(20_011)
  let beyond = 1
  for (let sample = 0; sample < SAMPLES; sample++) {
    const drawn = sorted.map(() => draw(fitted.shape, random) * fitted.scale).toSorted((a, b) => a - b)
    if (distanceFrom(fit(kind, drawn), drawn) >= statistic) beyond++
  }
  return { statistic, p: beyond / (SAMPLES + 1) }
}

interface Gamma {
  shape: number
  scale: number
}

function fit(kind: 'exponential' | 'gamma', values: readonly number[]): Gamma {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  if (kind === 'exponential') return { shape: 1, scale: mean }
  const gap = Math.log(mean) - values.reduce((sum, value) => sum + Math.log(value), 0) / values.length
  if (!(gap > 1e-12)) return { shape: 1e12, scale: mean / 1e12 }
  let shape = (3 - gap + Math.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
  for (let step = 0; step < 20; step++) {
    const slope = 1 / shape - trigamma(shape)
    const next = 1 / (1 / shape + (Math.log(shape) - digamma(shape) - gap) / (shape ** 2 * slope))
    if (!(next > 0) || Math.abs(next - shape) < 1e-10 * shape) break
    shape = next
  }
  return { shape, scale: mean / shape }
}

function distanceFrom({ shape, scale }: Gamma, sorted: readonly number[]): number {
  return distance(
    sorted.map((value) =>
      shape === 1 ? -Math.expm1(-value / scale) : gammaTails(shape, value / scale).lower,
    ),
  )
}

function draw(shape: number, random: () => number): number {
  if (shape === 1) return -Math.log(random())
  if (shape < 1) return draw(shape + 1, random) * random() ** (1 / shape)
  const d = shape - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  for (let attempt = 0; attempt < 1000; attempt++) {
    const x = normalQuantile(random())
    const v = (1 + c * x) ** 3
    if (v > 0 && Math.log(random()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v
  }
  return d
}

function sequence(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** Returns the derivative of ln gamma, by recurrence up to 6 and its series there (Abramowitz and Stegun 6.3.18). */
function digamma(x: number): number {
  if (x < 6) return digamma(x + 1) - 1 / x
  const f = 1 / (x * x)
  return Math.log(x) - 0.5 / x - f * (1 / 12 - f * (1 / 120 - f * (1 / 252 - f * (1 / 240 - f / 132))))
}

/** Returns the derivative of digamma (6.4.12). */
function trigamma(x: number): number {
  if (x < 6) return trigamma(x + 1) + 1 / (x * x)
  const f = 1 / (x * x)
  return 1 / x + f / 2 + (f / x) * (1 / 6 - f * (1 / 30 - f * (1 / 42 - f / 30)))
}
