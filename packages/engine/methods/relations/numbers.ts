/** association of two numbers: Pearson, Spearman, Kendall, and with controls partial correlation. */
import type { Doubt } from '@assay/model/insight'
import { SHAPIRO_MOST } from '../../numeric/tests/shapiro-wilk.ts'
import { leftOut } from '../../verdicts/common-doubts.ts'
import { type Meanings, measureOf, opening } from '../../verdicts/measure.ts'
import { comparative, verbFor } from '../../verdicts/nouns.ts'
import { type DoubtsBy, doubt, gradeOf } from '../../verdicts/verdict.ts'
import { shapeCheck } from '../groups/choose.ts'
import { columnOf, groupSql, numberSql } from '../shared/columns.ts'
import type { Relation } from '../shared/method.ts'
import { finite, thereAre } from '../shared/sentence.ts'
import { readShape } from '../shared/shape.ts'
import { type Answer, labels, NOTHING, type Options, strength } from './answer.ts'
import { hiddenGroup } from './hidden-group.ts'
import { alikeNeighbours, LEAST_PAIRS, pairDecides, pairOf, partialOf, tauOf } from './pair.ts'
import { rankDecides } from './rank-row.ts'
import { type Order, seriesOrder } from './series-order.ts'

export async function ofNumbers(table: Relation, given: Options, meanings: Meanings): Promise<Answer> {
  const [x, y] = labels(given, meanings)
  const order = await seriesOrder(table)
  const pair = await pairOf(table, [given.x, given.y], { option: 'x', order })
  const common = { ...NOTHING, kind: 'numbers' as const, n: pair.n }
  const [total] = await table.query(`select count(*) as n from ${table.relation}`)
  const left = leftOut((total!.n as number) - pair.n, 'without a value in every column')
  if (pair.pearson === null) {
    const stop =
      pair.n < LEAST_PAIRS
        ? doubt(
            'too_few',
            `${thereAre(pair.n, 'row')} with both ${x} and ${y}; at least ${LEAST_PAIRS} are needed.`,
          )
        : doubt('constant', await whatNeverChanges(table, given, [x, y]))
    return { ...common, doubts: [stop, ...left] }
  }
  const choice =
    given.test === 'auto'
      ? await chosen(table, given, pair.pearson, pair.spearman ?? 0)
      : { test: given.test, reason: null }
  const ambiguous = given.as === 'auto' ? await codes(table, given, meanings) : []
  const partial = given.controls !== undefined
  const doubts = [...alikeNeighbours([pair]), ...ambiguous, ...left]
  const both = [measureOf(meanings, given.x), measureOf(meanings, given.y)] as const
  const decided: DoubtsBy = partial
    ? () => []
    : choice.test === 'pearson'
      ? (factor) => pairDecides(pair, both, factor)
      : await rankDecides(table, pair, choice.test, both)
  const found = partial
    ? await partialAnswer(table, given, choice.test, order)
    : await plainAnswer(table, given, choice.test, pair)
  const r = found.effect_size
  const sql = [numberSql(table, 'x', given.x), numberSql(table, 'y', given.y)] as const
  const crude = { x: sql[0], y: sql[1], own: [given.x, given.y], r: r ?? 0 }
  const hidden = !partial && gradeOf(found.p) !== 'unclear' ? await hiddenGroup(table, crude, meanings) : []
  const beside = partial
    ? `, ${given.controls!.map((name) => measureOf(meanings, name).label).join(' and ')} held equal`
    : ''
  const claim = (sure: string) =>
    (r ?? 0) > 0
      ? `${opening(x)} and ${y} ${sure} rise together${strength(Math.abs(r ?? 0))}${beside}.`
      : `${opening(comparative(both[0], true))} ${sure} ${verbFor(x, 'goes', 'go')} with ${comparative(both[1], false)}${strength(Math.abs(r ?? 0))}${beside}.`
  const stop =
    found.p === null
      ? [
          doubt(
            'too_few',
            `There are too few rows, or the columns depend on each other, to judge ${x} and ${y}.`,
          ),
        ]
      : []
  return {
    ...common,
    ...found,
    reason: choice.reason,
    doubts: [...stop, decided, ...hidden, ...doubts],
    claim,
  }
}

