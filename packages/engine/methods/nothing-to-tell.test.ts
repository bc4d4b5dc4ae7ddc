/**
 * Asks methods about data that hold no answer. Each says so with `too_few` or `constant`, over the whole and for each
 * value of a column.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { METHODS } from './catalog.ts'
import { outcomeOf } from './relation-fixture.ts'
import type { Relation } from './shared/method.ts'
import { asked, assertSound, extremes, remembering, rows } from './survival-fixture.ts'

/** These methods count rows, ids or events, and read no value. */
const COUNT = ['profile', 'cohorts', 'funnel']

/** These methods describe. What they say of a single value is true however few values there are. */
const DESCRIBE = ['describe', 'pareto']

interface Nothing {
  make: () => Promise<Relation>
  /** The methods that have an answer that these data support. */
  answered: readonly string[]
}

const nothing: Record<string, Nothing> = {
  'no rows': { make: extremes['no rows']!, answered: [] },
  'one row': { make: extremes['one row']!, answered: ['profile'] },
  'a column of nulls': { make: extremes['all null']!, answered: COUNT },
  'a column without numbers': { make: extremes['only infinite values']!, answered: COUNT },
  'rows without a time and a group': {
    make: extremes['null times and groups']!,
    answered: ['describe', 'profile'],
  },
  // Sums of the same value are level, alike or shared out evenly, and that is an answer.
  'one value in all rows': {
    make: () => rows('120', '7', '7'),
    answered: [...COUNT, 'compare', 'drivers', 'pareto'],
  },
}

/** Returns the options, and the same options for each value of `e`. */
function bothWays(name: string): Record<string, unknown>[] {
  const options = asked[name]![0]!
  const { properties } = METHODS[name]!.options as unknown as { properties: object }
  return [options, { ...options, ['each' in properties ? 'each' : 'by']: 'e' }]
}

for (const [title, { make, answered }] of Object.entries(nothing)) {
  test(`${title}: the answer of every method is that there are too few values, or that they never change`, async () => {
    const table = remembering(await make())
    for (const [name, method] of Object.entries(METHODS)) {
      for (const options of bothWays(name)) {
        const outcome = await outcomeOf(method, table, options)
        const what = `${name} ${JSON.stringify(options)}: ${outcome.summary}`
        assertSound(outcome, what)
        if (answered.includes(name)) continue
        const codes = [...outcome.blockers, ...outcome.caveats].map(({ code }) => code)
        assert.ok(codes.includes('too_few') || codes.includes('constant'), `${codes.join()} ${what}`)
        if (!DESCRIBE.includes(name)) assert.ok(['unclear', 'withheld'].includes(outcome.grade), what)
      }
    }
  })
}
