/**
 * cohorts: tells how many ids come back, by the period in which each was first seen.
 * An id belongs to the period of its first row; it is retained k periods later if it has a row in that period. The size
 * of a cohort never changes. Periods that are not complete (periods.ts) have no number, neither as cohorts nor as
 * cells. The best and the worst cohort are named where their rates differ after a correction for all pairs of cohorts.
 * Intervals by Wilson (JASA 22, 1927) at 95 %. DuckDB groups the rows. One row is fetched for each cell of the latest
 * 60 cohorts.
 */
import { Type } from '@assay/model/schema'
import type { ColumnMeaning } from '@assay/model/template'
import type { Static } from 'typebox'
import { normalUpperQuantile } from '../../numeric/distributions.ts'
import { leftOut } from '../../verdicts/common-doubts.ts'
import { measureOf } from '../../verdicts/measure.ts'
import { nounsOf } from '../../verdicts/nouns.ts'
import { alone, periodInWords } from '../../verdicts/times.ts'
import { doubt, gradeOf, lesser, stopped, verdict } from '../../verdicts/verdict.ts'
import { brief, CERTAINTY, quoted, shareOf } from '../../verdicts/words.ts'
import { testRates, wilson } from '../shared/arms.ts'
import { columnOf } from '../shared/columns.ts'
import { integer, number, rowsWith, text } from '../shared/fields.ts'
import { type Method, quote, type Relation } from '../shared/method.ts'
import { count, figure, percent, probability, range } from '../shared/sentence.ts'
import { type Bucket, completePeriods, Period } from '../shared/time/periods.ts'

const Options = Type.Object(
  { id: Type.String(), time: Type.String(), every: Period },
  { additionalProperties: false },
)

const METHOD = 'cohorts by first period, Wilson intervals'
const MOST = 60
const CELL = { size: integer, period: integer, retained: integer, rate: number, low: number, high: number }

interface Retention {
  size: number
  /** The number of periods since the first. */
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
  prints: () => true,
  fields: { rows: rowsWith({ cohort: text, ...CELL }), curve: rowsWith(CELL) },
  async run(table, options, context) {
    const { id, time, every } = options as Static<typeof Options>
    const name = quote(columnOf(table, 'id', id).name)
    const present = `case when ${name} is not null then 1::double end`
    const asked = { time, period: every, value: present, aggregate: 'sum' as const, empty: true }
    const { complete, doubts: cut, left } = await completePeriods(table, asked, context)
    const doubts = [...cut, ...leftOut(left, 'without an id or a time')]
    const listed = complete.slice(-MOST)
    if (listed.length < 2) {
      const says = `There ${listed.length === 1 ? 'is one complete period' : 'is no complete period'}; cohorts need at least two.`
      const told = stopped(says, doubt('too_few', says), doubts)
      return { ...told, n: 0, method: METHOD, rows: [], curve: [] }
    }
    const rows = rowsOf(listed, await cellsOf(table, name, listed))
    const curve = curveOf(rows, listed.length)
    const n = rows.reduce((sum, row) => sum + (row.period === 0 ? row.size : 0), 0)
    const found = extremesOf(rows)
    const told = verdict({
      headline: curve[1]
        ? headline(curve, unitOf(every, listed, context.meanings.get(time.toLowerCase())), found)
        : '',
      grade: found?.named ? lesser('firm', gradeOf(found.p)) : 'firm',
      evidence: evidence({ id: measureOf(context.meanings, id).label, n, listed, complete, curve, found }),
      doubts: [...doubtsOf(curve, found), ...doubts],
    })
    return { ...told, n, method: METHOD, rows, curve }
  },
}

function doubtsOf(curve: readonly Retention[], found: Extremes | null) {
  if (!curve[1]) return [doubt('too_few', 'No cohort has reached its second period.')]
  if (!found || found.pairs < 2) return []
  return [
    doubt(
      'many_tests',
      `${found.cohorts} cohorts were compared with each other; the answer allows for that.`,
    ),
  ]
}

function rowsOf(listed: readonly Bucket[], cells: Map<string, number>): Row[] {
  return listed.flatMap((bucket, cohort) => {
    const size = cells.get(`${cohort} ${cohort}`) ?? 0
    if (size === 0) return []
    const seen = listed
      .slice(cohort)
      .map((_, period) => retention(size, period, cells.get(`${cohort} ${cohort + period}`) ?? 0))
    // The present period has not ended, so it has no number.
    const open = { size, period: listed.length - cohort, retained: null, rate: null, low: null, high: null }
    return [...seen, open].map((cell) => ({ cohort: bucket.label, ...cell }))
  })
}

