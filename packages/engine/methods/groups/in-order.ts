/**
 * Tells whether rows that are compared by group form a series whose neighbours are alike, and whose groups are
 * stretches of it. Any two stretches of such a series differ by chance. So their means are judged under errors as
 * persistent as those of the rows (series/persistence/persistent-regression.ts). If there are more rows than that test
 * accepts, they count as the number of independent rows with the same information: n (1 - a) / (1 + a), with the lag-1
 * correlation a of the residuals from the groups.
 */
import type { Doubt } from '@assay/model/insight'
import { fUpper } from '../../numeric/distributions.ts'
import { classicAnova } from '../../numeric/tests/means.ts'
import { persistentTest } from '../../series/persistence/persistent-regression.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { alikeFrom, PERSISTENT_ROWS, seriesOrder } from '../relations/series-order.ts'
import type { Relation } from '../shared/method.ts'
import type { GroupMoments } from '../shared/moments.ts'
import { probability } from '../shared/sentence.ts'
import { MOST_PAIRED, sampleOf } from './level.ts'

const LEAST = 20
/** The most rows that are ordered. Ordering more rows costs more than the answer is worth. */
const MOST = 100_000
/**
 * The most steps from row to row, as a share, that rise or fall. With more, the rows are sorted by value and are no
 * series.
 */
const MOST_ONE_WAY = 0.75

export interface InOrder {
  /** The p of the difference of means, as an analysis of variance. */
  p: number
  doubts: Doubt[]
}

/**
 * Returns the judgement, or null if the rows are no such series. `group` and `value` are SQL over the table's columns.
 */
export async function groupsInOrder(
  table: Relation,
  [group, value]: readonly [string, string],
  groups: readonly GroupMoments[],
): Promise<InOrder | null> {
  const n = groups.reduce((sum, one) => sum + one.n, 0)
  if (n < LEAST || n > MOST || groups.length < 2) return null
  const order = await seriesOrder(table)
  if (table.unordered && !order.dated) return null
  const source = `(select ${order.sql} as t, ${group} as g, ${value} as v from ${table.relation})`
  const rows = `(select t, g, v, v - avg(v) over (partition by g) as e from ${source} where g is not null and isfinite(v))`
  const [row] = await table.query(
    `with l as (select v, g, e, lag(v) over w as pv, lag(g) over w as pg, lag(e) over w as pe from ${rows} window w as (order by t))
     select sum(e * pe) / nullif(sum(e * e), 0) as a, count(*) filter (g = pg) as same, count(*) filter (v > pv) as up,
       count(*) filter (v < pv) as down from l`,
  )
  const { a, same, up, down } = row as Record<'a' | 'same' | 'up' | 'down', number>
  const chance = groups.reduce((sum, one) => sum + (one.n / n) ** 2, 0)
  const stretches = same / (n - 1) > chance + 2.58 * Math.sqrt((chance * (1 - chance)) / n)
  const oneWay = Math.max(up, down) > MOST_ONE_WAY * (up + down)
  if (!(a > alikeFrom(n, order.dated)) || !stretches || (oneWay && !order.dated)) return null
  const says = order.dated
    ? 'The rows are a series whose neighbours are alike; stretches of such a series differ by chance, and the certainty allows for that.'
    : 'Neighbouring rows are alike in the order of the data, as in a series; stretches of a series differ by chance, and the certainty allows for that. If the rows have dates, add them.'
  const p = (await persistentP(table, rows, groups, n)) ?? lessRows(groups, n, a)
  return { p, doubts: [doubt('series_autocorrelated', says)] }
}

/** Returns what the evidence adds if the rows are a series. */
export const besideNeighbours = (p: number | null): string =>
  p === null ? '' : ` Beside alike neighbours ${probability(p)}.`

async function persistentP(
  table: Relation,
  source: string,
  groups: readonly GroupMoments[],
  n: number,
): Promise<number | null> {
  if (n > PERSISTENT_ROWS || groups.length > MOST_PAIRED) return null
  const rows = await table.query(
    `select dense_rank() over (order by g) as place, v, t from ${source} order by t`,
  )
  const places = rows.map((row) => row.place as number)
  const values = rows.map((row) => row.v as number)
  const size = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1
  const members = groups.slice(1).map((_, index) => places.map((place) => (place === index + 2 ? 1 : 0)))
  const fit = persistentTest(
    values.map((value) => value / size),
    [values.map(() => 1)],
    members,
  )
  return fit?.p ?? null
}

function lessRows(groups: readonly GroupMoments[], n: number, a: number): number {
  const { f, df_between: between } = classicAnova(groups.map(sampleOf))
  const worth = (1 - Math.min(a, 0.999)) / (1 + a)
  return fUpper(f * worth, between, Math.max(1, n * worth - groups.length))
}
