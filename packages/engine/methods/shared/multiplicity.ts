/**
 * Corrects p-values for several tests. Holm (1979, Scand. J. Statist. 6, 65-70) bounds the chance of any false finding.
 * Benjamini and Hochberg (1995, JRSS B 57, 289-300) bound the share of false ones among the findings.
 */
import type { Outcome } from '@assay/model/insight'
import { doubt, findingOf, regraded } from '../../verdicts/verdict.ts'

/** Returns Holm's adjusted p-values, in the given order. */
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

/** Returns Benjamini and Hochberg's adjusted p-values, in the given order. */
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
 * The primary p-value is what the verdict was decided by, `p`, or the least adjusted p-value among `comparisons`, `pairs`, the primary `results` of an
 * experiment, or the `groups` of `by` (their own correction makes that a test of "none differs"). `family` names what is
 * tested together.
 */
export function adjustAcross(
  outcomes: Record<string, Outcome>,
  family = (tests: number) => `This report makes ${tests} tests, and the certainty of each allows for that.`,
): Record<string, Outcome> {
  const tests = Object.entries(outcomes).flatMap(([name, outcome]) => {
    const p = chanceOf(outcome)
    return p === null ? [] : [{ name, p, made: groupsOf(outcome) ? primary(outcome).length : 1 }]
  })
  if (tests.length < 2) return outcomes
  const adjusted = holm(tests.map((test) => test.p))
  const result = { ...outcomes }
  const says = family(tests.reduce((sum, { made }) => sum + made, 0))
  for (const [index, { name, p }] of tests.entries()) {
    const p_adjusted = adjusted[index]!
    const correction = { p: p_adjusted, factor: factorOf(p, p_adjusted, tests.length) }
    result[name] = { ...regraded(outcomes[name]!, correction, doubt('many_tests', says)), p_adjusted }
  }
  return result
}

/**
 * Returns the factor by which a correction for several tests raised p. If p became 1, or is 0, it is the largest factor
 * that is possible.
 */
export const factorOf = (p: number, adjusted: number, tests: number): number =>
  p > 0 && adjusted < 1 ? adjusted / p : tests

/** Returns the primary p-value, or null for an outcome that makes no test. */
export function chanceOf(outcome: Outcome): number | null {
  const values = primary(outcome)
  return values.length === 0 ? null : Math.min(...values)
}

interface Part {
  p_adjusted?: unknown
  q?: unknown
  primary?: unknown
}

/** Returns the p-values whose minimum is the p of the outcome. */
function primary(outcome: Outcome): number[] {
  if (typeof outcome.p_adjusted === 'number') return [outcome.p_adjusted]
  const decided = findingOf(outcome)?.decided
  if (typeof decided === 'number') return [decided]
  if (typeof outcome.p === 'number') return [outcome.p]
  const groups = groupsOf(outcome)
  if (groups) return groups.flatMap(primary)
  const parts = [outcome.comparisons, outcome.pairs].find(Array.isArray) as Part[] | undefined
  const results = Array.isArray(outcome.results) ? (outcome.results as Part[]) : []
  return [
    ...(parts ?? []).map((part) => part.p_adjusted),
    ...results.filter((part) => part.primary === true).map((part) => part.q),
  ].filter((value) => typeof value === 'number')
}

/** Returns one outcome for each value of a column, as `by` gives them. */
function groupsOf({ groups }: Outcome): Outcome[] | null {
  if (!Array.isArray(groups)) return null
  const found = groups as Partial<Outcome>[]
  return found.every((group) => 'by' in group && 'grade' in group) ? (found as Outcome[]) : null
}

function ranked(values: readonly number[]): number[] {
  return values.map((_, index) => index).toSorted((a, b) => values[a]! - values[b]! || a - b)
}
