/** Smooths evenly spaced values by loess, as STL uses it (Cleveland et al. 1990): tricube weights, degree 0 or 1. */

export interface Loess {
  /** The number of neighbours from which a point is fitted. It is odd. */
  window: number
  degree: 0 | 1
  /** The fit is computed at every `jump`-th point and linear in between. */
  jump: number
}

/** Returns the smoothed values. */
export function loess(
  values: readonly number[],
  options: Loess,
  weights: readonly number[] | null,
): number[] {
  const n = values.length
  if (n < 2) return values.slice()
  const { window } = options
  const jump = Math.min(options.jump, n - 1)
  const half = Math.floor((window + 1) / 2)
  const result = values.slice()
  const bounds = (index: number): [number, number] => {
    if (window >= n) return [0, n - 1]
    const left = Math.min(Math.max(0, index - half + 1), n - window)
    return [left, left + window - 1]
  }
  const fit = (index: number, [left, right]: [number, number]) => {
    result[index] = loessAt(values, options, index, left, right, weights) ?? values[index]!
  }
  for (let index = 0; index < n; index += jump) fit(index, bounds(index))
  for (let index = 0; index + jump < n; index += jump) fillBetween(result, index, index + jump)
  const last = Math.floor((n - 1) / jump) * jump
  if (last !== n - 1) {
    // The end is fitted from the neighbours of the last point fitted, as in the authors' program.
    fit(n - 1, bounds(last))
    fillBetween(result, last, n - 1)
  }
  return result
}

function fillBetween(values: number[], from: number, to: number): void {
  const step = (values[to]! - values[from]!) / (to - from)
  for (let index = from + 1; index < to; index++) values[index] = values[from]! + step * (index - from)
}

/** Returns the fit at `x` from the points `left` to `right`, or null if no weight is left. */
export function loessAt(
  values: readonly number[],
  { window, degree }: Loess,
  x: number,
  left: number,
  right: number,
  weights: readonly number[] | null,
): number | null {
  const n = values.length
  let reach = Math.max(x - left, right - x)
  if (window > n) reach += Math.floor((window - n) / 2)
  const near: number[] = []
  let total = 0
  for (let index = left; index <= right; index++) {
    const distance = Math.abs(index - x)
    let weight = 0
    if (distance <= 0.999 * reach) {
      weight = distance <= 0.001 * reach ? 1 : (1 - (distance / reach) ** 3) ** 3
      if (weights) weight *= weights[index]!
    }
    near.push(weight)
    total += weight
  }
  if (total <= 0) return null
  let center = 0
  let spread = 0
  for (const [offset, weight] of near.entries()) center += (weight / total) * (left + offset)
  for (const [offset, weight] of near.entries()) spread += (weight / total) * (left + offset - center) ** 2
  const tilt = degree === 1 && reach > 0 && Math.sqrt(spread) > 0.001 * (n - 1) ? (x - center) / spread : 0
  let result = 0
  for (const [offset, weight] of near.entries()) {
    result += (weight / total) * (tilt * (left + offset - center) + 1) * values[left + offset]!
  }
  return result
}
