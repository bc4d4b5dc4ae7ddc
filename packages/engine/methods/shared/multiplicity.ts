/**
 * Corrections for looking more than once. Holm (1979, Scand. J. Statist. 6, 65-70) holds the chance of any false
 * finding; Benjamini and Hochberg (1995, JRSS B 57, 289-300) the share of false ones among the findings.
 */
import type { Outcome } from '@assay/model/insight'
import { doubt, regraded } from '../../verdicts/verdict.ts'

/** Holm's adjusted p-values, in the order given. */
export function holm(values: readonly number[]): number[] {
  const order = ranked(values)
  const adjusted = values.slice()
  let largest = 0
  for (const [rank, index] of order.entries()) {
    largest = Math.max(largest, Math.min(1, (values.length - rank) * values[index]!))
    adjusted[index] = largest
  }
  return adjusted
}

/** Benjamini and Hochberg's adjusted p-values, in the order given. */
export function benjaminiHochberg(values: readonly number[]): number[] {
  const order = ranked(values)
  const adjusted = values.slice()
  let smallest = 1
  for (const [rank, index] of [...order.entries()].toReversed()) {
    smallest = Math.min(smallest, (values.length / (rank + 1)) * values[index]!)
    adjusted[index] = smallest
  }
  return adjusted
}

/**
 * Corrects for several tests inside one insight: Holm over the primary p-value of each outcome that has one. Where there
 * are two or more, each gets `p_adjusted`, the caveat `many_tests`, and a grade no higher than that p-value allows.
 * The primary p-value is `p`, or the least adjusted p-value among `comparisons` or `pairs` (their own correction makes
 * that a test of "none differs").
 */
export function adjustAcross(outcomes: Record<string, Outcome>): Record<string, Outcome> {
  const tests = Object.entries(outcomes).flatMap(([name, outcome]) => {
    const p = primary(outcome)
    return p === null ? [] : [{ name, p }]
  })
  if (tests.length < 2) return outcomes
  const adjusted = holm(tests.map((test) => test.p))
  const result = { ...outcomes }
  const says = `This report makes ${tests.length} tests, and the certainty of each allows for that.`
  for (const [index, { name }] of tests.entries()) {
    const p_adjusted = adjusted[index]!
    result[name] = { ...regraded(outcomes[name]!, p_adjusted, doubt('many_tests', says)), p_adjusted }
  }
  return result
}

function primary(outcome: Outcome): number | null {
  if (typeof outcome.p === 'number') return outcome.p
  const parts = [outcome.comparisons, outcome.pairs].find(Array.isArray) as
    | { p_adjusted?: unknown }[]
    | undefined
  const values = (parts ?? []).flatMap((part) =>
    typeof part.p_adjusted === 'number' ? [part.p_adjusted] : [],
  )
  return values.length === 0 ? null : Math.min(...values)
}

function ranked(values: readonly number[]): number[] {
  return values.map((_, index) => index).toSorted((a, b) => values[a]! - values[b]! || a - b)
}
