/**
 * anova: one-way analysis of variance. F = (SSB / (k - 1)) / (SSW / (n - k)), Fisher (1925); eta squared (`r_squared`)
 * is SSB / (SSB + SSW). With `test: auto` Welch's form decides if the spreads of the groups differ (Brown-Forsythe, p
 * below 0.05), and the insight says so. `f` and `p` are Fisher's, `welch` is Welch's. Up to 12 groups are compared in
 * pairs after Tukey or Games and Howell. Sums are exact, about shifts (moments.ts). Groups without any spread are
 * judged by a permutation test. One row for each group is fetched, at most 10,000.
 */
import type { Doubt, Grade } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { fUpper } from '../numeric/distributions.ts'
import { logGamma } from '../numeric/gamma.ts'
import { exactSum } from '../numeric/sum.ts'
import { classicAnova, gamesHowell, tukey, welchAnova, welchHolds } from '../numeric/tests/means.ts'
import { FEW, fewRows, leftOut } from '../verdicts/common-doubts.ts'
import { type Meanings, type Measure, measureOf, opening } from '../verdicts/measure.ts'
import { verbFor } from '../verdicts/nouns.ts'
import { type Doubting, type DoubtsBy, doubt, gradeOf, stopped, verdict } from '../verdicts/verdict.ts'
import { amount, CERTAINTY, partNamed, quoted } from '../verdicts/words.ts'
import { besideNeighbours, groupsInOrder } from './groups/in-order.ts'
import { oneRowMoves } from './groups/influence.ts'
import { compareMeansOf, MOST_PAIRED, type Pair, pairsOf, sampleOf } from './groups/level.ts'
import { repeatedDoubt, repeatedUnits, unitRows } from './groups/repeated-units.ts'
import { hiddenBetween } from './relations/hidden-group.ts'
import { groupedColumns, groupSql, nameSql, numberSql } from './shared/columns.ts'
import { cell, integer, number, object, pAdjusted, rowsWith, text } from './shared/fields.ts'
import type { Method, Relation } from './shared/method.ts'
import {
  type Grouped,
  type GroupMoments,
  groupMoments,
  MOST_WRITTEN,
  momentsOfDistances,
  ofEachGroup,
} from './shared/moments.ts'
import { count, figure, finite, percent, probability } from './shared/sentence.ts'
import { double } from './shared/sums.ts'

