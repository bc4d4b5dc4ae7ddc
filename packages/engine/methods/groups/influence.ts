/**
 * Tells whether one row decides a comparison of groups. The least and the largest value of each group are left out, one
 * at a time, and the same test is made again. Tests of means use the known moments. Tests of two groups' ranks count
 * again (up to 20,000 values). Ranks of more than two groups are not checked, because a single row moves them too
 * little.
 */
import type { Doubt, Grade } from '@assay/model/insight'
import type { Sample } from '../../numeric/tests/means.ts'
import { pairedT } from '../../numeric/tests/paired.ts'
import type { Measure } from '../../verdicts/measure.ts'
import { movedFrom } from '../../verdicts/one-row.ts'
import { type DoubtsBy, doubt, gradeOf } from '../../verdicts/verdict.ts'
import { amount, changeOf, quoted, withoutRow } from '../../verdicts/words.ts'
import type { GroupMoments } from '../shared/moments.ts'
import { double } from '../shared/sums.ts'
import { compareMeansOf, compareRanks, type MeanRows, type Tested } from './level.ts'
import type { Ends } from './paired.ts'
import type { GroupRows } from './rows.ts'

/** The most values of two groups whose ranks are counted again. */
const COUNTED = 20_000

interface Decisive {
  group: string
  value: number
  before: Tested
  after: Tested
  what: 'direction' | 'size' | 'grade'
  grades: readonly [Grade, Grade]
  moved: number
}

/** The result of a test with one value less. */
interface Less {
  group: GroupMoments
  value: number
  before: Tested
  after: Tested
}

export async function oneRowDecides(
  rows: GroupRows,
  tested: Tested,
  { measure, confidence }: { measure: Measure; confidence: number },
): Promise<DoubtsBy> {
  if (MEANS.includes(tested.test)) return oneRowMoves(rows, tested, { measure, confidence })
  if (tested.p === null || tested.test !== 'mann_whitney' || rows.n > COUNTED) return () => []
  const found: Less[] = []
  for (const { group, value } of ends(rows)) {
    const from = lessOne(rows.from, group.group, value)
    const after = await compareRanks({ ...rows, groups: lessGroup(rows.groups, group, value), from })
    found.push({ group, value, before: tested, after })
  }
  return doubting(rows, found, measure)
}

const MEANS = ['welch', 'student', 'welch_anova', 'anova']

/** Returns the doubt that one row decides a comparison of means, from the moments of the groups. */
export function oneRowMoves(
  rows: MeanRows,
  tested: Tested,
  { measure, confidence }: { measure: Measure; confidence: number },
): DoubtsBy {
  if (tested.p === null) return () => []
  const pooled = ['student', 'anova'].includes(tested.test)
  const found = ends(rows).flatMap(({ group, value }) => {
    const groups = lessGroup(rows.groups, group, value)
    const varies = ({ squares }: GroupMoments): boolean => squares > 0
    if (!(pooled ? groups.some(varies) : groups.every(varies))) return []
    const after = compareMeansOf({ ...rows, groups }, tested.test, confidence, false)
    return [{ group, value, before: tested, after }]
  })
  return doubting(rows, found, measure)
}

/** Returns the least and the largest value of each group that still has two values without it. */
function ends<G extends GroupMoments>({ groups }: { groups: readonly G[] }): { group: G; value: number }[] {
  return groups
    .filter(({ n }) => n > 2)
    .flatMap((group) => [...new Set([group.low, group.high])].map((value) => ({ group, value })))
}

const lessGroup = <G extends GroupMoments>(groups: readonly G[], group: G, value: number): G[] =>
  groups.map((one) => (one === group ? without(one, value) : one))

const doubting =
  (rows: MeanRows, found: readonly Less[], measure: Measure): DoubtsBy =>
  (factor) => {
    const decisive = found.flatMap((one) => judged(rows, one, factor))
    const [most] = decisive.toSorted((a, b) => b.moved - a.moved)
    return most ? [doubt('one_row_decides', says(most, rows.unit, measure))] : []
  }

