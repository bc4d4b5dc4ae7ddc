/**
 * compare: the latest complete period against the one before.
 *
 * Values are added up (or averaged) per period; periods.ts says which are complete. z is the change less the mean of the
 * earlier changes between neighbouring complete periods, over their standard deviation; it needs 8 of them. The relative
 * change is given where it means something: both values of one sign, and the base no less than a hundredth of the largest
 * period. One row for each period is fetched, at most 10,000.
 */

import type { Outcome } from '@assay/model/insight'
import Type, { type Static } from 'typebox'
import { exactMean, variance } from '../numeric/exact.ts'
import { numberSql, seriesColumns } from './shared/columns.ts'
import { number, text } from './shared/fields.ts'
import type { Method } from './shared/method.ts'
import { type Bucket, completePeriods, Period } from './shared/periods.ts'
import { count, figure, finite, percent, signed } from './shared/sentence.ts'

const Options = Type.Object(
  {
    time: Type.String(),
    value: Type.String(),
    period: Period,
    aggregate: Type.Enum(['sum', 'mean'], {
      default: 'sum',
      description: 'What a period is: the sum of its values, or their mean.',
    }),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

const LEAST_CHANGES = 8

export const compare: Method = {
  name: 'compare',
  options: Options,
  columns: seriesColumns,
  fields: {
    current: number,
    previous: number,
    change: number,
    relative: number,
    z: number,
    current_period: text,
    previous_period: text,
  },
  async run(table, options, context) {
    const given = options as Options
    const value = numberSql(table, 'value', given.value)
    const buckets = await completePeriods(table, { ...given, value }, context)
    return outcomeOf(given, buckets)
  },
}

function outcomeOf(given: Options, { complete, notes }: { complete: Bucket[]; notes: string[] }): Outcome {
  const n = complete.reduce((sum, bucket) => sum + bucket.n, 0)
  const method = 'complete periods; z against earlier changes'
  const current = complete.at(-1)
  const previous = complete.at(-2)
  const nothing = { current: null, previous: null, change: null, relative: null, z: null }
  if (!current || !previous || previous.end !== current.start) {
    const found =
      current && previous
        ? 'the latest one has no neighbour'
        : `there ${complete.length === 1 ? 'is 1' : 'are none'}`
    const summary = `Not enough data to compare ${given.value}: two complete periods side by side are needed, and ${found}.`
    return {
      summary,
      n,
      method,
      notes,
      ...nothing,
      current_period: current?.label ?? null,
      previous_period: null,
    }
  }
  const changes = complete
    .slice(1)
    .flatMap((bucket, index) =>
      complete[index]!.end === bucket.start ? [bucket.value - complete[index]!.value] : [],
    )
  const history = changes.slice(0, -1)
  const change = current.value - previous.value
  const z = zOf(change, history)
  const fields = {
    current: finite(current.value),
    previous: finite(previous.value),
    change: finite(change),
    relative: hasBase(complete) ? finite(change / Math.abs(previous.value)) : null,
    z,
    current_period: current.label,
    previous_period: previous.label,
  }
  return {
    summary: sentence(given, fields, history.length),
    n,
    method,
    notes: [...notes, ...notesOf(given, complete, history.length, z)],
    ...fields,
  }
}

/** Whether the last change can be given as a share of the previous value. */
function hasBase(complete: readonly Bucket[]): boolean {
  const [previous, current] = complete.slice(-2).map((bucket) => bucket.value) as [number, number]
  const largest = Math.max(...complete.map((bucket) => Math.abs(bucket.value)))
  return previous * Math.sign(current) >= 0 && Math.abs(previous) > largest / 100
}

function zOf(change: number, history: readonly number[]): number | null {
  if (history.length < LEAST_CHANGES) return null
  const spread = Math.sqrt(variance(history))
  return spread > 0 ? finite((change - exactMean(history)) / spread) : null
}

function sentence(
  given: Options,
  fields: {
    current: number | null
    previous: number | null
    change: number | null
    relative: number | null
    z: number | null
    current_period: string
    previous_period: string
  },
  history: number,
): string {
  const { current, previous, change, relative, z } = fields
  const digit = change === null ? null : change / 10
  const what = given.aggregate === 'sum' ? `${given.value} came to` : `${given.value} averaged`
  const start = `${what} ${figure(current, digit)} in ${fields.current_period}`
  if (change === 0) return `${start}, as much as in ${fields.previous_period}.`
  const share = relative === null ? '' : ` (${relative > 0 ? '+' : ''}${percent(relative)})`
  const moved = `${start}, against ${figure(previous, digit)} in ${fields.previous_period}: a change of ${signed(change, digit)}${share}.`
  if (z === null) return moved
  const usual = Math.abs(z) < 2 ? 'within' : 'outside'
  return `${moved} That is ${usual} the usual range of such changes (z = ${signed(z)}, from ${count(history, 'earlier change')}).`
}

function notesOf(given: Options, complete: readonly Bucket[], history: number, z: number | null): string[] {
  const [previous, current] = complete.slice(-2) as [Bucket, Bucket]
  const notes: string[] = []
  const share = hasBase(complete)
  if (!share && previous.value !== current.value) {
    const reason = previous.value * current.value < 0 ? 'of the other sign' : 'too near zero'
    notes.push(`No relative change is given: the value before is ${reason}.`)
  }
  const before = previous.end - previous.start
  const after = current.end - current.start
  if (given.aggregate === 'sum' && before !== after && typeof given.period === 'string' && share) {
    const perDay = current.value / after / (previous.value / before) - 1
    if (Number.isFinite(perDay)) {
      notes.push(`The periods have ${after} and ${before} days; per day the change is ${percent(perDay)}.`)
    }
  }
  if (z === null) {
    notes.push(
      history < LEAST_CHANGES
        ? `Only ${count(history, 'earlier change')}: too few to say whether this one is unusual (${LEAST_CHANGES} are needed).`
        : 'The earlier changes are all the same, so there is no scale to judge this one by.',
    )
  }
  return notes
}
