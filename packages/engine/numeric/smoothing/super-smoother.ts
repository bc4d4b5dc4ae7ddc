/**
 * Computes Friedman's super smoother over evenly spaced values: running lines of three spans, with the span at each
 * point chosen by local cross-validation. Source: J. H. Friedman, A variable span smoother, Stanford LCS report 5
 * (1984), as R's supsmu with its defaults.
 */

const SPANS = [0.05, 0.2, 0.5] as const

export function superSmooth(values: readonly number[]): number[] {
  if (values.length < 4)
    return values.map(() => values.reduce((sum, value) => sum + value, 0) / values.length)
  const [tweeter, middle, woofer] = SPANS
  const smooths = SPANS.map((span) => runningLines(values, span))
  const errors = smooths.map((smooth) => runningLines(smooth.errors, middle).smooth)
  const chosen = values.map((_, index) => {
    let best = 0
    for (let span = 1; span < SPANS.length; span++)
      if (errors[span]![index]! < errors[best]![index]!) best = span
    return SPANS[best]!
  })
  const spans = runningLines(chosen, middle).smooth
  const mixed = values.map((_, index) => {
    const span = Math.min(woofer, Math.max(tweeter, spans[index]!))
    const other = span < middle ? 0 : 2
    const share = Math.abs(span - middle) / Math.abs(SPANS[other] - middle)
    return (1 - share) * smooths[1]!.smooth[index]! + share * smooths[other]!.smooth[index]!
  })
  return runningLines(mixed, tweeter).smooth
}

/** Returns straight lines through the nearest values, and the size of each cross-validated residual. */
function runningLines(values: readonly number[], span: number): { smooth: number[]; errors: number[] } {
  const n = values.length
  const half = Math.max(2, Math.floor(0.5 * span * n + 0.5))
  const width = Math.min(n, 2 * half + 1)
  const smooth: number[] = []
  const errors: number[] = []
  for (let index = 0; index < n; index++) {
    // The window stops moving at an end of the series.
    const start = Math.min(Math.max(0, index - half), Math.max(0, n - width))
    let mean = 0
    for (let row = start; row < start + width; row++) mean += values[row]!
    mean /= width
    const center = start + (width - 1) / 2
    let products = 0
    for (let row = start; row < start + width; row++) products += (row - center) * (values[row]! - mean)
    const spread = (width * (width * width - 1)) / 12
    const fit = mean + (products / spread) * (index - center)
    const leverage = 1 / width + (index - center) ** 2 / spread
    smooth.push(fit)
    errors.push(Math.abs(values[index]! - fit) / (1 - leverage))
  }
  return { smooth, errors }
}
