/** Tests whether the sizes of the arms of a test agree with the plan. */
import type { Doubt } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { chiSquareUpper } from '../../numeric/distributions.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { brief, quoted } from '../../verdicts/words.ts'
import { count, enumeration } from './sentence.ts'

/** A split is broken below this p. */
const BROKEN = 0.001

export const Shares = Type.Record(Type.String(), Type.Number({ exclusiveMinimum: 0 }), {
  minProperties: 2,
  description: 'What share of the units each arm was to get, such as { control: 0.5, new: 0.5 }.',
})
export type Shares = Static<typeof Shares>

export interface Split {
  /** The planned share of each arm; they add up to 1. */
  planned: Record<string, number>
  /** The units of each arm. */
  seen: Record<string, number>
  /** The chance of a split at least this far from the planned one (chi-square); null with fewer than two arms. */
  p: number | null
}

/** Compares the units of each arm with the planned shares, equal ones unless given. */
export function splitOf(seen: Record<string, number>, given?: Shares): Split {
  const arms = [...new Set([...Object.keys(given ?? {}), ...Object.keys(seen)])]
  const weights = arms.map((arm) => (given ? (given[arm] ?? 0) : 1))
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  const n = Object.values(seen).reduce((sum, units) => sum + units, 0)
  const planned = Object.fromEntries(arms.map((arm, index) => [arm, weights[index]! / whole]))
  const all = Object.fromEntries(arms.map((arm) => [arm, seen[arm] ?? 0]))
  if (arms.length < 2 || n === 0) return { planned, seen: all, p: null }
  const statistic = arms.reduce((sum, arm) => {
    const expected = n * planned[arm]!
    if (expected === 0) return all[arm]! > 0 ? Number.POSITIVE_INFINITY : sum
    return sum + (all[arm]! - expected) ** 2 / expected
  }, 0)
  return { planned, seen: all, p: statistic === Infinity ? 0 : chiSquareUpper(statistic, arms.length - 1) }
}

/** Returns the blocker of a broken split. */
export function splitDoubt(split: Split, { one, many }: { one: string; many: string }): Doubt[] {
  if (split.p === null || split.p >= BROKEN) return []
  const arms = Object.keys(split.planned)
  const named = arms.slice(0, 5).map((arm) => {
    const planned = brief(100 * split.planned[arm]!)
    return `${count(split.seen[arm]!, one, many)} in ${quoted(arm)} where ${planned} % were planned`
  })
  const more = arms.length > 5 ? [`${arms.length - 5} more`] : []
  return [
    doubt(
      'split_uneven',
      `The groups do not have the planned sizes, by more than chance allows: ${enumeration([...named, ...more])}. ` +
        'No result of this test can be trusted. If other shares were planned, name them under planned; ' +
        'if the groups were not drawn by chance, write planned: none in an A/B test.',
    ),
  ]
}
