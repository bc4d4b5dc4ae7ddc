/** A published figure beside ours, for the accuracy table and the accuracy test. */

export interface Figure {
  /** The name of the method or function. */
  of: string
  /** The name of the published case. */
  case: string
  name: string
  expected: number
  got: number
  source: string
  /** The least number of right digits; fewer fail the test. */
  least: number
  /** The most digits that any method can have right on these data as doubles, if that is known and below 15. */
  limit?: number
}

/**
 * Returns the number of equal digits: minus the logarithm of the relative error (of the absolute one near 0), at most
 * 15.
 */
export function digits({ expected, got }: { expected: number; got: number }): number {
  if (got === expected) return 15
  const error = expected === 0 ? Math.abs(got) : Math.abs(got - expected) / Math.abs(expected)
  return Number.isNaN(error) ? 0 : Math.max(0, Math.min(15, -Math.log10(error)))
}

/** Makes the figures of one case, each with the digits that it must have. */
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
