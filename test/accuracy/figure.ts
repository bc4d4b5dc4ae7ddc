/** A published figure beside ours: what the accuracy table lists and the accuracy test holds. */

export interface Figure {
  /** The method or function. */
  of: string
  /** The published case. */
  case: string
  name: string
  expected: number
  got: number
  source: string
  /** Digits that must be right; fewer fail the test. */
  least: number
  /** Digits that any method can have right on these data as doubles, where that is known and under 15. */
  limit?: number
}

/** Digits that agree: minus the logarithm of the relative error (of the absolute one, about 0), at most 15. */
export function digits({ expected, got }: { expected: number; got: number }): number {
  if (got === expected) return 15
  const error = expected === 0 ? Math.abs(got) : Math.abs(got - expected) / Math.abs(expected)
  return Number.isNaN(error) ? 0 : Math.max(0, Math.min(15, -Math.log10(error)))
}

/** Figures of one case, each with the digits it must have. */
export function figures(
  common: { of: string; case: string; source: string; least: number },
  pairs: Record<string, [expected: number | undefined, got: unknown]>,
): Figure[] {
  return Object.entries(pairs).map(([name, [expected, got]]) => ({
    ...common,
    name,
    expected: expected ?? Number.NaN,
    got: typeof got === 'number' ? got : Number.NaN,
  }))
}
