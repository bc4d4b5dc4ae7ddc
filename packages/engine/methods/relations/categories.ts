/** association of two categories: chi-square, Fisher's exact test, Cochran-Mantel-Haenszel within strata. */
import type { Doubt } from '@assay/model/insight'
import { chiSquare, cochranMantelHaenszel, commonOdds } from '../../numeric/tests/contingency.ts'
import { fisherExact } from '../../numeric/tests/fisher.ts'
import { leftOut } from '../../verdicts/common-doubts.ts'
import { type Meanings, measureOf, opening } from '../../verdicts/measure.ts'
import { doubt, gradeOf } from '../../verdicts/verdict.ts'
import { partNamed } from '../../verdicts/words.ts'
import type { Relation } from '../shared/method.ts'
import { count, finite, thereAre } from '../shared/sentence.ts'
import { type Answer, labels, NOTHING, type Options } from './answer.ts'
import { type Tabled, tabled } from './counts.ts'
import { flagSql, hiddenGroup } from './hidden-group.ts'
import { LEAST_PAIRS } from './pair.ts'

export async function ofCategories(rows: Relation, given: Options, meanings: Meanings): Promise<Answer> {
  const [x, y] = labels(given, meanings)
  const found = await tabled(rows, given.x, given.y, given.strata, [x, y])
  const { table } = found
  const whole = chiSquare(found.counts)
  const counts = cellsOf(found)
  const left = [...found.beyond, ...leftOut(found.left, 'without a value in every column')]
  const common = { ...NOTHING, kind: 'categories' as const, n: found.n, counts }
  if (found.n < LEAST_PAIRS || !whole) {
    const flat = found.n < 2 || whole ? null : found.rows.length < 2 ? x : y
    const stop = flat
      ? doubt(
          'constant',
          `${opening(flat)} has one value in all ${count(found.n, 'row')}: nothing can go with it.`,
        )
      : doubt(
          'too_few',
          `${thereAre(found.n, 'row')} with both ${x} and ${y}; at least ${LEAST_PAIRS} are needed.`,
        )
    return { ...common, doubts: [stop, ...left] }
  }
  const claim = (sure: string) =>
    `${opening(x)} and ${y} ${sure} go together${howStrongly(whole.v)}${farthest(counts, [x, y])}.`
  const effects = { effect: "Cramer's V", effect_size: finite(whole.v) }
  if (given.strata !== undefined)
    return inStrata(given, found, { ...common, ...effects, doubts: left, claim }, meanings)
  const hidden = await behind(table, given, found, meanings)
  const few = whole.least_expected < 1 || whole.thin > 0.2
  const asked = given.test === 'auto' ? (few ? 'fisher' : 'chi_square') : given.test
  const exact = asked === 'fisher' ? fisherExact(found.counts) : null
  const odds = found.rows.length === 2 && found.columns.length === 2 ? commonOdds([found.counts], 0.95) : null
  const limits = { low: finite(odds?.low ?? Number.NaN), high: finite(odds?.high ?? Number.NaN) }
  const thin = few && exact === null ? [sparseCells(whole.thin)] : []
  if (exact !== null) {
    const reason = given.test === 'auto' ? 'It was chosen because few rows are expected in some cells.' : null
    return {
      ...common,
      ...effects,
      ...limits,
      test: 'fisher',
      name: "Fisher's exact test",
      reason,
      p: exact,
      doubts: [...(gradeOf(exact) === 'unclear' ? [] : hidden), ...left],
      claim,
    }
  }
  const reason =
    given.test !== 'auto'
      ? null
      : few
        ? 'It was chosen because the table is too large for an exact test.'
        : 'It was chosen because enough rows are expected in every cell.'
  const tested = {
    test: 'chi_square',
    name: 'chi-square test of independence',
    reason,
    statistic: finite(whole.statistic),
    df: whole.df,
    p: finite(whole.p),
  }
  const told = gradeOf(tested.p) === 'unclear' ? [] : hidden
  return { ...common, ...effects, ...limits, ...tested, doubts: [...told, ...thin, ...left], claim }
}