const Options = Type.Object(
  {
    value: Type.String(),
    by: Type.String(),
    test: Type.Enum(['auto', 'classic', 'welch'], { default: 'auto' }),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

const NOTHING = {
  f: null,
  p: null,
  df_between: null,
  df_within: null,
  ss_between: null,
  ss_within: null,
  ms_between: null,
  ms_within: null,
  r_squared: null,
  residual_sd: null,
}
const NO_TEST = {
  test: null,
  reason: null,
  welch: { f: null, df_between: null, df_within: null, p: null },
  pairs: [],
}

export const anova: Method = {
  name: 'anova',
  options: Options,
  columns: groupedColumns,
  prints: () => true,
  fields: {
    f: number,
    p: number,
    p_adjusted: pAdjusted,
    r_squared: number,
    df_between: integer,
    df_within: integer,
    ss_between: number,
    ss_within: number,
    ms_between: number,
    ms_within: number,
    residual_sd: number,
    test: text,
    reason: text,
    welch: object({ f: number, df_between: integer, df_within: number, p: number }),
    groups: rowsWith({ group: cell, n: integer, mean: number, sd: number }),
    pairs: rowsWith({ a: cell, b: cell, estimate: number, low: number, high: number, p_adjusted: number }),
  },
  async run(table, options, { meanings }) {
    const { value, by, test } = options as Options
    const group = groupSql(table, 'by', by)
    const grouped = await groupMoments(table, group, numberSql(table, 'value', value))
    const { groups, unit, left } = grouped
    const n = groups.reduce((sum, one) => sum + one.n, 0)
    const listed = groups.map((one) => ({
      group: one.group,
      n: one.n,
      mean: finite(one.mean * unit),
      sd: one.n > 1 ? finite(Math.sqrt(one.squares / (one.n - 1)) * unit) : null,
    }))
    const label = measureOf(meanings, value).label
    const lost = leftOut(left, 'without a group or a number')
    const stop = stopOf(grouped, n, label)
    if (stop) {
      const told = stopped(`${count(n, 'value')} of ${value}.`, stop, lost)
      const fields = groups.length < 2 || n <= groups.length ? NOTHING : fieldsOf(grouped, n)
      return { ...told, n, method: 'one-way analysis of variance', ...fields, ...NO_TEST, groups: listed }
    }
    const alike = groups.every(({ low, high }) => low === high)
    const fields = { ...fieldsOf(grouped, n), ...(alike ? { p: orderedByChance(groups) } : {}) }
    const unequal = await spreadP(table, group, numberSql(table, 'value', value), unit)
    const asIf = judge(grouped, test, unequal, fields)
    const ordered = alike
      ? null
      : await groupsInOrder(table, [group, numberSql(table, 'value', value)], groups)
    const byUnit = alike ? null : await judgedByUnit(table, options as Options, label)
    // The field `p` is Fisher's, whichever test decides.
    const decided = byUnit?.p === null ? 1 : decisive(asIf.p, ordered?.p ?? null, byUnit?.p ?? null)
    const judged = { ...asIf, grade: gradeOf(decided) }
    const told = verdict({
      headline: headline(grouped, measureOf(meanings, value), measureOf(meanings, by).label),
      grade: judged.grade,
      evidence:
        evidence([value, by], meanings, n, fields, judged) +
        besideNeighbours(ordered?.p ?? null) +
        (byUnit ? ` By ${byUnit.one} ${probability(byUnit.p)}.` : ''),
      doubts: [
        ...(alike
          ? [noSpread(label, judged.grade)]
          : await lookedThrough(table, grouped, judged, options as Options, meanings)),
        ...(ordered?.doubts ?? []),
        ...(byUnit?.doubts ?? []),
        ...lost,
        ...doubtsOf(grouped, unequal, judged.pairs.length),
      ],
      mild: alike ? ['constant'] : ['constant', 'too_few', 'unit_repeated'],
      decided,
    })
    const { test: taken, reason, welch, pairs } = judged
    return {
      ...told,
      n,
      method: NAMES[taken],
      ...fields,
      test: taken,
      reason,
      welch,
      pairs,
      groups: listed,
    }
  },
}

/** Returns the largest p, which decides. */
function decisive(own: number | null, ...others: (number | null)[]): number | null {
  return own === null ? null : Math.max(own, ...others.filter((p) => p !== null))
}

/** Judges the means of units whose rows repeat; null if none do. `p` is null if too few units are left. */
async function judgedByUnit(
  table: Relation,
  { value, by, test }: Options,
  label: string,
): Promise<{ p: number | null; one: string; doubts: Doubt[] } | null> {
  const [group, number] = [groupSql(table, 'by', by), numberSql(table, 'value', value)]
  const found = await repeatedUnits(table, group, [value, by])
  if (!found) return null
  const units = { ...table, relation: unitRows(table, found.column, group, number) }
  const grouped = await groupMoments(units, 'g', 'v')
  const n = grouped.groups.reduce((sum, one) => sum + one.n, 0)
  const judged = stopOf(grouped, n, label)
    ? null
    : judge(grouped, test, await spreadP(units, 'g', 'v', grouped.unit), fieldsOf(grouped, n))
  return { p: judged?.p ?? null, one: found.nouns.one, doubts: [repeatedDoubt(found)] }
}

const NAMES = { classic: 'one-way analysis of variance', welch: "Welch's analysis of variance" }

function stopOf({ groups }: Grouped, n: number, label: string): Doubt | null {
  if (groups.length < 2 || n <= groups.length) {
    const says = `There is not enough to compare ${label}: ${count(groups.length, 'group')} with ${count(n, 'value')}; two groups are needed, and more values than groups.`
    return doubt('too_few', says)
  }
  const flat = groups.every((group) => group.squares === 0 && group.offset === 0)
  return flat
    ? doubt('constant', `${opening(label)} ${verbFor(label)} the same in every row, whatever the group.`)
    : null
}

interface Judged {
  test: 'classic' | 'welch'
  reason: string | null
  welch: { f: number | null; df_between: number | null; df_within: number | null; p: number | null }
  pairs: Pair[]
  grade: Grade
  p: number | null
}

function judge(
  { groups, unit }: Grouped,
  asked: Options['test'],
  unequal: number | null,
  classic: { f: number | null; p: number | null },
): Judged {
  const samples = groups.map(sampleOf)
  const able = samples.every((one) => one.n > 1 && one.squares > 0)
  const found = able ? welchAnova(samples) : null
  const welch = found
    ? {
        f: finite(found.f),
        df_between: found.df_between,
        df_within: finite(found.df_within),
        p: finite(found.p),
      }
    : NO_TEST.welch
  const differ = unequal !== null && unequal < 0.05
  const large = able && welchHolds(samples)
  const test = able && (asked === 'welch' || (asked === 'auto' && differ && large)) ? 'welch' : 'classic'
  const reason =
    asked === 'auto'
      ? differ
        ? able
          ? large
            ? 'It was chosen because the groups spread differently.'
            : "The groups are too small for Welch's test, which lets spreads differ."
          : 'A group without spread leaves no other test of means.'
        : 'It was chosen because the groups spread alike.'
      : asked === test
        ? null
        : 'A group without spread leaves no other test of means.'
  const compared =
    groups.length > MOST_PAIRED || (test === 'classic' && classic.f === null)
      ? []
      : (test === 'welch' ? gamesHowell : tukey)(samples, 0.95)
  const pairs = pairsOf(groups, unit, compared)
  const p = test === 'welch' ? welch.p : classic.p
  return { test, reason, welch, pairs, grade: gradeOf(p), p }
}

/**
 * Returns the chance that groups drawn at random from these values all have no spread: the permutation test of Fisher
 * and Pitman in closed form. It is an upper bound if several groups share a value.
 */
function orderedByChance(groups: readonly GroupMoments[]): number {
  const alike = Map.groupBy(groups, ({ low }) => low)
  const sums = [...alike.values()].map((own) => own.reduce((sum, { n }) => sum + n, 0))
  const n = sums.reduce((sum, one) => sum + one, 0)
  const sizes = [...Map.groupBy(groups, (one) => one.n).values()]
  // The number of ways to give the values to the groups. A value fits only a group of its size.
  const ways =
    alike.size === groups.length
      ? sizes.reduce((sum, own) => sum + logGamma(own.length + 1), 0)
      : groups.length * Math.log(alike.size)
  const arranged = sums.reduce((sum, size) => sum + logGamma(size + 1), 0) - logGamma(n + 1)
  return Math.min(1, Math.exp(ways + arranged))
}

function noSpread(label: string, grade: Grade): Doubt {
  if (grade === 'unclear')
    return doubt(
      'too_few',
      'Inside each group all values are the same, and the groups are too small to rule out chance.',
    )
  return doubt(
    'constant',
    `Inside each group every value of ${label} is the same, which measurements seldom are: check that the rows were measured one by one.`,
  )
}

/** Returns the doubts that one row decides, and for two groups that a further column hides the difference. */
async function lookedThrough(
  table: Relation,
  { groups, unit }: Grouped,
  { test, grade, p }: Judged,
  { value, by }: Options,
  meanings: Meanings,
): Promise<Doubting[]> {
  const two = groups.length === 2
  const name = test === 'welch' ? (two ? 'welch' : 'welch_anova') : two ? 'student' : 'anova'
  const tested = compareMeansOf({ groups, unit }, name, 0.95)
  const asked = { measure: measureOf(meanings, value), confidence: 0.95 }
  const moves = oneRowMoves({ groups, unit }, tested, asked)
  // The check of one row assumes independent rows, so it is left out if neighbours decide.
  const independent = grade === gradeOf(p)
  const decided: DoubtsBy = (factor) =>
    independent ? [...alone(groups, test, p, factor), ...moves(factor)].slice(0, 1) : []
  if (!two || grade === 'unclear') return [decided]
  const strength = Math.sign(tested.pairs[0]!.estimate ?? 0) * Math.sqrt(tested.effect_size ?? 0)
  const first = groups[0]!.group
  return [decided, ...(await hiddenBetween(table, { value, by, first, strength }, meanings))]
}

/**
 * Tells whether the other groups still differ without a group of one row. A claim that needs that group is a claim
 * about its row.
 */
function alone(
  groups: readonly GroupMoments[],
  test: Judged['test'],
  p: number | null,
  factor: number,
): Doubt[] {
  const grade = gradeOf(p === null ? null : p * factor)
  if (grade === 'unclear') return []
  for (const one of groups.filter(({ n }) => n === 1)) {
    const rest = groups.filter((other) => other !== one).map(sampleOf)
    const less = rest.length < 2 ? null : (test === 'welch' ? welchAnova(rest) : classicAnova(rest)).p
    if (gradeOf(less === null ? null : less * factor) === grade) continue
    const without = `Without one single row, the only one of ${quoted(one.group)},`
    const says = rest.length < 2 ? 'there would be nothing to compare' : 'there would be another answer'
    return [doubt('one_row_decides', `${without} ${says}.`)]
  }
  return []
}

/** Returns the p of Brown and Forsythe's test of equal spreads, or null if it cannot be computed. */
async function spreadP(table: Relation, group: string, value: string, unit: number): Promise<number | null> {
  const raw = `(select ${group} as g, ${value} / ${double(unit)} as v from ${table.relation} where ${group} is not null and isfinite(${value}))`
  const groups =
    (table.unordered === true ? await awayThere(table, raw) : null) ?? (await awayHere(table, raw))
  if (groups.length < 2) return null
  return finite(classicAnova(groups.map((one) => ({ ...one, mean: one.offset }))).p)
}

/** Returns the moments of the distances from the median of each group of three values or more. */
async function awayHere(table: Relation, raw: string): Promise<GroupMoments[]> {
  const relation = `(with d as (select * from ${raw}), c as (select g, median(v) as middle, count(*) as size from d group by g)
    select g, abs(v - middle) as away from d join c using (g) where size > 2)`
  return (await groupMoments({ ...table, relation }, 'g', 'away')).groups
}

/**
 * Asks a database for the medians first, which then stand in the statement. Resolves to null if there are too many
 * groups for that, or if digits would be lost.
 */
async function awayThere(table: Relation, raw: string): Promise<GroupMoments[] | null> {
  const rows = await table.query(
    `select ${nameSql('g')} as name, median(v) as middle, count(*) as size, min(v) as low, max(v) as high from ${raw} group by g limit ${MOST_WRITTEN + 1}`,
  )
  const large = rows.filter((row) => (row.size as number) > 2) as {
    name: string
    middle: number
    size: number
    low: number
    high: number
  }[]
  if (large.length === 0 || rows.length > MOST_WRITTEN) return null
  const middle = ofEachGroup(
    'g',
    large.map((row) => [row.name, row.middle]),
  )
  return momentsOfDistances(
    { ...table, relation: raw },
    {
      group: 'g',
      value: `abs(v - ${middle})`,
      n: large.reduce((sum, { size }) => sum + size, 0),
      most: Math.max(...large.map((row) => Math.max(row.high - row.middle, row.middle - row.low))),
    },
  )
}

function fieldsOf({ groups, unit }: Grouped, n: number) {
  const dfBetween = groups.length - 1
  const dfWithin = n - groups.length
  const offsets = groups.map((group) => group.offset)
  const grand = exactSum(offsets.map((offset, index) => offset * groups[index]!.n)) / n
  const between = exactSum(offsets.map((offset, index) => groups[index]!.n * (offset - grand) ** 2))
  const within = exactSum(groups.map((group) => group.squares))
  const f = between / dfBetween / (within / dfWithin)
  return {
    f: finite(f),
    p: Number.isFinite(f) ? fUpper(f, dfBetween, dfWithin) : null,
    df_between: dfBetween,
    df_within: dfWithin,
    ss_between: finite(between * unit * unit),
    ss_within: finite(within * unit * unit),
    ms_between: finite((between / dfBetween) * unit * unit),
    ms_within: finite((within / dfWithin) * unit * unit),
    r_squared: between + within > 0 ? finite(between / (between + within)) : null,
    residual_sd: finite(Math.sqrt(within / dfWithin) * unit),
  }
}

/**
 * Says "There is clearly a difference in weight between the 6 groups: highest in feed "casein" (on average 324 g),
 * lowest in feed "horsebean" (160 g)."
 */
function headline({ groups, unit }: Grouped, measure: Measure, by: string): (grade: Grade) => string {
  const ordered = groups.toSorted((a, b) => b.offset - a.offset)
  const [high, low] = [ordered[0]!, ordered.at(-1)!]
  const between = `between the ${count(groups.length, 'group')}`
  const gap = ((high.offset - low.offset) * unit) / 10
  return (grade) =>
    grade === 'unclear'
      ? `No clear difference in ${measure.label} ${between}.`
      : `There is ${CERTAINTY[grade]} a difference in ${measure.label} ${between}: highest in ${partNamed(by, high.group)} (on average ${amount(high.mean * unit, measure, gap)}), lowest in ${partNamed(by, low.group)} (${amount(low.mean * unit, measure, gap)}).`
}

function evidence(
  columns: readonly string[],
  meanings: Meanings,
  n: number,
  fields: ReturnType<typeof fieldsOf>,
  judged: Judged,
): string {
  const { test, welch, p, reason } = judged
  const shown = test === 'welch' ? welch : fields
  const explained =
    fields.r_squared === null ? '' : `, ${percent(fields.r_squared)} of the variance explained`
  const statistic =
    shown.f === null
      ? `no variance within the groups, ${probability(p)} over all orders of the values`
      : `F(${shown.df_between}, ${figure(shown.df_within)}) = ${figure(shown.f)}, ${probability(p)}`
  return `${opening(NAMES[test])} of ${columns.map((name) => measureOf(meanings, name).label).join(' by ')}: ${statistic}${explained}, n = ${count(n, 'row')}.${reason === null ? '' : ` ${reason}`}`
}

function doubtsOf({ groups }: Grouped, unequal: number | null, pairs: number): Doubt[] {
  const found: Doubt[] = []
  const single = groups.filter((group) => group.n < 2).length
  if (single > 0)
    found.push(
      doubt(
        'too_few',
        `${count(single, 'group')} ${single === 1 ? 'has' : 'have'} a single value, which says nothing of ${single === 1 ? 'its' : 'their'} spread.`,
      ),
    )
  if (unequal !== null && unequal < 0.01)
    found.push(
      doubt(
        'variances_unequal',
        'The groups spread differently, so a difference holds for the average of a group and not for each of its values.',
      ),
    )
  const least = Math.min(...groups.map((group) => group.n))
  const varied = groups.some(({ low, high }) => low !== high)
  if (varied && single === 0 && least < FEW) found.push(fewRows(least, { one: 'row', many: 'rows' }))
  if (pairs > 1) found.push(doubt('many_tests', 'The comparisons of pairs are corrected for their number.'))
  return found
}
