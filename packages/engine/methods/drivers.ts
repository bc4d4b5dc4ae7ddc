/**
 * drivers: explains why a number changed between two periods, between two groups, or between what was expected and what
 * came.
 *
 * `causes` are the fewest combinations of attributes that explain the change beyond ordinary noise (causes/search.ts;
 * measured in docs/causes.md). A part that moved as everything else did is no cause. The noise is estimated from the
 * leaves, from up to 12 earlier changes of the same kind if there are any, and from the spread of rows. Periods with
 * different numbers of days are compared per day that has data. `segments` split the change by one attribute at a time
 * (drivers/segments.ts). One row is fetched for each combination of values (at most 100,000, drivers/leaves.ts) and
 * side, and for each of the 200 largest segments.
 */
import type { Column, Doubt, Outcome } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import { exactSum } from '../numeric/sum.ts'
import { leftOut } from '../verdicts/common-doubts.ts'
import { measureOf } from '../verdicts/measure.ts'
import { doubt, stopped, verdict } from '../verdicts/verdict.ts'
import { type Causes, causesOf } from './drivers/causes.ts'
import { daysOfCauses } from './drivers/days-of-causes.ts'
import { expectationOf } from './drivers/expectation.ts'
import { loadHistory, loadTable, type Table } from './drivers/leaves.ts'
import { oneRowOfChange } from './drivers/one-row.ts'
import { Asked, checkOptions, measured, type Options, ofMetric } from './drivers/options.ts'
import {
  type Dimension,
  dimensionsOf,
  dimensionsOfLeaves,
  emptySide,
  MOST,
  OTHER,
  type Segment,
  segmentsOf,
  totals,
} from './drivers/segments.ts'
import { sidesOf } from './drivers/sides.ts'
import { baseLacks, evidence, headline, type Lie, type Mix, relativeOf, restSays } from './drivers/words.ts'
import { isNumeric, numberSql, timeColumn } from './shared/columns.ts'
import { partsOfRatio } from './shared/decomposition.ts'
import { CAUSES, diagnosis, number, rowsWith, text, whereGiven } from './shared/fields.ts'
import { type Method, type MethodContext, quote, type Relation } from './shared/method.ts'
import { count, finite } from './shared/sentence.ts'

const METHOD =
  'search over combinations under false discovery control; exact midpoint decomposition by attribute'
const CHANGE = { before: number, after: number, change: number }

