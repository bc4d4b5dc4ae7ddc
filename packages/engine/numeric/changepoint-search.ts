/**
 * Changes of the mean of independent normal values of equal variance: PELT (Killick, Fearnhead and Eckley, JASA 107, 2012)
 * with the modified BIC of Zhang and Siegmund (Biometrics 63, 2007), as R's changepoint::cpt.mean(method = "PELT",
 * penalty = "MBIC"). The search is exact; its pruning makes it fast where there are changes.
 */

/**
 * The counts of values before each change, in order. `variance` is the noise's; segments have at least `least` values.
 * Penalty: 3 ln n a change, and ln of each segment's length.
 */
export function pelt(values: readonly number[], variance: number, least = 2): number[] {
  const n = values.length
  if (n < 2 * least || !(variance > 0)) return []
  const sums = new Float64Array(n + 1)
  const squares = new Float64Array(n + 1)
  for (let index = 0; index < n; index++) {
    sums[index + 1] = sums[index]! + values[index]!
    squares[index + 1] = squares[index]! + values[index]! ** 2
  }
  const cost = (from: number, to: number) => {
    const sum = sums[to]! - sums[from]!
    return (squares[to]! - squares[from]! - (sum * sum) / (to - from)) / variance + Math.log(to - from)
  }
  const penalty = 3 * Math.log(n)
  const best = new Float64Array(n + 1).fill(Number.POSITIVE_INFINITY)
  const previous = new Int32Array(n + 1)
  best[0] = -penalty
  let candidates = [0]
  for (let end = least; end <= n; end++) {
    const totals = candidates.map((start) => best[start]! + cost(start, end))
    for (const [index, total] of totals.entries()) {
      if (total + penalty < best[end]!) {
        best[end] = total + penalty
        previous[end] = candidates[index]!
      }
    }
    // Splitting a segment saves at most its cost; the ln of the lengths can lose as much as ln n again.
    const bound = best[end]! + Math.log(n)
    candidates = candidates.filter((_, index) => totals[index]! <= bound)
    if (end + 1 - least >= least) candidates.push(end + 1 - least)
  }
  const changes: number[] = []
  for (let end = previous[n]!; end > 0; end = previous[end]!) changes.push(end)
  return changes.toReversed()
}
