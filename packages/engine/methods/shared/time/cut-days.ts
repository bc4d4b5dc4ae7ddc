/** Tells from the times of rows whether the data begin or end within a day, or end within an hour. */

export interface DayRows {
  n: number
  /** Minutes after midnight of the first and of the last row. */
  first: number
  last: number
}

/** Returns SQL of the minutes after midnight of the first or the last of the times `t` of a day. */
export const clockSql = (end: 'min' | 'max', t = 't'): string =>
  `datediff('minute', date_trunc('day', ${end}(${t}::timestamp)), ${end}(${t}::timestamp))`

/** Writes minutes after midnight as "08:05". */
export const clock = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`

const LEAST_WHOLE_DAYS = 8
/** A share of a day. A day that ends less than this before all others is not cut off. */
const LEAST_LACKING = 1 / 24
const DAY = 1440
/** Days with fewer rows do not show when a day ends. */
const LEAST_ROWS = 5

/**
 * Tells which day at either end is cut off. Two rules apply. A day is cut off if it begins later, or ends earlier, than
 * nineteen in twenty of the others and has fewer than half the median number of rows. It is also cut off if the
 * distance exceeds both an hour and the range of all others, and either days have five rows or all others begin or end
 * at the same minute with more rows.
 */
export function cutDays(days: readonly DayRows[]): { first: boolean; last: boolean } {
  const others = days.slice(1, -1)
  const [head, tail] = [days[0]!, days.at(-1)!]
  return {
    first: isCut(head.n, head.first, others, ({ first }) => first, DAY),
    last: endsEarly(tail, others, DAY),
  }
}

/** Tells whether a step ends earlier than others, by the rule for days. `units` is its length on its clock. */
export function endsEarly(step: DayRows, others: readonly DayRows[], units: number): boolean {
  return isCut(step.n, -step.last, others, ({ last }) => -last, units)
}

function isCut(
  n: number,
  at: number,
  others: readonly DayRows[],
  end: (one: DayRows) => number,
  units: number,
): boolean {
  if (others.length < LEAST_WHOLE_DAYS) return false
  const usual = spreadOf(others.map((one) => one.n)).middle
  const { most, high, range } = spreadOf(others.map(end))
  if (2 * n < usual && at > high) return true
  const tells = usual >= LEAST_ROWS || (range === 0 && n < usual)
  return tells && at - most > Math.max(LEAST_LACKING * units, range)
}

function spreadOf(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))]!
  const most = sorted.at(-1)!
  return { middle: at(0.5), high: at(0.95), most, range: most - sorted[0]! }
}
