/**
 * Every method with each of its options over every table of survival-fixture.ts, and over random ones: an answer without NaN,
 * described by its schema, in words that a headline may hold. The suite asks a sixth of the options of each table.
 */
import {
  assertAllSurvive,
  assertRandomSurvive,
  extremes,
} from '../packages/engine/methods/survival-fixture.ts'
import type { Proof } from './main.ts'

/** The reason for which it fails; none if it holds. */
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
