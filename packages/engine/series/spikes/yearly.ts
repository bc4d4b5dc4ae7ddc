/**
 * Days of the year that stand out again and again, such as 25 December or the fourth Thursday of November. In a year
 * with many of them the tails are heavy, and none stands out by itself. But tails cannot explain that the same day
 * stands out every year.
 *
 * Each day is known by its date and by its weekday's place in the month, counted from either end. The normal scores
 * (van der Waerden) of the residuals on a day of all years, over the root of their number, are normal where nothing
 * happens on it, whatever the tails.
 */
import { dayText, weekdayOf } from '@assay/model/dates'
import { benjaminiHochberg } from '../../methods/shared/multiplicity.ts'
import { normalTwoSided, normalUpperQuantile } from '../../numeric/distributions.ts'

/** The fewest days. Fewer show too few days of the year twice. */
export const LEAST_DAYS = 700
const LEAST_YEARS = 2

/**
 * Returns the values on such days, each with its chance after the search. The correction is for false discoveries
 * (Benjamini and Hochberg 1995), so `alpha` is the chance of any false one if there is none. `days` are days since
 * 1970-01-01, ascending. `residuals` are those from seasons and neighbours. `known` are values that were found before.
 */
export function yearlyDays(
  days: readonly number[],
  residuals: ArrayLike<number>,
  alpha: number,
  known: ReadonlyMap<number, number> = new Map(),
): Map<number, number> {
  const found = new Map(known)
  const free = [...days.keys()].filter((index) => !known.has(index))
  const scores = normalScores(free.map((index) => residuals[index]!))
  const named = free.flatMap((index, at) => namesOf(days[index]!).map((name) => ({ name, index, at })))
  const tested = [...Map.groupBy(named, ({ name }) => name).values()]
    .filter((group) => group.length >= LEAST_YEARS)
    .map((group) => {
      const sum = group.reduce((total, { at }) => total + scores[at]!, 0)
      return { group, sum, p: normalTwoSided(sum / Math.sqrt(group.length)) }
    })
  const adjusted = benjaminiHochberg(tested.map(({ p }) => p))
  for (const [place, { group, sum }] of tested.entries()) {
    const p = adjusted[place]!
    if (p > alpha) continue
    for (const { index, at } of group)
      if (scores[at]! * sum > 0) found.set(index, Math.min(p, found.get(index) ?? 1))
  }
  return found
}

/**
 * Returns the names of a day: "12-25", and "11 4 4" and "11 -1 4" for the fourth, and the last, Thursday of November.
 */
function namesOf(day: number): string[] {
  const text = dayText(day)
  const [month, date] = [text.slice(5, 7), Number(text.slice(8, 10))]
  const weekday = weekdayOf(day)
  const last = dayText(day + 7).slice(5, 7) !== month
  return [
    text.slice(5, 10),
    `${month} ${Math.ceil(date / 7)} ${weekday}`,
    ...(last ? [`${month} -1 ${weekday}`] : []),
  ]
}

function normalScores(values: ArrayLike<number>): Float64Array {
  const n = values.length
  const order = Array.from({ length: n }, (_, index) => index).toSorted((a, b) => values[a]! - values[b]!)
  const scores = new Float64Array(n)
  for (let from = 0; from < n; ) {
    let to = from
    while (to + 1 < n && values[order[to + 1]!] === values[order[from]!]) to += 1
    const score = -normalUpperQuantile(((from + to) / 2 + 1) / (n + 1))
    for (let rank = from; rank <= to; rank++) scores[order[rank]!] = score
    from = to + 1
  }
  return scores
}
