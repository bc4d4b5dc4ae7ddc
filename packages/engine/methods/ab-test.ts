/**
 * ab_test: each arm against the control.
 *
 * Means (`value`): Welch's t test with Satterthwaite's degrees of freedom, as R's t.test. Rates (`success`): Newcombe's
 * interval for a difference (Statistics in Medicine 17, 1998, 873-890, method 10), the pooled z test (prop.test without
 * correction); Fisher's exact test where an expected count is under 5. With `unit` the rows of one unit are one
 * observation, their mean. Without it, rows that repeat the units of a column are tested by these units. Holm over the arms: p-values and intervals are both adjusted, and agree. The split is
 * checked against the planned shares by chi-square. `detectable` is the smallest difference that arms of this size find
 * with 80 % power by the test that was used. ab-test/observations.ts says how many rows are fetched.
 */
import type { Doubt } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { leftOut } from '../verdicts/common-doubts.ts'
import { opening } from '../verdicts/measure.ts'
import { nounsOf } from '../verdicts/nouns.ts'
import { doubt, verdict } from '../verdicts/verdict.ts'
import { amount, quoted } from '../verdicts/words.ts'
import { gradeAt } from './ab-test/influence.ts'
import { type Observations, type ObservedArm, observe, observeUnits } from './ab-test/observations.ts'
import { caveats, evidence, headline, measured, oneDecides, raisedBy, type Told } from './ab-test/words.ts'
import { type RepeatedUnits, repeatedDoubt, repeatedUnits } from './groups/repeated-units.ts'
import { type Comparison, compareMeans, compareRates } from './shared/arms.ts'
import { groupSql } from './shared/columns.ts'
import { integer, number, pAdjusted, rowsWith, text, whereGiven } from './shared/fields.ts'
import { type Method, MethodError } from './shared/method.ts'
import { holm } from './shared/multiplicity.ts'
import { count, enumeration, thereAre } from './shared/sentence.ts'
import { Shares, splitDoubt, splitOf } from './shared/split.ts'