export const drivers: Method = {
  name: 'drivers',
  options: Asked,
  either: [
    [['value'], ['numerator', 'denominator']],
    [['time'], ['split'], ['expected']],
  ],
  columns(options) {
    const { value, numerator, denominator, expected, by, time, split } = options as Asked
    const numbers = { value, numerator, denominator, expected }
    return [
      ...Object.entries(numbers).flatMap(([option, column]) =>
        column === undefined ? [] : [{ option, column, numeric: true }],
      ),
      ...(by === 'all' ? [] : by).map((column) => ({ option: 'by', column, numeric: false })),
      ...(time === undefined ? [] : [{ option: 'time', column: time, numeric: false }]),
      ...(split === undefined ? [] : [{ option: 'split', column: split.column, numeric: false }]),
    ]
  },
  news: { lists: ['causes'], key: ['where'], of: 'after_label' },
  prints: () => true,
  fields: {
    ...CHANGE,
    relative: number,
    before_per_day: Type.Optional(number),
    after_per_day: Type.Optional(number),
    causes: CAUSES,
    explained: number,
    explanation: text,
    rest: text,
    segments: rowsWith({ by: text, segment: text, ...CHANGE, share: number, mix: number, rate: number }),
    mix: number,
    rate: number,
    dimensions: rowsWith({ by: text, surprise: number }),
    before_label: text,
    after_label: text,
    ...whereGiven('time', { diagnosis: Type.Optional(diagnosis) }),
  },
  async run(table, options, context) {
    const given = options as Asked
    const asked = ofMetric(given, context)
    if (typeof asked === 'string') return nothing({ ...given, by: [] }, context, 0, asked, [])
    checkOptions(asked)
    if (asked.split && String(asked.split.before) === String(asked.split.after))
      return nothing(asked, context, 0, 'both sides of the split are the same', [])
    const ratio = asked.denominator !== undefined
    const loaded = await load(table, asked, context)
    if (typeof loaded === 'string') return nothing(asked, context, 0, loaded, [])
    const { sides, dimensions } = loaded
    const first = dimensions[0]!.ends
    const empty = emptySide(first, sides)
    if (empty)
      return nothing(
        asked,
        context,
        loaded.n,
        sides.expected
          ? 'there are no rows'
          : `there is ${ratio ? 'no denominator' : 'nothing'} in ${empty.named}`,
        sides.doubts,
      )
    const { leaves, history } = await loaded.leaves()
    const found = causesOf(leaves, asked, sides, history)
    if (loaded.error !== null) found.error = loaded.error
    const labels = (name: string): string => measureOf(context.meanings, name).label
    if (ratio) Object.assign(found, { top: labels(asked.numerator!), weight: labels(asked.denominator!) })
    const segments = segmentsOf(dimensions, ratio)
    const whole = totals(first, ratio)
    const ofFirst = segments.filter((segment) => segment.by === dimensions[0]!.by)
    const mix = ratio ? finite(exactSum(ofFirst.map((segment) => segment.mix ?? 0))) : null
    const measure = measured(asked, context)
    const oneRow = await oneRowOfChange(table, asked, sides, found, measure)
    found.one_row = oneRow.length > 0
    const unmixed = mix === null || found.causes.some(({ kind }) => kind === 'mix')
    const words = headline(measure, sides, found, labels, unmixed ? null : mixOf(mix, dimensions[0]!))
    const fields = {
      ...whole,
      relative: finite(relativeOf(found.before, found.after) ?? Number.NaN),
      ...(sides.per_day ? { before_per_day: finite(found.before), after_per_day: finite(found.after) } : {}),
      causes: sides.unfinished === null ? found.causes : [],
      explained: sides.unfinished === null ? found.explained : null,
      explanation: words.explanation,
      rest: restSays(found, measure, sides.expected),
      segments,
      mix,
      rate: ratio ? finite(exactSum(ofFirst.map((segment) => segment.rate ?? 0))) : null,
      dimensions: dimensions.map(({ by, surprise }) => ({ by, surprise: finite(surprise) })),
      before_label: sides.before.label,
      after_label: sides.after.label,
      ...(sides.diagnosis ? { diagnosis: sides.diagnosis } : {}),
    }
    const told = verdict({
      headline: words.headline,
      grade: found.causes.length > 0 && sides.unfinished === null ? 'firm' : 'unclear',
      evidence: evidence(measure.label, leaves.n, sides, found),
      doubts: [
        ...sides.doubts,
        ...(await daysOfCauses(table, asked, sides, found.causes, labels, context)),
        ...unseenOf(words.lie, found, asked),
        ...doubtsOf(asked, leaves, found, fields, ofFirst),
        ...oneRow,
        ...(await withoutNumber(table, asked)),
      ],
    })
    return { ...told, n: leaves.n, method: METHOD, ...fields }
  },
}

const clockSql = (column: Column): string =>
  isNumeric(column) ? `cast(${quote(column.name)} as double)` : quote(column.name)

/** Counts the rows that belong to no side because they have no time or no number. */
async function withoutNumber(table: Relation, options: Options): Promise<Doubt[]> {
  const { value, numerator, denominator, expected, time } = options
  const numbers = Object.entries({ value, numerator, denominator, expected }).flatMap(([option, column]) =>
    column === undefined ? [] : [numberSql(table, option, column)],
  )
  const clock = time === undefined ? [] : [clockSql(timeColumn(table, time))]
  const whole = [...numbers, ...clock].map((column) => `isfinite(${column})`).join(' and ')
  const [row] = await table.query(`select count(*) - count(*) filter (${whole}) as n from ${table.relation}`)
  return leftOut(row!.n as number, time === undefined ? 'without a number' : 'without a time or a number')
}

/**
 * Reads what is compared: the sides, the change by one column at a time, and the leaves. Returns a sentence if there is
 * nothing to compare.
 */
