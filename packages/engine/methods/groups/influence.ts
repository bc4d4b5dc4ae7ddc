/**
 * Whether one row decides a comparison of groups. The least and the largest value of each group are left out, one at a time, and
 * the same test is made again: of means from the moments at hand, of two groups' ranks by counting again (up to 20,000 values).
 * Of more than two groups' ranks a single row moves too little to be looked for.
 */
import type { Doubt, Grade } from '@assay/model/insight'
import type { Sample } from '../../numeric/tests/means.ts'
import { pairedT } from '../../numeric/tests/paired.ts'
import type { Measure } from '../../verdicts/measure.ts'
import { doubt, gradeOf } from '../../verdicts/verdict.ts'
import { amount, changeOf, quoted } from '../../verdicts/words.ts'
import { double } from '../shared/sums.ts'
import { compareMeansOf, compareRanks, type Tested } from './level.ts'
import type { Ends } from './paired.ts'
import type { Group, GroupRows } from './rows.ts'

/** A change counts from this part of the standard error on: beside a difference near zero every row would decide. */
const LEAST = 0.5
const COUNTED = 20_000

interface Decisive {
  group: string
  value: number
  before: Tested
  after: Tested
  what: 'direction' | 'size' | 'grade'
  moved: number
}

export async function oneRowDecides(
  rows: GroupRows,
  tested: Tested,
  { measure, confidence }: { measure: Measure; confidence: number },
): Promise<Doubt[]> {
  const ranks = tested.test === 'mann_whitney'
  const means = ['welch', 'student', 'welch_anova', 'anova'].includes(tested.test)
  if (tested.p === null || !(means || (ranks && rows.n <= COUNTED))) return []
  let most: Decisive | null = null
  for (const group of rows.groups.filter(({ n }) => n > 2))
    for (const value of new Set([group.low, group.high])) {
      const groups = rows.groups.map((one) => (one === group ? without(one, value) : one))
      if (means && groups.some(({ squares }) => !(squares > 0))) continue
      const less = { ...rows, groups, n: rows.n - 1, from: lessOne(rows.from, group.group, value) }
      const after = means ? compareMeansOf(less, tested.test, confidence) : await compareRanks(less)
      const found = judged(rows, { group, value, before: tested, after })
      if (found && (most === null || found.moved > most.moved)) most = found
    }
  return most === null ? [] : [doubt('one_row_decides', says(most, rows.unit, measure))]
}

/** The same of the differences within units, for the paired t test. */
export function pairDecides(
  ends: Ends | null,
  { nouns, measure, confidence }: { nouns: { one: string }; measure: Measure; confidence: number },
): Doubt[] {
  if (ends === null || ends.sample.n < 3) return []
  const { sample } = ends
  const before = gradeOf(pairedT(sample, confidence)?.p ?? null)
  const found = [...new Set([ends.low, ends.high])].flatMap((value) => {
    const less = lessened(sample, value)
    const after = gradeOf(pairedT(less, confidence)?.p ?? null)
    const moved = Math.abs(less.mean - sample.mean)
    const far = moved >= LEAST * Math.sqrt(sample.squares / (sample.n - 1) / sample.n)
    const turned = far && less.mean * sample.mean < 0
    const halved = far && moved > Math.abs(sample.mean) / 2
    if (less.squares === 0 || (before === after && !turned && !halved)) return []
    const change = turned
      ? 'the difference would point the other way'
      : halved
        ? `the difference would be ${changeOf(less.mean, measure)} in place of ${changeOf(sample.mean, measure)}`
        : `there would be ${CLAIMS[after]} in place of ${CLAIMS[before]}`
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

function without(group: Group, value: number): Group {
  const { n, mean, squares } = lessened(group, value)
  return { ...group, n, mean, squares, offset: group.offset + mean - group.mean }
}

/** The moments without one value. */
function lessened({ n, mean, squares }: Sample, value: number): Sample {
  const away = value - mean
  const rest = squares - (away * away * n) / (n - 1)
  // What is under rounding is nothing: all the spread was that of one value.
  return { n: n - 1, mean: mean - away / (n - 1), squares: rest > 1e-9 * squares ? rest : 0 }
}

const lessOne = (from: string, group: string, value: number): string =>
  `(select g, v from (select g, v, row_number() over (partition by g, v) as place from ${from})
     where not (g = '${group.replaceAll("'", "''")}' and v = ${double(value)} and place = 1))`

function judged(
  rows: GroupRows,
  one: Omit<Decisive, 'what' | 'moved' | 'group'> & { group: Group },
): Decisive | null {
  const { group, before, after } = one
  const grades = [gradeOf(before.p), gradeOf(after.p)]
  const changed = grades[0] !== grades[1]
  const error = Math.sqrt(group.squares / (group.n - 1) / group.n)
  const moved = Math.abs(one.value - group.mean) / (group.n - 1)
  const decisive = { ...one, group: group.group, moved }
  const [was, is] = [before.pairs[0]?.estimate ?? null, after.pairs[0]?.estimate ?? null]
  if (rows.groups.length === 2 && before.test !== 'mann_whitney' && was !== null && is !== null) {
    const far = moved >= LEAST * error
    if (far && was * is < 0) return { ...decisive, what: 'direction' }
    if (far && Math.abs(is - was) > Math.abs(was) / 2) return { ...decisive, what: 'size' }
  }
  return changed ? { ...decisive, what: 'grade' } : null
}

const CLAIMS: Record<Exclude<Grade, 'withheld'>, string> = {
  firm: 'a clear difference',
  likely: 'a probable difference',
  unclear: 'no clear difference',
}

function says({ group, value, before, after, what }: Decisive, unit: number, measure: Measure): string {
  const size = ({ pairs }: Tested): string => changeOf(pairs[0]?.estimate ?? 0, measure)
  const change = {
    direction: 'the difference would point the other way',
    size: `the difference would be ${size(after)} in place of ${size(before)}`,
    grade: `there would be ${CLAIMS[gradeOf(after.p)]} in place of ${CLAIMS[gradeOf(before.p)]}`,
  }[what]
  return `Without one single row of ${quoted(group)}, at ${amount(value * unit, measure)}, ${change}.`
}