/**
 * Returns the number of ids of each cohort with a row in each period. A key is "cohort period", both as indexes in the
 * list.
 */
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

/** Returns the retention of all cohorts together. Each age counts the cohorts that have reached it. */
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

type Row = Retention & { cohort: string }

interface Extremes {
  best: Row
  worst: Row
  /** The p of the test of the two, corrected for all pairs. */
  p: number
  pairs: number
  cohorts: number
  /** Whether they differ by more than chance. */
  named: boolean
}

/**
 * Returns the cohorts with the highest and the lowest retention in their second period, or null with fewer than two.
 */
function extremesOf(rows: readonly Row[]): Extremes | null {
  const second = rows.filter((row) => row.period === 1 && row.retained !== null)
  if (second.length < 2) return null
  const sorted = second.toSorted((a, b) => b.rate! - a.rate!)
  const [best, worst] = [sorted[0]!, sorted.at(-1)!]
  const counted = ({ size, retained }: Row) => ({ n: size, successes: retained! })
  const pairs = (second.length * (second.length - 1)) / 2
  const p = Math.min(1, pairs * testRates(counted(best), counted(worst), 'auto').p)
  return { best, worst, p, pairs, cohorts: second.length, named: gradeOf(p) !== 'unclear' }
}

/** What a period is called: "month", or by the label of a time in numbers, such as "term". */
interface Unit {
  one: string
  many: string
  /** Names a cohort by its first period. */
  named: (who: 'the newcomers' | 'those', cohort: string) => string
}

function unitOf(every: Period, listed: readonly Bucket[], meaning: ColumnMeaning | undefined): Unit {
  const named: Unit['named'] = (who, cohort) => `${who} of ${quoted(cohort)}`
  if (typeof every === 'string')
    return {
      one: every,
      many: `${every}s`,
      named: (who, cohort) => {
        const { start } = listed.find(({ label }) => label === cohort)!
        return `${who} of ${alone(periodInWords(start, every))}`
      },
    }
  if (!meaning?.label) return { one: 'period', many: 'periods', named }
  const { one, many } = nounsOf(meaning.label)
  return { one, many, named: (who, cohort) => `${who} of ${one} ${quoted(cohort)}` }
}

function headline(curve: readonly Retention[], unit: Unit, found: Extremes | null): string {
  const next = curve[1]!
  const later = curve.at(-1)!
  const end =
    later.period > 1
      ? `; of the first ${brief(later.size)} newcomers ${someOf(later)} were there ${later.period} ${unit.many} after`
      : ''
  const start = `Of ${brief(next.size)} newcomers ${someOf(next)} came back in the next ${unit.one}${end}`
  if (!found?.named) return `${start}${found ? '; no cohort clearly stands out' : ''}.`
  return (
    `${start}; ${unit.named('the newcomers', found.best.cohort)} ${CERTAINTY[gradeOf(found.p)]} did better (${shareOf(found.best.rate)}) than ` +
    `${unit.named('those', found.worst.cohort)} (${shareOf(found.worst.rate)}).`
  )
}

const someOf = ({ rate }: Retention): string => (rate === 0 ? 'none' : shareOf(rate))

function evidence(given: {
  id: string
  n: number
  listed: readonly Bucket[]
  complete: readonly Bucket[]
  curve: readonly Retention[]
  found: Extremes | null
}): string {
  const { id, n, listed, complete, curve, found } = given
  const next = curve[1]
  const told = next
    ? `; ${next.retained} of ${figure(next.size)} in the next period (${percent(next.rate)}, 95 % interval ${range(next.low, next.high, percent)})`
    : ''
  const pair = found
    ? `; ${quoted(found.best.cohort)} ${percent(found.best.rate)} beside ${quoted(found.worst.cohort)} ${percent(found.worst.rate)}, ${probability(found.p)} corrected for ${count(found.pairs, 'pair')}`
    : ''
  const left =
    complete.length > listed.length
      ? `; of ${complete.length} periods the latest ${listed.length} are shown`
      : ''
  return `${figure(n)} counted by ${id}${told}${pair}${left}. Who is in the first cohort may have been there before the data begin.`
}
