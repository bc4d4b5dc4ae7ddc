/**
 * compare_groups: tells whether groups differ in level, in spread or in their whole distribution; with `paired`, within
 * units.
 *
 * `test: auto` checks what a test of means needs (groups/choose.ts) and chooses Welch's test, which lets variances
 * differ, or ranks. It says which and why. Rows that repeat the units of a column are tested by these units
 * (groups/repeated-units.ts). Spreads are compared by the test of Brown and Forsythe. The sources of the
 * numbers stand in numeric/tests/. DuckDB computes sums, ranks and medians. At most 20,000 values are fetched, only to
 * test their shape or for an exact p.
 */
import type { Column, Doubt } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { welchHolds } from '../numeric/tests/means.ts'
import { FEW, fewRows, leftOut } from '../verdicts/common-doubts.ts'
import { type Meanings, type Measure, measureOf, opening } from '../verdicts/measure.ts'
import { nounsOf, verbFor } from '../verdicts/nouns.ts'
import { type Doubting, type DoubtsBy, doubt, gradeOf, verdict } from '../verdicts/verdict.ts'
import { quoted } from '../verdicts/words.ts'
import { kurtosisOf } from './ab-test/observations.ts'
import { type Choice, chooseByShape } from './groups/choose.ts'
import { compareDistributions } from './groups/distribution.ts'
import { besideNeighbours, groupsInOrder, type InOrder } from './groups/in-order.ts'
import { oneRowDecides, pairDecides } from './groups/influence.ts'
import { compareMeansOf, compareRanks, MOST_PAIRED, sampleOf, type Tested } from './groups/level.ts'
import { compareBlocks, comparePairs, readBlocks } from './groups/paired.ts'
import { repeatedDoubt, repeatedUnits, unitRows } from './groups/repeated-units.ts'
import { type Group, type GroupRows, readGroups } from './groups/rows.ts'
import { compareSpread, distances } from './groups/spread.ts'
import { evidence, headline } from './groups/words.ts'
import { hiddenBetween } from './relations/hidden-group.ts'
import { groupSql, nameSql, numberSql } from './shared/columns.ts'
import { cell, integer, number, pAdjusted, rowsWith, text } from './shared/fields.ts'
import { type Method, MethodError, type Relation } from './shared/method.ts'
import { count, finite } from './shared/sentence.ts'

const LEVEL = ['welch', 'student', 'mann_whitney', 'welch_anova', 'anova', 'kruskal_wallis'] as const
const PAIRED = ['paired_t', 'signed_rank', 'friedman'] as const
const SPREAD = ['brown_forsythe', 'levene', 'bartlett', 'f_variance', 'mood'] as const
/** Tests of spreads that take values for normal. */
const NORMAL_ONLY = new Set(['bartlett', 'f_variance'])
/** Tests of exactly two groups. */
const TWO = new Set(['welch', 'student', 'mann_whitney', 'paired_t', 'signed_rank', 'f_variance', 'mood'])