/** Returns the grade of p multiplied by `factor`. */
const gradeBy = (p: number | null, factor: number): Grade => gradeOf(p === null ? null : p * factor)

/** Returns the doubt that one difference within units decides the paired t test. */
export function pairDecides(
  ends: Ends | null,
  { nouns, measure, confidence }: { nouns: { one: string }; measure: Measure; confidence: number },
  factor = 1,
): Doubt[] {
  if (ends === null || ends.sample.n < 3) return []
  const { sample } = ends
  const before = gradeBy(pairedT(sample, confidence)?.p ?? null, factor)
  const found = [...new Set([ends.low, ends.high])].flatMap((value) => {
    const less = lessened(sample, value)
    const after = gradeBy(pairedT(less, confidence)?.p ?? null, factor)
    const moved = Math.abs(less.mean - sample.mean)
    const what = movedFrom(sample.mean, less.mean, Math.sqrt(sample.squares / (sample.n - 1) / sample.n))
    if (less.squares === 0 || (before === after && what === null)) return []
    const change =
      what === 'direction'
        ? 'the difference would point the other way'
        : what === 'size'
          ? `the difference would be ${changeOf(less.mean, measure)} in place of ${changeOf(sample.mean, measure)}`
          : withoutRow([before, after], 'difference')
    return [
      {
        moved,
        says: `Without one single ${nouns.one}, which changed by ${changeOf(value, measure)}, ${change}.`,
      },
    ]
  })
  const [most] = found.toSorted((a, b) => b.moved - a.moved)
  return most ? [doubt('one_row_decides', most.says)] : []
}

function without<G extends GroupMoments>(group: G, value: number): G {
  const { n, mean, squares } = lessened(group, value)
  return { ...group, n, mean, squares, offset: group.offset + mean - group.mean }
}

/** Returns the moments without one value. */
function lessened({ n, mean, squares }: Sample, value: number): Sample {
  const away = value - mean
  const rest = squares - (away * away * n) / (n - 1)
  // A rest below rounding counts as 0: this one value made the whole spread.
  return { n: n - 1, mean: mean - away / (n - 1), squares: rest > 1e-9 * squares ? rest : 0 }
}

const lessOne = (from: string, group: string, value: number): string =>
  `(select g, v from (select g, v, row_number() over (partition by g, v) as place from ${from})
     where not (g = '${group.replaceAll("'", "''")}' and v = ${double(value)} and place = 1))`

function judged(rows: MeanRows, one: Less, factor: number): Decisive[] {
  const { group, before, after } = one
  const grades = [gradeBy(before.p, factor), gradeBy(after.p, factor)] as const
  const changed = grades[0] !== grades[1]
  const error = Math.sqrt(group.squares / (group.n - 1) / group.n)
  const moved = Math.abs(one.value - group.mean) / (group.n - 1)
  const decisive = { ...one, group: group.group, grades, moved }
  const [was, is] = [before.pairs[0]?.estimate ?? null, after.pairs[0]?.estimate ?? null]
  if (rows.groups.length === 2 && before.test !== 'mann_whitney' && was !== null && is !== null) {
    const what = movedFrom(was, is, error * rows.unit)
    if (what) return [{ ...decisive, what }]
  }
  return changed ? [{ ...decisive, what: 'grade' }] : []
}

function says(
  { group, value, before, after, what, grades }: Decisive,
  unit: number,
  measure: Measure,
): string {
  const size = ({ pairs }: Tested): string => changeOf(pairs[0]?.estimate ?? 0, measure)
  const change = {
    direction: 'the difference would point the other way',
    size: `the difference would be ${size(after)} in place of ${size(before)}`,
    grade: withoutRow(grades, 'difference'),
  }[what]
  return `Without one single row of ${quoted(group)}, at ${amount(value * unit, measure)}, ${change}.`
}
