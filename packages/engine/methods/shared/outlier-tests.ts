/** The published outlier tests for `anomalies` with `test: esd` and `test: fences`. Both assume normal values. */
import { exactMean } from '../../numeric/exact.ts'
import { type EsdStep, generalisedEsd } from '../../numeric/outliers.ts'
import { stl, stlOptions } from '../../numeric/smoothing/stl.ts'
import { superSmooth } from '../../numeric/smoothing/super-smoother.ts'

export interface Outliers {
  method: string
  outliers: { index: number; score: number; low: number; high: number }[]
  expected: number[]
  tested: { statistic: number; critical: number }[]
}

const FENCE = 3
const ROBUST_WINDOW = 11

/**
 * Finds outliers as R's forecast::tsoutliers: residuals of robust STL and a smooth curve that lie more than three
 * interquartile ranges beyond their quartiles. Without a period only the curve is fitted. `score` counts interquartile
 * ranges.
 */
export function beyondFences(
  values: readonly number[],
  observed: readonly boolean[],
  period: number | null,
  most: number,
): Outliers {
  const seasonal = period === null ? null : stl(values, stlOptions(period, ROBUST_WINDOW, true)).seasonal
  const curve = superSmooth(seasonal ? values.map((value, index) => value - seasonal[index]!) : values)
  const expected = values.map((_, index) => curve[index]! + (seasonal?.[index] ?? 0))
  const remainder = values.map((value, index) => value - expected[index]!)
  const seen = remainder.filter((_, index) => observed[index]).toSorted((a, b) => a - b)
  const q1 = quantile(seen, 0.25)
  const q3 = quantile(seen, 0.75)
  // An exactly periodic series has no spread: any deviation beyond rounding is an anomaly.
  const spread = Math.max(q3 - q1, 1e-9)
  const outliers = remainder
    .map((rest, index) => ({
      index,
      score: rest > q3 ? (rest - q3) / spread : rest < q1 ? (rest - q1) / spread : 0,
      low: expected[index]! + q1 - FENCE * spread,
      high: expected[index]! + q3 + FENCE * spread,
    }))
    .filter(({ index, score }) => observed[index] && Math.abs(score) > FENCE)
    .toSorted((a, b) => Math.abs(b.score) - Math.abs(a.score) || a.index - b.index)
    .slice(0, most)
  return { method: 'beyond 3 interquartile ranges after robust STL', outliers, expected, tested: [] }
}

/** Finds outliers by Rosner's generalised ESD about the mean. `score` is its statistic. */
export function byEsd(values: readonly number[], alpha: number, most: number): Outliers {
  const { outliers, steps } = generalisedEsd(values, Math.min(most, values.length - 3), alpha)
  const out = new Set(outliers)
  const kept = values.filter((_, index) => !out.has(index))
  const center = exactMean(kept)
  const critical = steps[outliers.length]?.critical ?? steps.at(-1)?.critical ?? 0
  const squares = kept.reduce((sum, value) => sum + (value - center) ** 2, 0)
  const half = critical * Math.sqrt(squares / Math.max(1, kept.length - 1))
  return {
    method: `generalised ESD, alpha ${alpha}`,
    outliers: steps.slice(0, outliers.length).map((step: EsdStep) => ({
      index: step.index,
      score: Math.sign(values[step.index]! - center) * step.statistic,
      low: center - half,
      high: center + half,
    })),
    expected: values.map(() => center),
    tested: steps.map(({ statistic, critical: bound }) => ({ statistic, critical: bound })),
  }
}

function quantile(sorted: readonly number[], p: number): number {
  const position = (sorted.length - 1) * p
  const low = Math.floor(position)
  const next = sorted[Math.min(low + 1, sorted.length - 1)]!
  return sorted[low]! + (position - low) * (next - sorted[low]!)
}
