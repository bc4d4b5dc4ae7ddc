/**
 * Tells whether the segment of a cause has rows on fewer days of one side than of the other, because rows may be
 * missing.
 */
import type { Cell, Doubt } from '@assay/model/insight'
import { opening } from '../../verdicts/measure.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { cellSql, columnOf, isNumeric, timeColumn } from '../shared/columns.ts'
import type { MethodContext, Relation } from '../shared/method.ts'
import { count } from '../shared/sentence.ts'
import { localTime } from '../shared/time/periods.ts'
import type { Cause } from './causes.ts'
import type { Options } from './options.ts'
import type { Sides } from './sides.ts'
import { whereInWords } from './words.ts'

const MOST_CAUSES = 5
/** A segment with rows on at least this share of the days of one side is expected on each day. */
const FULL = 0.9
/** Days are missing if the other side has rows on at most this share of as many days. */
const FEWER = 0.8
/** The steps of time whose rows are named by a unit; rows at other steps are called times. */
const UNITS: Record<string, string> = Object.fromEntries(
  ['day', 'week', 'month', 'quarter', 'year'].map((unit) => [unit, unit]),
)

/**
 * Returns the doubt `days_missing` for each of the largest causes that miss days. It makes one query. Beside a forecast
 * it counts the days of the period before.
 */
export async function daysOfCauses(
  table: Relation,
  options: Options,
  sides: Sides,
  causes: readonly Cause[],
  labels: (column: string) => string,
  context: MethodContext,
): Promise<Doubt[]> {
  const largest = causes.slice(0, MOST_CAUSES)
  const { time, missing } = options
  if (time === undefined || missing === 'zero' || largest.length === 0) return []
  const compared = sides.counted ?? sides
  if (isNumeric(timeColumn(table, time))) return []
  const day = `cast(${localTime(table, time, context.time_zone)} as date)`
  const segments = [{ where: {} }, ...largest].map(({ where }) => segmentSql(table, where))
  const counts = segments.flatMap((segment, index) =>
    [compared.before, compared.after].map(
      (side, of) =>
        `count(distinct case when ${segment} and (${side.where}) then ${day} end) as n${index}_${of}`,
    ),
  )
  const [found] = await table.query(
    `select ${counts.join(', ')} from ${table.relation} where (${compared.before.where}) or (${compared.after.where})`,
  )
  const seen = (index: number): [number, number] => [
    found![`n${index}_0`] as number,
    found![`n${index}_1`] as number,
  ]
  const whole = seen(0)
  return largest.flatMap((cause, index) => {
    const own = seen(index + 1)
    const shares = [own[0] / whole[0], own[1] / whole[1]]
    if (Math.max(...shares) < FULL || Math.min(...shares) > FEWER * Math.max(...shares)) return []
    return [
      doubt(
        'days_missing',
        says(opening(whereInWords(cause, labels)), own, whole, {
          ...compared,
          unit: UNITS[sides.unit ?? 'day'] ?? 'time',
        }),
      ),
    ]
  })
}

function says(
  segment: string,
  own: [number, number],
  whole: [number, number],
  { unit, ...sides }: Pick<Sides, 'before' | 'after'> & { unit: string },
): string {
  const [before, after] = [sides.before.named, sides.after.named]
  if (own[1] === 0) return `${segment} has no row in ${after}: it ended, or its rows are missing.`
  if (own[0] === 0) return `${segment} has no row in ${before}: it is new, or its rows are missing there.`
  const days = `${own[1]} of ${count(whole[1], unit)} of ${after}, and on ${own[0]} of ${whole[0]} of ${before}`
  return `${segment} has rows on ${days}: some of its rows may be missing.`
}

function segmentSql(table: Relation, where: Record<string, Cell>): string {
  const parts = Object.entries(where).map(
    ([name, value]) => `${cellSql(columnOf(table, 'by', name))} is not distinct from ${literal(value)}`,
  )
  return ['true', ...parts].join(' and ')
}

function literal(value: Cell): string {
  if (value === null) return 'null'
  if (typeof value === 'number') return `${value.toExponential()}::double`
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : JSON.stringify(value)
}