const Options = Type.Object(
  {
    group: Type.String({ description: 'The column that names the arm.' }),
    value: Type.Optional(Type.String({ description: 'A number column, for a difference of means.' })),
    success: Type.Optional(
      Type.String({ description: 'A boolean or 0/1 column, for a difference of rates.' }),
    ),
    unit: Type.Optional(
      Type.String({
        description:
          'The column that names who was drawn, such as a user. Rows of one unit are one observation.',
      }),
    ),
    control: Type.Optional(Type.String({ description: 'The arm that the others are compared with.' })),
    planned: Type.Optional(
      Type.Union([Type.Enum(['none']), Shares], {
        description:
          'The planned share of each arm; equal ones unless given. `none`: the groups were not drawn by chance.',
      }),
    ),
    test: Type.Enum(['auto', 'welch', 'proportions', 'fisher'], { default: 'auto' }),
    confidence: Type.Number({ exclusiveMinimum: 0.5, exclusiveMaximum: 1, default: 0.95 }),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

export const abTest: Method = {
  name: 'ab_test',
  options: Options,
  either: [[['value'], ['success']]],
  columns(options) {
    const { group, value, success, unit } = options as Options
    return [
      { option: 'group', column: group, numeric: false },
      ...(value === undefined ? [] : [{ option: 'value', column: value, numeric: true }]),
      ...(success === undefined ? [] : [{ option: 'success', column: success, numeric: false }]),
      ...(unit === undefined ? [] : [{ option: 'unit', column: unit, numeric: false }]),
    ]
  },
  prints: () => true,
  fields: {
    arms: rowsWith({
      name: text,
      n: integer,
      ...whereGiven('value', { mean: number }),
      ...whereGiven('success', { rate: number }),
      sd: number,
    }),
    comparisons: rowsWith({
      arm: text,
      estimate: number,
      low: number,
      high: number,
      statistic: number,
      df: number,
      p: number,
      p_adjusted: number,
      detectable: number,
      test: text,
    }),
    sample_ratio_p: number,
    control: text,
    p_adjusted: pAdjusted,
  },
  async run(table, options, context) {
    const given = options as Options
    const rates = given.success !== undefined
    checkOptions(given)
    const rows = await observe(table, given)
    const repeated =
      given.unit === undefined
        ? await repeatedUnits(
            table,
            groupSql(table, 'group', given.group),
            abTest.columns(given).map(({ column }) => column),
          )
        : null
    const seen = repeated ? await observeUnits(table, given, repeated.column) : rows
    const { arms } = seen
    const randomised = given.planned !== 'none'
    const split = splitOf(seen.split, given.planned === 'none' ? undefined : given.planned)
    const control = controlOf(arms, given.control)
    const nouns = repeated?.nouns ?? (given.unit === undefined ? ROWS : nounsOf(given.unit))
    const comparisons = (control ? compareAll(seen, control, given) : []).map((one) =>
      repeated ? { ...one, test: `${one.test} by ${nouns.one}` } : one,
    )
    const measure = measured(context.meanings, given.success ?? given.value!, rates)
    const told: Told | null = control
      ? { ...given, measure, rates, randomised, control, arms, comparisons, factor: 1, nouns }
      : null
    const stops = [...(randomised ? splitDoubt(split, nouns) : []), ...stopsOf(given, seen, nouns, told)]
    const usable = told !== null && comparisons.length > 0
    const outcome = verdict({
      headline: usable ? (grade, factor) => headline(raisedBy(told, factor), grade) : '',
      grade: lowest(comparisons, given.confidence),
      evidence: usable ? evidence(told) : `${count(total(rows.arms), 'row')}.`,
      doubts: [
        ...stops,
        ...rowsOf(rows, repeated, nouns),
        ...(usable ? [(factor: number) => oneDecides(raisedBy(told, factor))] : []),
        ...(usable ? caveats(told, seen.kurtosis) : []),
      ],
      mild: mildOf(rows, seen, comparisons),
    })
    const methods = [...new Set(comparisons.map((comparison) => comparison.test))].join('; ')
    return {
      ...outcome,
      n: total(rows.arms),
      method: methods === '' ? 'difference from the control' : methods,
      arms: rows.arms.map(({ name, n, mean, sd, rate }) => ({
        name,
        n,
        ...(rates ? { rate: rate ?? mean } : { mean }),
        sd,
      })),
      comparisons,
      sample_ratio_p: randomised ? split.p : null,
      control: control?.name ?? null,
    }
  },
}

const ROWS = { one: 'row', many: 'rows' }

const total = (arms: readonly ObservedArm[]): number => arms.reduce((sum, arm) => sum + arm.n, 0)

function checkOptions({ value, success, test }: Options): void {
  const rates = success !== undefined
  if (rates === (value !== undefined)) {
    throw new MethodError(
      'ab_test needs either `value`, a number column, or `success`, a boolean or 0/1 column.',
    )
  }
  if (rates ? test === 'welch' : test === 'proportions' || test === 'fisher') {
    throw new MethodError(`test: "${test}" does not go with \`${rates ? 'success' : 'value'}\`.`)
  }
}

function controlOf(arms: readonly ObservedArm[], wanted: string | undefined): ObservedArm | undefined {
  if (wanted === undefined) return arms.find((arm) => arm.name.toLowerCase() === 'control') ?? arms[0]
  return arms.find((arm) => arm.name === wanted)
}

/**
 * Compares each arm with the control. With several arms the intervals have the levels of Holm's correction, as the
 * p-values do.
 */
function compareAll(seen: Observations, control: ObservedArm, given: Options): Comparison[] {
  const others = seen.arms.filter((arm) => arm !== control)
  const compared = (arm: ObservedArm, confidence: number): Comparison =>
    seen.binary ? compareRates(control, arm, confidence, given.test) : compareMeans(control, arm, confidence)
  const first = others.map((arm) => compared(arm, given.confidence))
  const known = first.flatMap(({ p }, index) => (p === null ? [] : [{ p, index }]))
  const adjusted = holm(known.map(({ p }) => p))
  const alpha = 1 - given.confidence
  for (const [place, { p, index }] of known.entries()) {
    const p_adjusted = adjusted[place]!
    // A rejected arm has the level of its own step of Holm's correction. The others have Bonferroni's level.
    const factor = p_adjusted <= alpha && p > 0 ? p_adjusted / p : known.length
    const again = known.length === 1 ? first[index]! : compared(others[index]!, 1 - alpha / factor)
    first[index] = { ...again, p, p_adjusted }
  }
  return first
}

/** Returns the grade of the surest difference. */
function lowest(comparisons: readonly Comparison[], confidence: number) {
  const values = comparisons.flatMap(({ p_adjusted }) => (p_adjusted === null ? [] : [p_adjusted]))
  return gradeAt(values.length === 0 ? null : Math.min(...values), confidence)
}

/** Returns the doubts that forbid any claim. The doubt about the split is added elsewhere. */
function stopsOf(
  given: Options,
  seen: Observations,
  { one, many }: Told['nouns'],
  told: Told | null,
): Doubt[] {
  const { arms, across } = seen
  const stops: Doubt[] = []
  if (across > 0)
    stops.push(
      doubt(
        'unit_repeated',
        `${count(across, one, many)} ${across === 1 ? 'is' : 'are'} in more than one group, so nobody can say which version they saw. Mend the assignment before reading any result.`,
      ),
    )
  if (arms.length < 2)
    stops.push(doubt('too_few', `${thereAre(arms.length, 'group')} with values; a test needs at least two.`))
  else if (!told)
    stops.push(
      doubt(
        'too_few',
        `The control, ${quoted(given.control)}, has no values; there are ${enumeration(arms.slice(0, 5).map(({ name }) => quoted(name)))}.`,
      ),
    )
  else if (told.comparisons.every(({ p }) => p === null))
    stops.push(doubt('too_few', `The groups have fewer than two ${many} each; a test needs at least two.`))
  else if (arms.every(({ min, max }) => min === arms[0]!.min && max === arms[0]!.min))
    stops.push(
      doubt(
        'constant',
        `${opening(told.measure.label)} is the same in every group: all values are ${amount(arms[0]!.min, told.measure)}.`,
      ),
    )
  else if (
    arms.every(({ min, max }) => min === max) &&
    lowest(told.comparisons, given.confidence) === 'unclear'
  )
    stops.push(
      doubt(
        'too_few',
        'Inside each group all values are the same, and the groups are too small to rule out chance.',
      ),
    )
  return stops
}

/** Returns the codes of blockers that count as caveats only. */
function mildOf(rows: Observations, seen: Observations, comparisons: readonly Comparison[]) {
  return [
    ...(rows.across === 0 ? (['unit_repeated'] as const) : []),
    ...(comparisons.some(({ p }) => p !== null) && seen.arms.some(({ min, max }) => min !== max)
      ? (['too_few'] as const)
      : []),
  ]
}

function rowsOf(seen: Observations, repeated: RepeatedUnits | null, { one, many }: Told['nouns']): Doubt[] {
  const lack = 'without a group or a value'
  if (repeated)
    return [
      ...leftOut(seen.left, lack),
      repeatedDoubt(repeated, `If the ${many} were drawn, name the column under \`unit\`.`),
    ]
  const n = Object.values(seen.split).reduce((sum, units) => sum + units, 0)
  const found = leftOut(seen.left, lack, { one, many })
  if (seen.rows !== null && seen.rows > n && seen.across === 0)
    found.push(
      doubt(
        'unit_repeated',
        `${count(seen.rows, 'row')} belong to ${count(n, one, many)}. The test counts each ${one} once, by its mean.`,
      ),
    )
  return found
}
