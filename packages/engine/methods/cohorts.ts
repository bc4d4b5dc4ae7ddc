/**
 * cohorts: how many come back, by the period in which they were first seen.
 *
 * An id belongs to the period of its first row; it is retained k periods later if it has a row in that period. The size
 * of a cohort never changes. Periods that are not complete (periods.ts) have no number, neither as cohorts nor as cells.
 * Intervals by Wilson (JASA 22, 1927) at 95%. Grouped in DuckDB; one row for each cell is fetched, of the latest 60 cohorts.
 */
import Type, { type Static } from 'typebox'
import { normalUpperQuantile } from '../numeric/distributions.ts'
import { wilson } from './shared/arms.ts'
import { columnOf } from './shared/columns.ts'
import { integer, number, rowsWith, text } from './shared/fields.ts'
import { type Method, quote, type Relation } from './shared/method.ts'
import { type Bucket, completePeriods, Period } from './shared/periods.ts'
import { count, figure, label, percent } from './shared/sentence.ts'

const Options = Type.Object(
  { id: Type.String(), time: Type.String(), every: Period },
  { additionalProperties: false },
)

const METHOD = 'cohorts by first period, Wilson intervals'
const MOST = 60
const CELL = { size: integer, period: integer, retained: integer, rate: number, low: number, high: number }

interface Retention {
  size: number
  /** Periods since the first. */
  period: number
  retained: number | null
  rate: number | null
  low: number | null
  high: number | null
}

export const cohorts: Method = {
  name: 'cohorts',
  options: Options,
  columns(options) {
    const { id, time } = options as Static<typeof Options>
    return [
      { option: 'id', column: id, numeric: false },
      { option: 'time', column: time, numeric: false },
    ]
  },
  fields: { rows: rowsWith({ cohort: text, ...CELL }), curve: rowsWith(CELL) },
  async run(table, options, context) {
    const { id, time, every } = options as Static<typeof Options>
    const name = quote(columnOf(table, 'id', id).name)
    const present = `case when ${name} is not null then 1::double end`
    const asked = { time, period: every, value: present, aggregate: 'sum' as const, empty: true }
    const { complete, doubts } = await completePeriods(table, asked, context)
    const notes = doubts.map(({ says }) => says)
    const listed = complete.slice(-MOST)
    if (complete.length > MOST) notes.push(`${complete.length} cohorts; the latest ${MOST} are shown.`)
    if (listed.length < 2) {
      const summary = `Not enough data for cohorts of ${id}: ${count(listed.length, 'complete period')}, and two are needed.`
      return { summary, n: 0, method: METHOD, notes, rows: [], curve: [] }
    }
    const cells = await cellsOf(table, name, listed)
    const rows = listed.flatMap((bucket, cohort) => {
      const size = cells.get(`${cohort} ${cohort}`) ?? 0
      if (size === 0) return []
      const seen = listed
        .slice(cohort)
        .map((_, period) => retention(size, period, cells.get(`${cohort} ${cohort + period}`) ?? 0))
      // The present period is not over and has no number yet.
      const open = { size, period: listed.length - cohort, retained: null, rate: null, low: null, high: null }
      return [...seen, open].map((cell) => ({ cohort: bucket.label, ...cell }))
    })
    const curve = curveOf(rows, listed.length)
    const n = rows.reduce((sum, row) => sum + (row.period === 0 ? row.size : 0), 0)
    const found = [...notes, 'Ids of the first cohort may have been there before the data begin.']
    return { summary: sentence(id, n, rows, curve), n, method: METHOD, notes: found, rows, curve }
  },
}

/** The number of ids of each cohort with a row in each period, keyed "cohort period" (both indexes in the list). */
async function cellsOf(
  table: Relation,
  id: string,
  periods: readonly Bucket[],
): Promise<Map<string, number>> {
  const cases = periods.map((bucket, index) => `when ${bucket.where} then ${index}`)
  // Ids seen before the first listed period belong to an earlier cohort.
  const place = `case when ${periods[0]!.earlier} then -1 ${cases.join(' ')} end`
  const rows = await table.query(
    `with seen as (select distinct ${id} as id, ${place} as place from ${table.relation} where ${id} is not null),
       firsts as (select id, min(place) as cohort from seen group by id)
     select cohort, place, count(*) as n from seen join firsts using (id) where cohort >= 0 and place is not null
     group by cohort, place`,
  )
  return new Map(rows.map((row) => [`${row.cohort as number} ${row.place as number}`, row.n as number]))
}

function retention(size: number, period: number, retained: number): Retention {
  const interval = period === 0 ? { low: 1, high: 1 } : wilson(retained, size, normalUpperQuantile(0.025))
  return { size, period, retained, rate: retained / size, ...interval }
}

/** All cohorts together: at each age those that have reached it. */
function curveOf(rows: readonly Retention[], periods: number): Retention[] {
  return Array.from({ length: periods }, (_, period) => {
    const cells = rows.filter((row) => row.period === period && row.retained !== null)
    const size = cells.reduce((sum, cell) => sum + cell.size, 0)
    return retention(
      size,
      period,
      cells.reduce((sum, cell) => sum + cell.retained!, 0),
    )
  }).filter((cell) => cell.size > 0)
}

function sentence(
  id: string,
  n: number,
  rows: readonly (Retention & { cohort: string })[],
  curve: readonly Retention[],
): string {
  const cohortCount = rows.filter((row) => row.period === 0).length
  const next = curve[1]
  if (!next) return `Not enough data for retention of ${id}: no cohort has reached its second period.`
  const later = curve.at(-1)!
  const end =
    later.period > 1
      ? `; after ${count(later.period, 'period')} ${percent(later.rate)} of those who could`
      : ''
  const first = rows.filter((row) => row.period === 1 && row.retained !== null && row.size >= 10)
  const best = first.toSorted((a, b) => b.rate! - a.rate!)[0]
  const worst = first.toSorted((a, b) => a.rate! - b.rate!)[0]
  const range =
    best && worst && best !== worst
      ? ` The best cohort was ${label(best.cohort)} (${percent(best.rate)}), the worst ${label(worst.cohort)} (${percent(worst.rate)}).`
      : ''
  return (
    `Of ${figure(n)} in ${count(cohortCount, 'cohort')} (counted by ${id}), ${percent(next.rate)} came back in the next period ` +
    `(95% interval ${percent(next.low)} to ${percent(next.high)}, ${next.retained} of ${next.size})${end}.${range}`
  )
}