/** Tells whether a link of two columns with two values each changes within the values of a further column. */
async function behind(
  table: Relation,
  { x, y }: Options,
  { rows, columns, counts }: Tabled,
  meanings: Meanings,
): Promise<Doubt[]> {
  if (rows.length !== 2 || columns.length !== 2) return []
  const [[a, b], [c, d]] = counts as [[number, number], [number, number]]
  const size = Math.sqrt((a + b) * (c + d)) * Math.sqrt((a + c) * (b + d))
  const sql = { x: flagSql(table, 'x', x, rows[0]!), y: flagSql(table, 'y', y, columns[0]!) }
  return hiddenGroup(table, { ...sql, own: [x, y], r: (a * d - b * c) / size }, meanings)
}

function sparseCells(thin: number): Doubt {
  return doubt(
    'too_few',
    `In ${Math.round(thin * 100)} % of the cells fewer than five rows are expected, so the result is rough; merge rare values in SQL.`,
  )
}

function inStrata(given: Options, found: Tabled, common: Answer, meanings: Meanings): Answer {
  const [x, y] = labels(given, meanings)
  const within = measureOf(meanings, given.strata!).label
  const told = cochranMantelHaenszel(found.strata)
  if (!told) {
    const stop = doubt('too_few', `No value of ${within} holds two values of both columns.`)
    return { ...common, effect: null, effect_size: null, doubts: [stop, ...common.doubts] }
  }
  const two = found.rows.length === 2 && found.columns.length === 2
  const odds = two ? commonOdds(found.strata, 0.95) : null
  const differ = odds?.homogeneity && odds.homogeneity.p < 0.01
  const mixed = differ
    ? [doubt('form_wrong', `The link differs between the values of ${within}; read it for each of them.`)]
    : []
  const crude = chiSquare(found.counts)!
  const claimed = gradeOf(crude.p) !== 'unclear'
  const whole = two ? commonOdds([found.counts], 0.95) : null
  const turned = odds && whole && claimed && Math.log(odds.ratio) * Math.log(whole.ratio) < 0
  const gone = gradeOf(told.p) === 'unclear' && claimed
  const tested: Answer = {
    ...common,
    test: 'cochran_mantel_haenszel',
    name: 'Cochran-Mantel-Haenszel test',
    reason: given.test === 'auto' ? 'It was chosen because strata are given.' : null,
    statistic: finite(told.statistic),
    df: told.df,
    p: finite(told.p),
    ...(odds
      ? {
          effect: 'common odds ratio',
          effect_size: finite(odds.ratio),
          low: finite(odds.low),
          high: finite(odds.high),
        }
      : { effect: null, effect_size: null }),
    doubts: [...mixed, ...common.doubts],
    claim: (sure) => `${opening(x)} and ${y} ${sure} go together, also with ${within} held equal.`,
  }
  if (!gone && !turned) return tested
  const says = gone
    ? `Over all rows ${x} and ${y} do go together; within the values of ${within} they do not.`
    : `Over all rows the link points the other way (Simpson's paradox); what holds within the values of ${within} is told here.`
  return { ...tested, doubts: [doubt('mix_hides_rates', says), ...tested.doubts] }
}

function cellsOf({ rows, columns, counts, n }: Tabled): Answer['counts'] {
  const [across, down] = [
    counts.map((row) => row.reduce((sum, value) => sum + value, 0)),
    columns.map((_, j) => counts.reduce((sum, row) => sum + row[j]!, 0)),
  ]
  return rows.flatMap((x, i) =>
    columns.map((y, j) => ({ x, y, n: counts[i]![j]!, expected: finite((across[i]! * down[j]!) / n) })),
  )
}

/** Returns the cell that lies farthest above what independence would give. */
function farthest(counts: Answer['counts'], [x, y]: readonly [string, string]): string {
  const above = (one: (typeof counts)[number]) => (one.n - (one.expected ?? 0)) / Math.sqrt(one.expected || 1)
  const most = counts.toSorted((a, b) => above(b) - above(a))[0]
  return most && above(most) > 0
    ? `: ${partNamed(x, most.x)} comes with ${partNamed(y, most.y)} more often than by chance`
    : ''
}

/** Says how strong the link of two categories is, beside how sure it is. */
function howStrongly(v: number): string {
  if (v < 0.1) return ', but weakly'
  if (v < 0.3) return ', though only a little'
  return v < 0.5 ? ', and to a fair degree' : ', and strongly'
}
