/**
 * Counts how many new units come a day. A unit counts on the day of its first row, so a unit that returns is not new.
 * Two rows are fetched.
 */
import type { Units } from '../experiment/units.ts'
import { isTemporal, timeColumn } from '../shared/columns.ts'
import type { Relation } from '../shared/method.ts'
import { double } from '../shared/sums.ts'

export interface Traffic {
  /** The number of units with a value and a day. */
  units: number
  /** The number of days from the first to the last, both counted. */
  days: number
  per_day: number
  /** The last `weeks` weeks and as many before; null if there are fewer than two weeks of days. */
  recent: { weeks: number; per_day: number; before: number } | null
}

/** The longest stretch that counts as days. */
const MOST_DAYS = 1_000_000

/** Reads the traffic. Returns null if no unit has a day, or the column counts something else. */
export async function trafficOf(
  table: Relation,
  { source, metrics }: Units,
  time: string,
): Promise<Traffic | null> {
  const day = isTemporal(timeColumn(table, time)) ? `date_diff('day', date '1970-01-01', day)` : 'floor(day)'
  const days = `(select cast(${day} as double) as d from ${source} where day is not null and ${metrics[0]!.known})`
  const [all] = await table.query(`select count(*) as n, min(d) as first, max(d) as last from ${days}`)
  const units = all!.n as number
  if (units === 0) return null
  const last = all!.last as number
  const span = last - (all!.first as number) + 1
  if (!(span <= MOST_DAYS)) return null
  const traffic = { units, days: span, per_day: units / span }
  const weeks = Math.floor(span / 14)
  if (weeks === 0) return { ...traffic, recent: null }
  const [middle, first] = [double(last - 7 * weeks), double(last - 14 * weeks)]
  const [halves] = await table.query(
    `select count(*) filter (d > ${middle}) as recent, count(*) filter (d > ${first} and d <= ${middle}) as before from ${days}`,
  )
  const perDay = (n: unknown): number => (n as number) / (7 * weeks)
  return { ...traffic, recent: { weeks, per_day: perDay(halves!.recent), before: perDay(halves!.before) } }
}

const FALLEN = 0.8
const BEYOND_CHANCE = 2.58

/** Tells whether new units become fewer: by a fifth or more, and by more than counts vary. */
export function falls({ recent }: Traffic): boolean {
  if (recent === null || recent.per_day > FALLEN * recent.before) return false
  const size = 7 * recent.weeks
  const [now, before] = [recent.per_day * size, recent.before * size]
  return before - now > BEYOND_CHANCE * Math.sqrt(now + before)
}
