/**
 * association: tells whether two columns go together, whatever their types.
 *
 * Two categories are tested by chi-square with Cramer's V, by Fisher's exact test if counts are few, and by
 * Cochran-Mantel-Haenszel with `strata`. Two numbers are tested by Pearson's correlation if both are near enough to
 * normal, else by Spearman's; by Kendall's if named; and by partial correlation with `controls`. A number and a
 * category are tested by compare_groups. `test: auto` names the chosen test and the reason. The sources of the numbers
 * stand in numeric/. It fetches one row for each cell of a table of counts, at most 50 by 50, and at most 20,000
 * numbers, to test their shapes.
 */
import type { Grade, Outcome } from '@assay/model/insight'
import { type Meanings, measureOf, opening } from '../verdicts/measure.ts'
import { findingOf, gradeOf, headlineOf, verdict } from '../verdicts/verdict.ts'
import { CERTAINTY } from '../verdicts/words.ts'
import { compareGroups } from './compare-groups.ts'
import { type Answer, CATEGORIES, labels, NOTHING, Options } from './relations/answer.ts'
import { ofCategories } from './relations/categories.ts'
import { ofNumbers } from './relations/numbers.ts'
import { columnOf, groupSql, isNumeric } from './shared/columns.ts'
import { cell, integer, number, pAdjusted, rowsWith, text } from './shared/fields.ts'
import { type Method, type MethodContext, MethodError, type Relation } from './shared/method.ts'
import { count, figure, probability, range } from './shared/sentence.ts'

export const association: Method = {
  name: 'association',
  options: Options,
  columns(options) {
    const { x, y, strata, controls } = options as Options
    return [
      { option: 'x', column: x, numeric: false },
      { option: 'y', column: y, numeric: false },
      ...(strata === undefined ? [] : [{ option: 'strata', column: strata, numeric: false }]),
      ...(controls ?? []).map((column) => ({ option: 'controls', column, numeric: true })),
    ]
  },
  fields: {
    kind: text,
    test: text,
    reason: text,
    statistic: number,
    df: number,
    p: number,
    p_adjusted: pAdjusted,
    effect: text,
    effect_size: number,
    low: number,
    high: number,
    counts: rowsWith({ x: cell, y: cell, n: integer, expected: number }),
  },
  async run(table, options, context) {
    const given = options as Options
    const kind = await kindOf(table, given)
    checkTest(given, kind === 'numbers' || kind === 'categories' ? kind : 'number by category')
    const answer =
      kind === 'categories'
        ? await ofCategories(table, given, context.meanings)
        : kind === 'numbers'
          ? await ofNumbers(table, given, context.meanings)
          : await ofBoth(table, kind === 'x by y' ? [given.x, given.y] : [given.y, given.x], context)
    const [x, y] = labels(given, context.meanings)
    const told = verdict({
      headline: (sure: Grade, factor) =>
        sure === 'unclear'
          ? `No clear link between ${x} and ${y}${heldEqual(given, context.meanings)}.`
          : answer.finding
            ? headlineOf(answer.finding, sure, factor)
            : answer.claim(CERTAINTY[sure]),
      grade: gradeOf(answer.p),
      evidence: evidence([x, y], answer),
      doubts: answer.doubts,
      mild: answer.finding?.mild ?? (answer.p === null ? [] : ['too_few']),
    })
    const { name, claim: _, doubts: __, finding: ___, ...fields } = answer
    return { ...told, method: name, ...fields }
  },
}

function heldEqual({ controls, strata }: Options, meanings: Meanings): string {
  const name = (column: string): string => measureOf(meanings, column).label
  if (strata !== undefined) return ` within ${name(strata)}`
  return controls === undefined ? '' : ` with ${controls.map(name).join(' and ')} held equal`
}

