/**
 * drivers: which segments moved a number from one period (or group) to another.
 *
 * A sum splits into its segments' changes. A ratio R = sum(w r), with w a segment's share of the denominator and r its
 * rate, splits in midpoint form: mix = dw (mean r - mean R), rate = mean w dr. Both are exact: the parts add up to the
 * change without a residual and do not depend on which period is called the first. A segment found in one period only has
 * no rate in the other: its whole part is mix. Dimensions are ordered by their surprise, the Jensen-Shannon divergence of
 * their shares (Bhagwan et al., Adtributor, NSDI 2014). Sums are exact and grouped in DuckDB; of each dimension the 200
 * segments that matter most are fetched, and the others as one.
 */

import type { Outcome } from '@assay/model/insight'
import Type, { type Static } from 'typebox'
import { exactSum } from '../numeric/sum.ts'
import { columnOf, numberSql } from './shared/columns.ts'
import { type Ends, type Part, partsOfRatio, partsOfSum, surprise } from './shared/decomposition.ts'
import { number, rowsWith, text } from './shared/fields.ts'
import { type Method, type MethodContext, MethodError, quote, type Relation } from './shared/method.ts'
import { completePeriods, Period } from './shared/periods.ts'
import { count, enumeration, figure, finite, label, percent, signed } from './shared/sentence.ts'
import { exactSumSql, powerAbove, readSum } from './shared/sums.ts'