const Options = Type.Object(
  {
    value: Type.String({ description: 'A number column.' }),
    group: Type.String({ description: 'The column that tells the groups.' }),
    paired: Type.Optional(Type.String({ description: 'The column of the unit that each group measured.' })),
    what: Type.Enum(['level', 'spread', 'distribution'], {
      default: 'level',
      description: 'What is compared: how high, how widely spread, or the whole distribution.',
    }),
    test: Type.Enum(['auto', ...LEVEL, ...PAIRED, ...SPREAD, 'kolmogorov_smirnov'], { default: 'auto' }),
    confidence: Type.Number({ default: 0.95, minimum: 0.5, maximum: 0.9999 }),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>
export type What = Options['what']

/** The fewest values that show a spread. Any two values lie equally far from their middle. */
const LEAST_SPREAD = 3

const NOTHING: Tested = {
  test: 'none',
  name: 'comparison of groups',
  statistic: null,
  df: null,
  df_within: null,
  p: null,
  effect: null,
  effect_size: null,
  pairs: [],
}

interface Answer {
  tested: Tested
  choice: Choice | null
  doubts: Doubting[]
  n: number
}

export const compareGroups: Method = {
  name: 'compare_groups',
  options: Options,
  columns(options) {
    const { value, group, paired } = options as Options
    return [
      { option: 'value', column: value, numeric: true },
      { option: 'group', column: group, numeric: false },
      ...(paired === undefined ? [] : [{ option: 'paired', column: paired, numeric: false }]),
    ]
  },
  prints: () => true,
  fields: {
    what: text,
    test: text,
    reason: text,
    statistic: number,
    df: number,
    df_within: number,
    p: number,
    p_adjusted: pAdjusted,
    effect: text,
    effect_size: number,
    groups: rowsWith({ group: cell, n: integer, mean: number, median: number, sd: number }),
    pairs: rowsWith({ a: cell, b: cell, estimate: number, low: number, high: number, p_adjusted: number }),
    checks: rowsWith({ check: text, group: cell, statistic: number, p: number, holds: Type.Boolean() }),
  },
  async run(whole, options, { meanings }) {
    const given = options as Options
    const what = whatOf(given)
    const all = await readGroups(whole, given.value, given.group)
    const measure = measureOf(meanings, given.value)
    const repeated = given.paired === undefined ? await repeatedIn(all.table, given) : null
    const rows = repeated?.rows ?? all
    const { table } = rows
    const asked = repeated ? { ...given, value: 'v', group: 'g' } : given
    const stop = stopOf(given, what, rows, measure.label)
    const answer = stop
      ? { tested: NOTHING, choice: null, doubts: [stop], n: rows.n }
      : await answerOf(table, asked, { what, measure }, rows)
    const mixed = await hiddenBehind(all.table, given, answer, rows, meanings)
    const { tested: apart, choice } = answer
    const ordered = repeated ? null : await inOrder(table, given, what, answer, rows)
    const tested = ordered && apart.p !== null ? { ...apart, p: Math.max(apart.p, ordered.p) } : apart
    const reason = choice ? `It was chosen because ${choice.because}.` : null
    const told = verdict({
      headline: (grade) =>
        headline(grade, rows, { what, tested, measure, by: measureOf(meanings, given.group).label }),
      grade: gradeOf(tested.p),
      evidence: `${evidence(measure, measureOf(meanings, given.group), answer)}${besideNeighbours(ordered?.p ?? null)}${reason === null ? '' : ` ${reason}`}`,
      doubts: [
        ...mixed,
        ...(ordered?.doubts ?? []),
        // The check of one row assumes independent rows, so it is left out if neighbours decide.
        ...answer.doubts.filter((one) => typeof one !== 'function' || gradeOf(tested.p) === gradeOf(apart.p)),
        ...leftOutOf(all),
        ...(repeated ? [repeated.doubt] : []),
      ],
      mild: tested.p === null ? ['unit_repeated'] : ['too_few', 'unit_repeated'],
    })
    const { name, ...fields } = tested
    return {
      ...told,
      n: repeated ? all.n : answer.n,
      method: name,
      what,
      reason,
      ...fields,
      groups: all.groups.map((group) => listed(group, all.unit)),
      checks: choice?.checks ?? [],
    }
  },
}

/** Returns the observations of the units whose rows repeat, or null if none do. */
async function repeatedIn(
  table: Relation,
  given: Options,
): Promise<{ rows: GroupRows; doubt: Doubt } | null> {
  const group = nameSql(groupSql(table, 'group', given.group))
  const found = await repeatedUnits(table, group, [given.value, given.group])
  if (!found) return null
  const value = numberSql(table, 'value', given.value)
  const columns: Column[] = [
    { name: 'g', type: 'text', database_type: 'VARCHAR' },
    { name: 'v', type: 'number', database_type: 'DOUBLE' },
  ]
  const units = { ...table, relation: unitRows(table, found.column, group, value), columns }
  return {
    rows: await readGroups(units, 'v', 'g'),
    doubt: repeatedDoubt(found),
  }
}

function whatOf({ what, test, paired }: Options): What {
  const asked = (SPREAD as readonly string[]).includes(test)
    ? 'spread'
    : test === 'kolmogorov_smirnov'
      ? 'distribution'
      : test === 'auto'
        ? what
        : 'level'
  if (what !== 'level' && asked !== what)
    throw new MethodError(
      `test: ${test} does not compare the ${what}. Leave \`what\` out, or choose another test.`,
    )
  if (paired !== undefined && asked !== 'level')
    throw new MethodError(
      'paired: pairs are compared in level only. Leave `paired` out, or `what` and `test`.',
    )
  const needs = (PAIRED as readonly string[]).includes(test)
  if (needs && paired === undefined)
    throw new MethodError(
      `test: ${test} needs \`paired\`, the column of the unit that was measured in each group.`,
    )
  if (paired !== undefined && test !== 'auto' && !needs)
    throw new MethodError(`test: ${test} does not go with \`paired\`; paired_t, signed_rank and friedman do.`)
  return asked
}

function stopOf({ value, test }: Options, what: What, { groups, n }: GroupRows, name: string): Doubt | null {
  if (groups.length < 2) {
    const says = `There is not enough to compare ${name}: two groups of two values or more are needed, and there ${groups.length === 1 ? 'is one' : 'are none'}.`
    return doubt('too_few', says)
  }
  if (what === 'spread' && groups.some((group) => group.n < LEAST_SPREAD))
    return doubt(
      'too_few',
      `To compare how widely ${name} ${verbFor(name, 'varies', 'vary')}, each group needs at least ${LEAST_SPREAD} values; ${quoted(groups.find((group) => group.n < LEAST_SPREAD)!.group)} has two.`,
    )
  if (TWO.has(test) && groups.length > 2)
    throw new MethodError(
      `test: ${test} compares two groups, and ${value} has ${groups.length}. Filter them in SQL, or write test: auto.`,
    )
  if (groups.every((group) => group.squares === 0 && group.offset === 0))
    return doubt(
      'constant',
      `${opening(name)} ${verbFor(name)} the same in all ${count(n, 'row')}: there is nothing to compare.`,
    )
  return null
}

/** Tells whether the difference of two means changes within the values of a further column. */
async function hiddenBehind(
  table: Relation,
  { value, group, paired }: Options,
  { tested }: Answer,
  { groups }: GroupRows,
  meanings: Meanings,
): Promise<Doubt[]> {
  const estimate = tested.pairs[0]?.estimate ?? null
  const means = ['welch', 'student'].includes(tested.test)
  if (!means || paired !== undefined || estimate === null || gradeOf(tested.p) === 'unclear') return []
  const strength = Math.sign(estimate) * Math.sqrt(tested.effect_size ?? 0)
  return hiddenBetween(table, { value, by: group, first: groups[0]!.group, strength }, meanings)
}

async function answerOf(
  table: Relation,
  given: Options,
  { what, measure }: { what: What; measure: Measure },
  rows: GroupRows,
): Promise<Answer> {
  const { test, confidence } = given
  if (given.paired !== undefined) return pairedAnswer(table, given, rows, measure)
  const flat = rows.groups.some((group) => group.squares === 0)
  const least = Math.min(...rows.groups.map(({ n }) => n))
  const small = least < FEW ? [fewRows(least, { one: 'row', many: 'rows' })] : []
  if (what === 'distribution') {
    const tested = await compareDistributions(rows)
    return { tested, choice: null, doubts: [...small, ...manyPairs(rows)], n: rows.n }
  }
  if (what === 'spread') {
    const chosen = test === 'auto' || (flat && test !== 'levene') ? 'brown_forsythe' : test
    const doubts = [...small, ...(NORMAL_ONLY.has(chosen) ? await tailsDoubt(rows, chosen) : [])]
    return { tested: await compareSpread(rows, chosen), choice: null, doubts, n: rows.n }
  }
  const choice = test === 'auto' ? await chooseByShape(rows) : null
  const ranks = ['mann_whitney', 'kruskal_wallis'].includes(test) || (choice && !choice.means)
  const doubts = [...small, ...(await spreadDoubt(rows)), ...manyPairs(rows)]
  const decided = (tested: Tested): Promise<DoubtsBy> => oneRowDecides(rows, tested, { measure, confidence })
  // The mean of a group that never varies has no error, so only ranks can judge it.
  if (ranks || flat) {
    const tested = await compareRanks(rows)
    return { tested, choice, doubts: [await decided(tested), ...doubts], n: rows.n }
  }
  const two = rows.groups.length === 2
  const holds = welchHolds(rows.groups.map(sampleOf))
  const means = test === 'auto' ? (two ? 'welch' : holds ? 'welch_anova' : 'anova') : two ? twoOf(test) : test
  const tested = compareMeansOf(rows, means, confidence)
  return { tested, choice, doubts: [await decided(tested), ...doubts], n: rows.n }
}

/** Returns the doubt that the values lie too far out for a test of spreads that takes them for normal. */
async function tailsDoubt({ table, from }: GroupRows, test: string): Promise<Doubt[]> {
  const kurtosis = await kurtosisOf(table, from, 1)
  if (kurtosis === null || kurtosis <= 3) return []
  return [
    doubt(
      'tails_heavy',
      `A few values lie far from the rest, and test: ${test} takes values for normal; brown_forsythe does not.`,
    ),
  ]
}

const twoOf = (test: string): string => (['student', 'anova'].includes(test) ? 'student' : 'welch')

async function pairedAnswer(
  table: Relation,
  given: Options,
  rows: GroupRows,
  measure: Measure,
): Promise<Answer> {
  const nouns = nounsOf(given.paired!)
  const { test, confidence, group } = given
  if (test === 'friedman' && rows.groups.length < 3)
    throw new MethodError(
      'test: friedman compares three groups or more; paired_t and signed_rank compare two.',
    )
  const value = numberSql(table, 'value', given.value)
  const blocks = await readBlocks(rows, { value, unit: given.paired!, group })
  if (blocks.n < 2) {
    const says = `${blocks.n === 0 ? 'No' : 'Only one'} ${nouns.one} has values in every group, and two are needed.`
    return { tested: NOTHING, choice: null, doubts: [doubt('too_few', says)], n: blocks.n }
  }
  const few = `Only ${count(blocks.n, nouns.one, nouns.many)} have values in every group: too few to show how much these vary, so repeat this with more.`
  const left = [
    ...(blocks.n < FEW ? [doubt('too_few', few)] : []),
    ...leftOut(blocks.left, 'without a value in every group', nouns),
  ]
  if (blocks.names.length > 2)
    return { tested: await compareBlocks(blocks), choice: null, doubts: left, n: blocks.n }
  const { tested, choice, ends } = await comparePairs(blocks, test, confidence)
  const decided: DoubtsBy = (factor) => pairDecides(ends, { nouns, measure, confidence }, factor)
  return { tested, choice, doubts: [decided, ...left], n: blocks.n }
}

async function spreadDoubt(rows: GroupRows): Promise<Doubt[]> {
  if (rows.groups.some(({ n }) => n < LEAST_SPREAD)) return []
  const { p } = await distances(rows, 'median(v)')
  if (!(p < 0.01)) return []
  return [
    doubt(
      'variances_unequal',
      'The groups spread differently, so a difference holds for the average of a group and not for each of its values.',
    ),
  ]
}

function manyPairs({ groups }: GroupRows): Doubt[] {
  if (groups.length < 3) return []
  const says =
    groups.length > MOST_PAIRED
      ? `The ${groups.length} groups are compared as a whole; pairs are listed up to ${MOST_PAIRED} groups.`
      : 'The comparisons of pairs are corrected for their number.'
  return [doubt('many_tests', says)]
}

/**
 * Judges the groups as stretches of a series. It applies only to levels, and only without pairs, because pairs already
 * compare like with like.
 */
async function inOrder(
  table: Relation,
  { value, group, paired }: Options,
  what: What,
  { tested }: Answer,
  { groups }: GroupRows,
): Promise<InOrder | null> {
  if (what !== 'level' || paired !== undefined || tested.p === null) return null
  const name = nameSql(groupSql(table, 'group', group))
  return groupsInOrder(table, [name, numberSql(table, 'value', value)], groups)
}

function leftOutOf({ left, single, beyond }: GroupRows): Doubt[] {
  return [
    ...beyond,
    ...leftOut(left, 'without a group or a number'),
    ...leftOut(single, 'of a single value', { one: 'group', many: 'groups' }),
  ]
}

function listed(group: Group, unit: number) {
  return {
    group: group.group,
    n: group.n,
    mean: finite(group.mean * unit),
    median: finite(group.median * unit),
    sd: finite(Math.sqrt(group.squares / (group.n - 1)) * unit),
  }
}