/** Returns the kind of each column by its type. A number with only two values is a category. */
async function kindOf(
  table: Relation,
  given: Options,
): Promise<'categories' | 'numbers' | 'x by y' | 'y by x'> {
  const numeric = [given.x, given.y].map((name, i) => isNumeric(columnOf(table, i === 0 ? 'x' : 'y', name)))
  if (given.as === 'categories') return 'categories'
  if (given.as === 'numbers') {
    if (!numeric.every(Boolean))
      throw new MethodError('as: numbers needs two number columns. Cast them in the SQL block.')
    return 'numbers'
  }
  if ((CATEGORIES as readonly string[]).includes(given.test) || given.strata !== undefined)
    return 'categories'
  // A number of at most two different values is a category: a flag of 0 and 1.
  const counted = [given.x, given.y].map((name) => `count(distinct ${groupSql(table, 'x', name)})`)
  const [row] = await table.query(
    `select ${counted.map((sql, i) => `${sql} as n${i}`).join(', ')} from ${table.relation}`,
  )
  const named = given.test !== 'auto' || given.controls !== undefined
  const both = numeric.every(Boolean)
  const isNumber = numeric.map((number, i) => {
    const values = row![`n${i}`] as number
    return number && (named || values > 2 || (both && values < 2))
  })
  if (isNumber[0] && isNumber[1]) return 'numbers'
  return isNumber[0] ? 'x by y' : isNumber[1] ? 'y by x' : 'categories'
}

function checkTest({ test, strata, controls }: Options, kind: Answer['kind']): void {
  const categories = (CATEGORIES as readonly string[]).includes(test)
  if (test !== 'auto' && kind !== (categories ? 'categories' : 'numbers'))
    throw new MethodError(
      `test: ${test} is for two ${categories ? 'categories' : 'numbers'}; these columns are ${kind}.`,
    )
  if (strata !== undefined && !['auto', 'cochran_mantel_haenszel'].includes(test))
    throw new MethodError(`test: ${test} knows no strata; cochran_mantel_haenszel does.`)
  if (test === 'cochran_mantel_haenszel' && strata === undefined)
    throw new MethodError(
      'test: cochran_mantel_haenszel needs `strata`, the category within which x and y are compared.',
    )
  if (
    controls !== undefined &&
    (kind !== 'numbers' || !['auto', 'partial', 'partial_spearman'].includes(test))
  )
    throw new MethodError('controls go with two numbers and test: partial or partial_spearman.')
  if (test.startsWith('partial') && controls === undefined)
    throw new MethodError(`test: ${test} needs \`controls\`, the columns that are held equal.`)
}

async function ofBoth(
  table: Relation,
  [value, group]: readonly [string, string],
  context: MethodContext,
): Promise<Answer> {
  const options = { value, group, what: 'level', test: 'auto', confidence: 0.95 }
  const found: Outcome = await compareGroups.run(table, options, context)
  const finding = findingOf(found)!
  const of = (name: string) => (found[name] ?? null) as number | null
  return {
    ...NOTHING,
    kind: 'number by category',
    test: found.test as string,
    name: found.method,
    reason: (found.reason as string | null) ?? null,
    statistic: of('statistic'),
    df: of('df'),
    p: of('p'),
    effect: (found.effect as string | null) ?? null,
    effect_size: of('effect_size'),
    n: found.n,
    doubts: [...(finding.doubts ?? [])],
    finding,
  }
}

function evidence([x, y]: readonly string[], answer: Answer): string {
  if (answer.p === null) return `${count(answer.n, 'row')}.`
  const statistic = answer.statistic === null ? '' : `statistic ${figure(answer.statistic)}, `
  const interval =
    answer.low === null || answer.high === null
      ? ''
      : ` (95 % interval ${range(answer.low, answer.high)}${answer.effect === "Cramer's V" ? ' of the odds ratio' : ''})`
  const effect = answer.effect === null ? '' : `${answer.effect} ${figure(answer.effect_size)}${interval}, `
  const reason = answer.reason === null ? '' : ` ${answer.reason}`
  return `${opening(answer.name)} of ${x} and ${y}: ${statistic}${effect}${probability(answer.p)}, n = ${count(answer.n, 'row')}.${reason}`
}
