/**
 * Counts the days of the two sides of a split, if one side came after the other. Totals over more days are larger by
 * themselves.
 */
import type { Column, Doubt } from '@assay/model/insight'
import { opening } from '../../../verdicts/measure.ts'
import { doubt } from '../../../verdicts/verdict.ts'
import { isZoned } from '../columns.ts'
import { type MethodContext, quote, type Relation } from '../method.ts'
import { count } from '../sentence.ts'

interface Side {
  where: string
  named: string
}

/**
 * The least share of a side's days, from its first to its last, that have rows. At or above it, days without rows are
 * closed days. Below it the rows are rare events.
 */
const DENSE = 0.5

/**
 * Returns how many days each side has, by the only column of dates or times other than that of the split. Returns null
 * if there is none or more than one such column, or if the sides overlap in time.
 */
export async function daysOfSides(
  table: Relation,
  split: Column,
  sides: readonly [Side, Side],
  { time_zone }: MethodContext,
): Promise<[number, number] | null> {
  const times = table.columns.filter(
    (column) => (column.type === 'date' || column.type === 'timestamp') && column.name !== split.name,
  )
  const [time] = times
  if (!time || times.length > 1) return null
  const clock = isZoned(time)
    ? `timezone('${time_zone.replaceAll("'", "''")}', ${quote(time.name)})`
    : quote(time.name)
  const day = `epoch_ms(cast(${clock} as date)::timestamp) // 86400000`
  const daysOf = async ({ where }: Side) => {
    const [row] = await table.query(
      `select min(d)::double as first, max(d)::double as last, count(distinct d)::double as days from (select ${day} as d from ${table.relation} where ${where} and isfinite(${quote(time.name)}))`,
    )
    return row as { first: number | null; last: number | null; days: number }
  }
  const before = await daysOf(sides[0])
  const after = await daysOf(sides[1])
  if (before.first === null || after.first === null) return null
  if (before.last! >= after.first && after.last! >= before.first) return null
  const spans = [before, after].map(({ first, last }) => last! - first! + 1)
  const dense = [before, after].every(({ days }, at) => days >= DENSE * spans[at]!)
  return dense ? [before.days, after.days] : [spans[0]!, spans[1]!]
}

/** Says "This period has 3 days more." */
export function unequalDays([before, after]: readonly [Side, Side], days: readonly [number, number]): Doubt {
  const more = days[1] - days[0]
  const named = (more > 0 ? after : before).named
  return doubt('periods_unequal', `${opening(named)} has ${count(Math.abs(more), 'day')} more.`)
}