/** Says which of two columns has one value in all rows that have both. */
async function whatNeverChanges(
  table: Relation,
  given: Options,
  [x, y]: readonly [string, string],
): Promise<string> {
  const [first, second] = [numberSql(table, 'x', given.x), numberSql(table, 'y', given.y)]
  const [row] = await table.query(
    `select min(x) = max(x) as x, min(y) = max(y) as y
     from (select ${first} as x, ${second} as y from ${table.relation}) where isfinite(x) and isfinite(y)`,
  )
  if (row!.x === true && row!.y === true)
    return `Neither ${x} nor ${y} ever changes, so they cannot go together.`
  if (row!.x !== true && row!.y !== true)
    return `The values of ${x} or ${y} are too large, or too alike beside their size, to be compared.`
  const still = row!.x === true ? x : y
  return `${opening(still)} never ${verbFor(still, 'changes', 'change')}, so nothing can go with ${verbFor(still, 'it', 'them')}.`
}

async function chosen(
  table: Relation,
  given: Options,
  pearson: number,
  spearman: number,
): Promise<{ test: string; reason: string }> {
  const prefix = given.controls === undefined ? '' : 'partial'
  const shapes = [await readShape(table, given.x, 'x'), await readShape(table, given.y, 'y')]
  const checks = []
  for (const shape of shapes) {
    const values = shape.n <= SHAPIRO_MOST ? await shape.values(SHAPIRO_MOST) : undefined
    checks.push(shapeCheck('', { n: shape.n, skewness: shape.g1 }, values).holds)
  }
  if (!checks.every(Boolean))
    return {
      test: prefix ? 'partial_spearman' : 'spearman',
      reason: 'It was chosen because a column is far from normal.',
    }
  if (Math.abs(pearson - spearman) > 0.2)
    return {
      test: prefix ? 'partial_spearman' : 'spearman',
      reason: 'It was chosen because a few rows or a curve lead the straight line.',
    }
  return {
    test: prefix || 'pearson',
    reason: 'It was chosen because both columns are near enough to normal.',
  }
}

type Found = Pick<
  Answer,
  'test' | 'name' | 'statistic' | 'df' | 'p' | 'effect' | 'effect_size' | 'low' | 'high'
> & { n?: number }

async function plainAnswer(
  table: Relation,
  given: Options,
  test: string,
  pair: Awaited<ReturnType<typeof pairOf>>,
): Promise<Found> {
  const none = { statistic: null, df: null, low: null, high: null }
  if (test === 'kendall') {
    const { tau, p } = await tauOf(table, pair, 'x')
    return { ...none, test, name: "Kendall's rank correlation", p, effect: 'tau-b', effect_size: tau }
  }
  if (test === 'spearman')
    return {
      ...none,
      test,
      name: "Spearman's rank correlation",
      df: pair.n - 2,
      p: pair.spearman_p,
      effect: 'rho',
      effect_size: pair.spearman,
    }
  return {
    ...none,
    test: 'pearson',
    name: "Pearson's correlation",
    df: pair.n - 2,
    p: pair.p,
    effect: 'r',
    effect_size: pair.pearson,
    low: pair.low,
    high: pair.high,
  }
}

async function partialAnswer(table: Relation, given: Options, test: string, order: Order): Promise<Found> {
  const ranked = test === 'partial_spearman'
  const { n, partial } = await partialOf(table, [given.x, given.y], given.controls!, {
    ranked,
    option: 'x',
    order,
  })
  return {
    test,
    name: ranked ? 'partial rank correlation' : 'partial correlation',
    statistic: null,
    df: partial ? n - 2 - given.controls!.length : null,
    p: finite(partial?.p ?? Number.NaN),
    effect: ranked ? 'partial rho' : 'partial r',
    effect_size: finite(partial?.r ?? Number.NaN),
    low: finite(partial?.low ?? Number.NaN),
    high: finite(partial?.high ?? Number.NaN),
    n,
  }
}

/** Returns the doubt that whole numbers of few values may be codes. */
async function codes(table: Relation, { x, y }: Options, meanings: Meanings): Promise<Doubt[]> {
  const found: Doubt[] = []
  for (const name of [x, y]) {
    const column = columnOf(table, 'x', name)
    if (column.type !== 'integer') continue
    const [row] = await table.query(
      `select count(distinct ${groupSql(table, 'x', name)}) as levels, count(*) as n from ${table.relation}`,
    )
    const levels = row!.levels as number
    if (levels > 2 && levels <= 10 && (row!.n as number) >= 10 * levels)
      found.push(
        doubt(
          'type_ambiguous',
          `${opening(measureOf(meanings, name).label)} holds only ${levels} different whole numbers and is read as an amount; if they are codes, write as: categories.`,
        ),
      )
  }
  return found
}
