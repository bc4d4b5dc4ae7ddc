/** Merges causes that are all parts of one value and moved alike into that value. */
import type { Leaves } from './leaves.ts'

interface Part {
  where: number[]
  leaves: Int32Array
  p: number
  error: number
}

/** The number of standard errors, and the share of the shift, within which shifts are alike. */
const ERRORS = 3
const SHARE = 0.1

/** Merges causes. `factor` is that by which everything else moved. */
export function merged<T extends Part>(leaves: Leaves, causes: readonly T[], factor: number): (T | Part)[] {
  let found: (T | Part)[] = [...causes]
  for (const where of wholesOf(causes)) {
    const inside = found.filter((cause) => isIn(where, (at) => cause.where[at]!))
    if (inside.length < 2 || !areAlike(leaves, inside, factor)) continue
    const claimed = new Set(inside.flatMap((cause) => [...cause.leaves]))
    const all = [...leaves.before.keys()].every(
      (leaf) =>
        claimed.has(leaf) ||
        (leaves.before[leaf] === 0 && leaves.after[leaf] === 0) ||
        !isIn(where, (at) => leaves.codes[at]![leaf]!),
    )
    if (!all) continue
    const whole: Part = {
      ...inside[0]!,
      where,
      leaves: Int32Array.from(claimed),
      p: Math.min(...inside.map(({ p }) => p)),
      error: Math.hypot(...inside.map(({ error }) => error)),
    }
    found = [...found.filter((cause) => !inside.includes(cause)), whole]
  }
  return found
}

/** Returns the elements that hold causes, those with the fewest fixed attributes first. */
function wholesOf(causes: readonly Part[]): number[][] {
  const wholes = new Map<string, number[]>()
  for (const { where } of causes) {
    const fixed = where.flatMap((code, at) => (code < 0 ? [] : [at]))
    for (let kept = 1; kept < 2 ** fixed.length - 1; kept++) {
      const whole = where.map((code, at) => (kept & (1 << fixed.indexOf(at)) && code >= 0 ? code : -1))
      wholes.set(whole.join(), whole)
    }
  }
  const size = (where: readonly number[]): number => where.filter((code) => code >= 0).length
  return [...wholes.values()].toSorted((a, b) => size(a) - size(b))
}

const isIn = (where: readonly number[], codeAt: (attribute: number) => number): boolean =>
  where.every((code, at) => code < 0 || codeAt(at) === code)

function areAlike({ before, after }: Leaves, causes: readonly Part[], factor: number): boolean {
  const ratios = causes.map(({ leaves, error }) => {
    const sum = (values: Float64Array): number => leaves.reduce((all, leaf) => all + values[leaf]!, 0)
    const was = sum(before) * factor
    return { ratio: sum(after) / was, error: error / Math.abs(was) }
  })
  const [least, most] = [0, 1].map((end) => ratios.toSorted((a, b) => a.ratio - b.ratio).at(-end)!)
  const apart = most!.ratio - least!.ratio
  const size = Math.max(Math.abs(least!.ratio - 1), Math.abs(most!.ratio - 1))
  return (
    (least!.ratio - 1) * (most!.ratio - 1) > 0 &&
    apart <= Math.max(SHARE * size, Math.min(ERRORS * Math.hypot(least!.error, most!.error), size / 2))
  )
}
