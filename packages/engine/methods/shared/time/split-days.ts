/**
 * Counts the days of the two sides of a split, if one side came after the other. Totals over more days are larger by
 * themselves, and a day of six rows after midnight is no day.
 */
import type { Column, Doubt } from '@assay/model/insight'
import type { Step } from '../../../series/grid.ts'
import { firstCut, lastCut } from '../../../series/partial.ts'
import { opening } from '../../../verdicts/measure.ts'
import { dayInWords } from '../../../verdicts/times.ts'
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

const DAY: Step = { unit: 'days', size: 1 }

export interface SideDays {
  /** How many days each side has, without those that are cut off. */
  days: [number, number]
  /** SQL that is true of rows of whole days; null if all days are whole. */
  whole: string | null
  /** Says which days are cut off. */
  cuts: string[]
}

/**
 * Returns the days of each side, by the only column of dates or times other than that of the split. Returns null if
 * there is none or more than one such column, or if the sides overlap in time.
 */
export async function daysOfSides(
  table: Relation,
  split: Column,
  sides: readonly [Side, Side],
  context: MethodContext,
): Promise<SideDays | null> {
  const { time_zone } = context
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
  const days: [number, number] = dense ? [before.days, after.days] : [spans[0]!, spans[1]!]
  const first = Math.min(before.first, after.first)
  const last = Math.max(before.last!, after.last!)
  const cut = await cutDaysOf(first, last, context)
  for (const { at } of cut)
    for (const [nth, side] of [before, after].entries())
      if (side.first! <= at && at <= side.last!) days[nth]! -= 1
  const whole =
    cut.length === 0 ? null : `coalesce((${day}) not in (${cut.map(({ at }) => at).join(', ')}), true)`
  return { days, whole, cuts: cut.map(({ says }) => says) }
}

/** Returns the first and the last day of all if they are cut off, by the clock or by the data behind the rows. */
async function cutDaysOf(first: number, last: number, context: MethodContext) {
  if (first === last) return []
  const begun = await firstCut(DAY, first, last, context)
  const ended = await lastCut(DAY, last, first, context)
  const until = ended && (ended.by === 'clock' ? 'is not over yet' : `has data only until ${ended.at}`)
  return [
    ...(begun === null ? [] : [{ at: first, says: `${dayInWords(first)} has data from ${begun} on` }]),
    ...(until === null ? [] : [{ at: last, says: `${dayInWords(last)} ${until}` }]),
  ]
}

/** Says "This period has 3 days more." */
export function unequalDays([before, after]: readonly [Side, Side], days: readonly [number, number]): Doubt {
  const more = days[1] - days[0]
  const named = (more > 0 ? after : before).named
  return doubt('periods_unequal', `${opening(named)} has ${count(Math.abs(more), 'day')} more.`)
}
