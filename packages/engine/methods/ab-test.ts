/**
 * ab_test: each arm against the control.
 *
 * Means (`value`): Welch's t test with Satterthwaite's degrees of freedom, as R's t.test. Rates (`success`): Newcombe's
 * interval for a difference (Statistics in Medicine 17, 1998, 873-890, method 10), the pooled z test (prop.test without
 * correction); Fisher's exact test where an expected count is under 5. Holm over the arms. The split is checked against
 * equal shares by chi-square. `detectable` is the smallest difference that arms of this size find with 80% power. One row
 * for each arm is fetched, at most 50.
 */
import Type, { type Static } from 'typebox'
import { chiSquareUpper } from '../numeric/distributions.ts'
import { type Arm, type Comparison, compareMeans, compareRates } from './shared/arms.ts'
import { columnOf, groupSql, numberSql } from './shared/columns.ts'
import { integer, number, pAdjusted, rowsWith, text, whereGiven } from './shared/fields.ts'
import { type Method, MethodError, quote, type Relation } from './shared/method.ts'
import { groupMoments } from './shared/moments.ts'
import { holm } from './shared/multiplicity.ts'
import { count, enumeration, figure, finite, label, percent, probability, signed } from './shared/sentence.ts'

const Options = Type.Object(
  {
    group: Type.String({ description: 'The column that names the arm.' }),
    value: Type.Optional(Type.String({ description: 'A number column, for a difference of means.' })),
    success: Type.Optional(
      Type.String({ description: 'A boolean or 0/1 column, for a difference of rates.' }),
    ),
    control: Type.Optional(Type.String({ description: 'The arm that the others are compared with.' })),
    test: Type.Enum(['auto', 'welch', 'proportions', 'fisher'], { default: 'auto' }),
    confidence: Type.Number({ exclusiveMinimum: 0.5, exclusiveMaximum: 1, default: 0.95 }),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

export const abTest: Method = {
  name: 'ab_test',
  options: Options,
  columns(options) {
    const { group, value, success } = options as Options
    return [
      { option: 'group', column: group, numeric: false },
      ...(value === undefined ? [] : [{ option: 'value', column: value, numeric: true }]),
      ...(success === undefined ? [] : [{ option: 'success', column: success, numeric: false }]),
    ]
  },
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
  async run(table, options) {
    const given = options as Options
    const rates = given.success !== undefined
    if (rates === (given.value !== undefined)) {
      throw new MethodError(
        'ab_test needs either `value`, a number column, or `success`, a boolean or 0/1 column.',
      )
    }
    if (rates ? given.test === 'welch' : given.test === 'proportions' || given.test === 'fisher') {
      throw new MethodError(`test: "${given.test}" does not go with \`${rates ? 'success' : 'value'}\`.`)
    }
    const { arms, left } = await armsOf(table, given)
    const control = controlOf(arms, given.control)
    const notes = left > 0 ? [`${count(left, 'row')} without an arm or a value left out.`] : []
    const n = arms.reduce((sum, arm) => sum + arm.n, 0)
    const ratio = sampleRatio(arms)
    const common = {
      n,
      method: 'difference from the control',
      sample_ratio_p: ratio,
      control: control?.name ?? null,
    }
    const listed = arms.map(({ name, n, mean, sd, rate }) => ({
      name,
      n,
      ...(rates ? { rate } : { mean }),
      sd,
    }))
    if (arms.length < 2 || !control) {
      const names = arms.slice(0, 5).map((arm) => label(arm.name))
      const reason =
        arms.length < 2
          ? `${count(arms.length, 'arm')} with ${count(n, 'row')}, and two arms are needed`
          : `the control, ${label(given.control)}, has no rows; there are ${enumeration(names)}`
      return {
        ...common,
        summary: `Not enough data for a test: ${reason}.`,
        notes,
        arms: listed,
        comparisons: [],
      }
    }
    const comparisons = arms
      .filter((arm) => arm !== control)
      .map((arm) =>
        rates
          ? compareRates(control, arm, given.confidence, given.test)
          : compareMeans(control, arm, given.confidence),
      )
    const known = comparisons.filter((comparison) => comparison.p !== null)
    const adjusted = holm(known.map((comparison) => comparison.p!))
    for (const [index, comparison] of known.entries()) comparison.p_adjusted = adjusted[index]!
    return {
      ...common,
      method: [...new Set(comparisons.map((comparison) => comparison.test))].join('; '),
      summary: sentence(given, control, comparisons, n),
      notes: [...notes, ...notesOf(arms, comparisons, ratio, given)],
      arms: listed,
      comparisons,
    }
  },
}

async function armsOf(table: Relation, given: Options): Promise<{ arms: Arm[]; left: number }> {
  const group = groupSql(table, 'group', given.group)
  const value =
    given.success === undefined ? numberSql(table, 'value', given.value!) : successSql(table, given.success)
  const { groups, unit, left } = await groupMoments(table, group, value, 50)
  const arms = groups.map(({ group: name, n, mean, squares }): Arm => {
    const sd = n > 1 ? finite(Math.sqrt(squares / (n - 1)) * unit) : null
    if (given.success === undefined)
      return { name, n, mean: finite(mean * unit), sd, successes: null, rate: null }
    const successes = Math.round(mean * unit * n)
    return { name, n, mean: null, sd, successes, rate: successes / n }
  })
  if (given.success !== undefined) {
    const [odd] = await table.query(
      `select count(*) as n from ${table.relation} where ${value} not in (0, 1)`,
    )
    if ((odd!.n as number) > 0) {
      throw new MethodError(`success: column "${given.success}" holds numbers other than 0 and 1.`)
    }
  }
  return { arms, left }
}

function successSql(table: Relation, name: string): string {
  const column = columnOf(table, 'success', name)
  return column.type === 'boolean'
    ? `cast(${quote(column.name)} as double)`
    : numberSql(table, 'success', name)
}

function controlOf(arms: readonly Arm[], wanted: string | undefined): Arm | undefined {
  if (wanted === undefined) return arms.find((arm) => arm.name.toLowerCase() === 'control') ?? arms[0]
  return arms.find((arm) => arm.name === wanted)
}

/** The probability of a split at least this uneven if the arms were drawn with equal odds (chi-square). */
function sampleRatio(arms: readonly Arm[]): number | null {
  if (arms.length < 2) return null
  const expected = arms.reduce((sum, arm) => sum + arm.n, 0) / arms.length
  const statistic = arms.reduce((sum, arm) => sum + (arm.n - expected) ** 2 / expected, 0)
  return chiSquareUpper(statistic, arms.length - 1)
}

function sentence(given: Options, control: Arm, comparisons: readonly Comparison[], n: number): string {
  const found = comparisons.filter(
    (comparison) => comparison.p_adjusted !== null && comparison.p_adjusted < 1 - given.confidence,
  )
  const named = found.length === 0 && comparisons.length === 1 ? comparisons : found
  const names = named.slice(0, 3).map((comparison) => label(comparison.arm))
  if (named.length > 3) names.push(`${named.length - 3} more`)
  const rates = given.success !== undefined
  const what = rates ? 'rate' : `mean ${given.value}`
  const base = rates
    ? control.rate !== null && control.rate < 0.01
      ? `${figure(control.rate * 100)}%`
      : percent(control.rate)
    : figure(control.mean)
  const other = `that of ${label(control.name)} (${base})`
  const verdict =
    names.length === 0
      ? `No ${what} differs detectably from ${other}`
      : names.length > 1
        ? `The ${rates ? 'rates' : `means of ${given.value}`} of ${enumeration(names)} differ from ${other}`
        : found.length === 0
          ? `The ${what} of ${names[0]} does not differ detectably from ${other}`
          : `The ${what} of ${names[0]} differs from ${other}`
  const single = comparisons.length === 1
  const told = comparisons
    .slice(0, 3)
    .map(
      (comparison) => `${single ? '' : `${label(comparison.arm)}: `}${difference(given, comparison, single)}`,
    )
  const more = comparisons.length > 3 ? `; and ${count(comparisons.length - 3, 'further arm')}` : ''
  return `${verdict}${single ? ': ' : '. '}${told.join('; ')}${more} (n = ${count(n, 'row')}).`
}

/** "+1.8 points (95% interval +1.3 to +2.3, p = 0.01)". */
function difference(
  given: Options,
  { estimate, low, high, p_adjusted }: Comparison,
  single: boolean,
): string {
  if (estimate === null) return 'too few rows to compare'
  const rates = given.success !== undefined
  const half = low === null || high === null ? estimate : (high - low) / 2
  const shown = (value: number | null) =>
    rates ? signed(value! * 100, half < 0.001 ? half * 100 : 1) : signed(value, half)
  const confidence = `${+(given.confidence * 100).toPrecision(4)}%`
  const interval = low === null ? '' : `${confidence} interval ${shown(low)} to ${shown(high)}, `
  return `${shown(estimate)}${rates ? ' points' : ''} (${interval}${probability(p_adjusted)}${single ? '' : ' adjusted'})`
}

function notesOf(
  arms: readonly Arm[],
  comparisons: readonly Comparison[],
  ratio: number | null,
  given: Options,
): string[] {
  const notes: string[] = []
  if (ratio !== null && ratio < 0.001) {
    notes.push(
      `The arms are not of equal size (${arms
        .slice(0, 5)
        .map((arm) => `${label(arm.name)} ${arm.n}`)
        .join(
          ', ',
        )}; ${probability(ratio)}). If the split was meant to be even, something is wrong with it, and the result is not to be trusted.`,
    )
  }
  if (given.control === undefined && !arms.some((arm) => arm.name.toLowerCase() === 'control')) {
    notes.push(`No control was named; "${label(arms[0]!.name)}" is taken as it.`)
  }
  if (given.success === undefined && arms.some((arm) => arm.n < 30)) {
    notes.push('An arm has under 30 rows: the t test then leans on values that are nearly normal.')
  }
  for (const { arm, detectable, p_adjusted } of comparisons) {
    if (detectable !== null && p_adjusted !== null && p_adjusted >= 1 - given.confidence) {
      const size = given.success === undefined ? figure(detectable) : `${figure(detectable * 100)} points`
      notes.push(
        `${label(arm)}: with these sizes a difference of ${size} would be found 4 times in 5; a smaller one may well be there.`,
      )
    }
  }
  return notes
}