const Options = Type.Object(
  {
    value: Type.Optional(Type.String({ description: 'A number to add up.' })),
    numerator: Type.Optional(Type.String({ description: 'With `denominator`: a ratio of sums.' })),
    denominator: Type.Optional(Type.String()),
    by: Type.Array(Type.String(), { minItems: 1, maxItems: 10, uniqueItems: true }),
    time: Type.Optional(
      Type.String({ description: 'Compare the latest complete period with the one before.' }),
    ),
    period: Period,
    split: Type.Optional(
      Type.Object(
        {
          column: Type.String(),
          before: Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
          after: Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
        },
        { additionalProperties: false, description: 'Compare two groups.' },
      ),
    ),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

const MOST = 200
const OTHER = '(other)'
const METHOD = 'exact midpoint decomposition; dimensions by Adtributor surprise'
const CHANGE = { before: number, after: number, change: number }

interface Segment extends Part {
  by: string
  segment: string | null
}

/** The two sides as SQL conditions over the relation's columns, with their names. */
interface Sides {
  before: { where: string; label: string }
  after: { where: string; label: string }
  notes: string[]
}

export const drivers: Method = {
  name: 'drivers',
  options: Options,
  either: [
    [['value'], ['numerator', 'denominator']],
    [['time'], ['split']],
  ],
  columns(options) {
    const { value, numerator, denominator, by, time, split } = options as Options
    const numbers = { value, numerator, denominator }
    return [
      ...Object.entries(numbers).flatMap(([option, column]) =>
        column === undefined ? [] : [{ option, column, numeric: true }],
      ),
      ...by.map((column) => ({ option: 'by', column, numeric: false })),
      ...(time === undefined ? [] : [{ option: 'time', column: time, numeric: false }]),
      ...(split === undefined ? [] : [{ option: 'split', column: split.column, numeric: false }]),
    ]
  },
  fields: {
    ...CHANGE,
    relative: number,
    segments: rowsWith({ by: text, segment: text, ...CHANGE, share: number, mix: number, rate: number }),
    mix: number,
    rate: number,
    dimensions: rowsWith({ by: text, surprise: number }),
    before_label: text,
    after_label: text,
  },
  async run(table, options, context) {
    const given = options as Options
    const ratio = given.numerator !== undefined && given.denominator !== undefined
    if (
      ratio === (given.value !== undefined) ||
      (given.numerator === undefined) !== (given.denominator === undefined)
    ) {
      throw new MethodError('drivers needs either `value`, or `numerator` and `denominator`.')
    }
    if ((given.time === undefined) === (given.split === undefined)) {
      throw new MethodError('drivers needs either `time` (two periods) or `split` (two groups).')
    }
    const name = ratio ? `${given.numerator} per ${given.denominator}` : given.value!
    const sides = await sidesOf(table, given, context)
    if (sides === null) return nothing(name, 0, 'two complete periods side by side are needed', [])
    const dimensions: { by: string; ends: Ends[]; names: (string | null)[]; surprise: number }[] = []
    let n = 0
    for (const by of given.by) {
      const found = await endsOf(table, given, by, sides)
      n = found.n
      dimensions.push({ by, ...found, surprise: surprise(found.ends, ratio) })
    }
    const first = dimensions[0]!.ends
    const empty = emptySide(first, ratio, sides)
    if (empty !== null) return nothing(name, n, empty, sides.notes)
    const parts = (ends: readonly Ends[]) => (ratio ? partsOfRatio(ends) : partsOfSum(ends))
    const ordered = dimensions.toSorted((a, b) => b.surprise - a.surprise)
    const segments = ordered.flatMap(({ by, ends, names }) =>
      parts(ends)
        .map((part, index): Segment => ({ by, segment: names[index]!, ...part }))
        .toSorted((a, b) => Math.abs(b.change ?? 0) - Math.abs(a.change ?? 0)),
    )
    const whole = totals(first, ratio)
    const ofFirst = segments.filter((segment) => segment.by === ordered[0]!.by)
    const fields = {
      ...whole,
      relative: shareOf(whole),
      segments,
      mix: ratio ? finite(exactSum(ofFirst.map((segment) => segment.mix ?? 0))) : null,
      rate: ratio ? finite(exactSum(ofFirst.map((segment) => segment.rate ?? 0))) : null,
      dimensions: ordered.map(({ by, surprise }) => ({ by, surprise: finite(surprise) })),
      before_label: sides.before.label,
      after_label: sides.after.label,
    }
    return {
      summary: sentence(name, n, fields, ofFirst),
      n,
      method: METHOD,
      notes: [...sides.notes, ...notesOf(fields, ofFirst)],
      ...fields,
    }
  },
}

function nothing(name: string, n: number, why: string, notes: string[]): Outcome {
  return {
    summary: `Not enough data for the drivers of ${name}: ${why}.`,
    n,
    method: METHOD,
    notes,
    before: null,
    after: null,
    change: null,
    relative: null,
    segments: [],
    mix: null,
    rate: null,
    dimensions: [],
    before_label: null,
    after_label: null,
  }
}

async function sidesOf(table: Relation, given: Options, context: MethodContext): Promise<Sides | null> {
  if (given.split) {
    const column = `cast(${quote(columnOf(table, 'split', given.split.column).name)} as varchar)`
    const side = (value: string | number | boolean) => ({
      where: `${column} = '${String(value).replaceAll("'", "''")}'`,
      label: `${given.split!.column} ${String(value)}`,
    })
    return { before: side(given.split.before), after: side(given.split.after), notes: [] }
  }
  const value = numberSql(table, 'value', given.value ?? given.numerator!)
  const { complete, doubts } = await completePeriods(
    table,
    { time: given.time!, period: given.period, value, aggregate: 'sum' },
    context,
  )
  const after = complete.at(-1)
  const before = complete.at(-2)
  return before && after && before.end === after.start
    ? { before, after, notes: doubts.map(({ says }) => says) }
    : null
}

/** Sums of each segment on both sides: the largest changes first, the others combined into one. */
async function endsOf(table: Relation, given: Options, by: string, sides: Sides) {
  const segment = quote(columnOf(table, 'by', by).name)
  const top = numberSql(
    table,
    given.value === undefined ? 'numerator' : 'value',
    given.value ?? given.numerator!,
  )
  const bottom =
    given.denominator === undefined ? '1::double' : numberSql(table, 'denominator', given.denominator)
  const rows = `(select cast(${segment} as varchar) as s, ${sides.after.where} as later, ${top} as a, ${bottom} as b from ${table.relation}
    where (${sides.before.where}) or (${sides.after.where}))`
  const kept = `(select * from ${rows} where isfinite(a) and isfinite(b))`
  const [range] = await table.query(`select count(*) as n, max(abs(a)) as a, max(abs(b)) as b from ${kept}`)
  if (range!.n === 0) return { n: 0, ends: [], names: [] }
  const a = powerAbove(range!.a as number)
  const b = powerAbove(range!.b as number)
  const side = (later: string, column: string, bound: number) =>
    exactSumSql(`case when ${later} then ${column} else 0 end`, bound)
  const weight =
    given.denominator === undefined ? 'abs(fsum(case when later then a else -a end))' : 'fsum(abs(b))'
  const found = await table.query(
    `with kept as (select * from ${kept}),
       sizes as (select s, row_number() over (order by ${weight} desc, s) as place from kept group by s),
       named as (select case when place <= ${MOST} then kept.s else '${OTHER}' end as name, place > ${MOST} as rest, later, a, b
         from kept join sizes on kept.s is not distinct from sizes.s)
     select name, rest, ${side('not later', 'a', a)} as a0, ${side('later', 'a', a)} as a1,
       ${side('not later', 'b', b)} as b0, ${side('later', 'b', b)} as b1
     from named group by name, rest order by rest, name`,
  )
  const ends = found.map(
    (row): Ends => ({
      top: [readSum(row.a0, a), readSum(row.a1, a)],
      bottom: [readSum(row.b0, b), readSum(row.b1, b)],
    }),
  )
  return { n: range!.n as number, ends, names: found.map((row) => row.name as string | null) }
}

function emptySide(ends: readonly Ends[], ratio: boolean, sides: Sides): string | null {
  for (const [index, side] of [sides.before, sides.after].entries()) {
    const rows = exactSum(ends.map((end) => end.bottom[index]!))
    if (rows === 0) return `there is ${ratio ? 'no denominator' : 'nothing'} in ${label(side.label)}`
  }
  return null
}

function totals(ends: readonly Ends[], ratio: boolean) {
  const [before, after] = [0, 1].map((side) => {
    const top = exactSum(ends.map((end) => end.top[side]!))
    return ratio ? top / exactSum(ends.map((end) => end.bottom[side]!)) : top
  })
  return { before: finite(before!), after: finite(after!), change: finite(after! - before!) }
}

/** The change as a share of the previous value; null if that is zero or of the other sign. */
function shareOf({ before, after, change }: ReturnType<typeof totals>): number | null {
  if (before === null || after === null || change === null) return null
  return before === 0 || before * Math.sign(after) < 0 ? null : finite(change / Math.abs(before))
}

interface Fields {
  before: number | null
  after: number | null
  change: number | null
  relative: number | null
  mix: number | null
  rate: number | null
  before_label: string
  after_label: string
}

function sentence(name: string, n: number, fields: Fields, segments: readonly Segment[]): string {
  const { before, after, change, relative } = fields
  const digit = change === null ? null : change / 10
  const size = `(n = ${count(n, 'row')})`
  const places = `between ${label(fields.before_label)} and ${label(fields.after_label)}`
  if (change === null) return `${name} cannot be compared: its sums are beyond the range of doubles ${size}.`
  if (change === 0)
    return `${name} is ${figure(after)} in both ${label(fields.before_label)} and ${label(fields.after_label)} ${size}.`
  const share = relative === null ? '' : `, ${relative > 0 ? '+' : ''}${percent(relative)}`
  const moved = `${name} ${change > 0 ? 'rose' : 'fell'} from ${figure(before, digit)} to ${figure(after, digit)} (${signed(change, digit)}${share}) ${places}`
  const split =
    fields.mix === null
      ? ''
      : `; ${signed(fields.rate, digit)} of it is changed rates and ${signed(fields.mix, digit)} changed mix`
  const told = segments
    .filter((segment) => segment.change !== null && segment.change !== 0)
    .slice(0, 3)
    .map(
      (segment) =>
        `${label(segment.segment)} (${signed(segment.change, digit)}${segment.share === null ? '' : `, ${percent(segment.share)} of the change`})`,
    )
  const drivers = told.length === 0 ? '' : ` By ${segments[0]!.by}, most came from ${enumeration(told)}.`
  return `${moved}${split} ${size}.${drivers}`
}

function notesOf(fields: Fields, segments: readonly Segment[]): string[] {
  const notes: string[] = []
  if (segments.some((segment) => segment.share !== null && segment.share < -0.05)) {
    notes.push('Some segments moved the other way, so the shares of the others add up to more than 100%.')
  }
  const { mix, rate, change } = fields
  const smaller = Math.min(Math.abs(mix ?? 0), Math.abs(rate ?? 0))
  if (mix !== null && rate !== null && mix * rate < 0 && smaller > 0.05 * Math.abs(change ?? 0)) {
    notes.push(
      "Mix and rates pull in opposite directions: the total hides what happens inside the segments (Simpson's paradox).",
    )
  }
  if (segments.some((segment) => segment.segment === OTHER))
    notes.push(`Beyond the ${MOST} largest segments the others are one, "${OTHER}".`)
  return notes
}
