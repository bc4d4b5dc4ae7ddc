/**
 * Runs every method with each of its options over every table of survival-fixture.ts, and over random ones. Each
 * answer must be without NaN, fit its schema, and use only words that a headline may hold. The suite tries a sixth of
 * the options of each table.
 */
import {
  assertAllSurvive,
  assertRandomSurvive,
  extremes,
} from '../packages/engine/methods/survival-fixture.ts'
import type { Proof } from './main.ts'

/** Resolves with the reason for which the work fails; empty if it holds. */
const broken = (work: Promise<void>): Promise<string[]> =>
  work.then(
    () => [],
    (error: Error) => [error.message],
  )

export const proof: Proof = {
  summary: 'every method answers extreme and random tables without NaN [--runs N]',
  async run({ seed, number, log }) {
    const found: string[] = []
    for (const [title, make] of Object.entries(extremes)) {
      found.push(...(await broken(make().then((table) => assertAllSurvive(table, title, 'all')))))
      log(title)
    }
    found.push(...(await broken(assertRandomSurvive(number('runs', 30), seed, () => 'all'))))
    return found
  },
}