async function load(table: Relation, options: Options, context: MethodContext) {
  if (options.compare_with === 'forecast') {
    const known = await expectationOf(table, options, context)
    if (typeof known === 'string') return known
    const { table: leaves, sides, history, error } = known
    const dimensions = dimensionsOfLeaves(leaves, options)
    return { sides, dimensions, n: leaves.n, error, leaves: () => Promise.resolve({ leaves, history }) }
  }
  const sides = await sidesOf(table, options, context)
  if (typeof sides === 'string') return sides
  const { n, dimensions } = await dimensionsOf(table, options, sides)
  const leaves = async () => {
    const now = await loadTable(table, options, sides.before, sides.after)
    return { leaves: now, history: await loadHistory(table, options, now, sides.history) }
  }
  return { sides, dimensions, n, error: null, leaves }
}

/** Returns the segment whose share made most of the effect of the mix. */
function mixOf(part: number, { by, ends, names }: Dimension): Mix {
  const bottoms = [0, 1].map((side) => exactSum(ends.map(({ bottom }) => bottom[side]!)))
  const rows = partsOfRatio(ends).map(({ mix }, index) => ({ mix: (mix ?? 0) * Math.sign(part), index }))
  const { index } = rows.toSorted((a, b) => b.mix - a.mix)[0]!
  const { bottom } = ends[index]!
  const grew = bottom[1] / bottoms[1]! > bottom[0] / bottoms[0]!
  return { part, by, segment: names[index]!, grew }
}

function nothing(options: Options, context: MethodContext, n: number, why: string, doubts: Doubt[]): Outcome {
  const { label } = measured(options, context)
  const says =
    options.by.length === 0
      ? `What moved ${label} is not known: ${why}.`
      : `There is not enough data to say what moved ${label}: ${why}.`
  const told = stopped(`${count(n, 'row')}.`, doubt('too_few', says), doubts)
  return {
    ...told,
    n,
    method: METHOD,
    before: null,
    after: null,
    change: null,
    relative: null,
    causes: [],
    explained: null,
    explanation: null,
    rest: null,
    segments: [],
    mix: null,
    rate: null,
    dimensions: [],
    before_label: null,
    after_label: null,
  }
}

/** Returns the doubt that a cause may exist that these data cannot show, with what would show it. */
function unseenOf(lie: Lie | null, { told }: Causes, { time, expected }: Options): Doubt[] {
  if (lie !== 'unseen' && lie !== 'too_few') return []
  const more = told || expected !== undefined ? [] : ['single rows in place of their sums']
  if (time === undefined && expected === undefined) more.push('earlier periods (time in place of split)')
  const comma = more.length > 1 ? ',' : ''
  const remedy = more.length === 0 ? '' : `; ${more.join(', or ')}${comma} would show what is ordinary`
  const what =
    lie === 'unseen'
      ? 'The noise of the parts may hide a cause'
      : 'A cause may still lie in one of so few parts'
  return [doubt('cause_unseen', `${what}${remedy}.`)]
}

function doubtsOf(
  options: Options,
  leaves: Table,
  found: Causes,
  { mix, rate, change }: { mix: number | null; rate: number | null; change: number | null },
  segments: readonly Segment[],
): Doubt[] {
  const doubts: Doubt[] = []
  const lacks = baseLacks(found.before, found.after)
  if (lacks !== null && found.before !== found.after)
    doubts.push(doubt('no_base', `No percentage is given, since the value before ${lacks}.`))
  const smaller = Math.min(Math.abs(mix ?? 0), Math.abs(rate ?? 0))
  if (mix !== null && rate !== null && mix * rate < 0 && smaller > 0.05 * Math.abs(change ?? 0))
    doubts.push(
      doubt(
        'mix_hides_rates',
        rate * (change ?? 0) < 0
          ? "Mix and rates pull in opposite directions: the total hides what happens inside the segments (Simpson's paradox)."
          : 'Mix and rates pull in opposite directions, so the total shows less than what happens inside the segments.',
      ),
    )
  if (segments.some((segment) => segment.segment === OTHER))
    doubts.push(
      doubt('values_combined', `The segments beyond the ${MOST} largest are put together as "${OTHER}".`),
    )
  if (leaves.kept !== null)
    doubts.push(
      doubt(
        'values_combined',
        `There are too many combinations to search; of each column the ${leaves.kept} largest values are searched.`,
      ),
    )
  if (found.depth < Math.min(options.depth ?? 10, options.by.length))
    doubts.push(
      doubt(
        'values_combined',
        `There are too many combinations to search; causes combine at most ${count(found.depth, 'column')}.`,
      ),
    )
  return doubts
}
