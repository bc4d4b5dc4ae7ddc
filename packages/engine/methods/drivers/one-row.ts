/**
 * Tells whether a single row makes most of the change of a sum. Such a change is about that row, not about the whole.
 */
import { isLevel } from '@assay/model/change'
import type { Doubt } from '@assay/model/insight'
import type { Measure } from '../../verdicts/measure.ts'
import { withArticle } from '../../verdicts/nouns.ts'
import { movedFrom } from '../../verdicts/one-row.ts'
import { within } from '../../verdicts/times.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { amount, changeOf } from '../../verdicts/words.ts'
import { numberSql } from '../shared/columns.ts'
import type { Relation } from '../shared/method.ts'
import type { Options } from './options.ts'
import type { Sides } from './sides.ts'

/** The fewest rows among which one can be odd. With fewer, each row is much of the whole. */
const LEAST_ROWS = 20
/**
 * A row is not odd if the other side has a row of at least this share of it. Rows may be sums, and then a large one
 * occurs each time.
 */
const LIKE = 0.5

interface Extreme {
  side: 0 | 1
  value: number
}

/**
 * Returns the doubt `one_row_decides` if the change without one row has the other direction, is less than half as
 * large, or is more than one and a half times as large.
 */
export async function oneRowOfChange(
  table: Relation,
  options: Options,
  sides: Sides,
  { before, after }: { before: number; after: number },
  measure: Measure,
): Promise<Doubt[]> {
  const { value, denominator } = options
  if (value === undefined || denominator !== undefined || sides.expected || isLevel(before, after)) return []
  const found = await extremes(table, value, sides)
  if (found.n < LEAST_ROWS) return []
  const change = after - before
  const all: Extreme[] = found.ends.flatMap((ends, side) =>
    ends.flatMap((value, end) =>
      value === null || isLike(value, found.ends[1 - side]![end]) ? [] : [{ side: side as 0 | 1, value }],
    ),
  )
  const parts = all.flatMap((row) => {
    const days = sides.per_day ? (row.side === 0 ? sides.before : sides.after).days : 1
    const part = ((row.side === 0 ? -1 : 1) * row.value) / days
    return movedFrom(change, change - part, found.error) ? [{ row, left: change - part, part }] : []
  })
  const [most] = parts.toSorted((a, b) => Math.abs(b.part) - Math.abs(a.part))
  return most ? [doubt('one_row_decides', says(most.row, change, most.left, sides, measure))] : []
}

const isLike = (value: number, other: number | null | undefined): boolean =>
  other !== null && other !== undefined && value * other > 0 && Math.abs(other) >= LIKE * Math.abs(value)

async function extremes(table: Relation, value: string, { before, after, per_day }: Sides) {
  const number = numberSql(table, 'value', value)
  const sums = [before, after].map(({ where }, side) => {
    const own = `filter (where (${where}) and isfinite(${number}))`
    return `min(${number}) ${own} as low${side}, max(${number}) ${own} as high${side}, fsum(${number} * ${number}) ${own} as squares${side}, count(*) ${own} as n${side}`
  })
  const [row] = await table.query(`select ${sums.join(', ')} from ${table.relation}`)
  const at = (name: string): number | null => row![name] as number | null
  const days = (side: 0 | 1): number => (per_day ? (side === 0 ? before : after).days : 1)
  const squares = ([0, 1] as const).reduce<number>(
    (sum, side) => sum + (at(`squares${side}`) ?? 0) / days(side) ** 2,
    0,
  )
  const ends = [0, 1].map((side) => [at(`low${side}`), at(`high${side}`)])
  return { n: Math.min(at('n0') ?? 0, at('n1') ?? 0), ends, error: Math.sqrt(squares) }
}

function says(
  { side, value }: Extreme,
  change: number,
  left: number,
  sides: Sides,
  measure: Measure,
): string {
  const basis = sides.per_day ? ` ${withArticle(sides.unit ?? 'day')}` : ''
  const size = (one: number): string => `${changeOf(one, measure, change)}${basis}`
  const noun = (one: number): string => (one > 0 ? 'rise' : 'fall')
  const where = within((side === 0 ? sides.before : sides.after).named)
  const first = `Without one single row, of ${amount(value, measure)} ${where}`
  if (left === 0) return `${first}, nothing would have changed.`
  if (left * change < 0)
    return `${first}, there would be a ${noun(left)} of ${size(left)} in place of a ${noun(change)} of ${size(change)}.`
  return `${first}, the ${noun(change)} would be ${size(left)} in place of ${size(change)}.`
}
