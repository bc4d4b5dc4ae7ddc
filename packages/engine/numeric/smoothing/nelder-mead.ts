/**
 * Minimises by the downhill simplex of Nelder and Mead (Computer Journal 7, 1965) with its standard coefficients. It is
 * deterministic and needs no derivatives.
 */

export interface Minimum {
  point: number[]
  value: number
}

/** Returns the least value of `f` that simplex steps find from `start`. The first step has the size `size`. */
export function nelderMead(
  f: (point: readonly number[]) => number,
  start: readonly number[],
  size: number,
): Minimum {
  const at = (point: number[]): Minimum => {
    const value = f(point)
    return { point, value: Number.isNaN(value) ? Number.POSITIVE_INFINITY : value }
  }
  const width = start.length
  if (width === 0) return at([])
  let simplex = [
    at(start.slice()),
    ...start.map((_, axis) => at(start.map((value, index) => (index === axis ? value + size : value)))),
  ]
  for (let step = 0; step < 100 * width; step++) {
    simplex = simplex.toSorted((a, b) => a.value - b.value)
    const best = simplex[0]!
    const worst = simplex.at(-1)!
    if (worst.value - best.value <= 1e-8 * (Math.abs(best.value) + 1e-8)) break
    const kept = simplex.slice(0, -1)
    const center = start.map((_, axis) => kept.reduce((sum, { point }) => sum + point[axis]!, 0) / width)
    const along = (factor: number) =>
      at(center.map((value, axis) => value + factor * (worst.point[axis]! - value)))
    const reflected = along(-1)
    if (reflected.value < best.value) {
      const expanded = along(-2)
      simplex = [...kept, expanded.value < reflected.value ? expanded : reflected]
    } else if (reflected.value < kept.at(-1)!.value) {
      simplex = [...kept, reflected]
    } else {
      const contracted = along(reflected.value < worst.value ? -0.5 : 0.5)
      if (contracted.value < Math.min(reflected.value, worst.value)) simplex = [...kept, contracted]
      else {
        const shrunk = simplex
          .slice(1)
          .map(({ point }) => at(point.map((value, axis) => (value + best.point[axis]!) / 2)))
        simplex = [best, ...shrunk]
      }
    }
  }
  return simplex.toSorted((a, b) => a.value - b.value)[0]!
}
