/**
 * Whether rows are a series: a date or timestamp column that differs in every row orders them. Neighbours of a series are often
 * alike, and two columns that wander then go together by chance. Their correlation is judged by the number of rows that hold as
 * much information: n (1 - a b) / (1 + a b) of lag-1 correlations a and b (Bartlett, JRSS 98, 1935).
 */
import { isTemporal } from '../shared/columns.ts'
import { quote, type Relation } from '../shared/method.ts'

const LEAST = 10

/** The quoted column that orders the rows, or null. */
export async function seriesOrder(table: Relation): Promise<string | null> {
  for (const column of table.columns.filter(isTemporal)) {
    const name = quote(column.name)
    const [row] = await table.query(
      `select count(*) as n, count(distinct ${name}) as times from ${table.relation} where isfinite(${name})`,
    )
    if ((row!.n as number) >= LEAST && row!.n === row!.times) return name
  }
  return null
}

/** How many independent rows the `n` ordered rows of x and y in `source` are worth; null where neighbours are not alike in both. */
export async function effectiveRows(table: Relation, source: string, n: number): Promise<number | null> {
  const [row] = await table.query(
    `with c as (select favg(x) as mx, favg(y) as my, max(abs(x)) as sx, max(abs(y)) as sy from ${source}),
       d as (select t, x / sx - mx / sx as x, y / sy - my / sy as y from ${source}, c),
       l as (select x, y, lag(x) over (order by t) as px, lag(y) over (order by t) as py from d)
     select sum(x * px) / nullif(sum(x * x), 0) as a, sum(y * py) / nullif(sum(y * y), 0) as b from l`,
  )
  const [a, b] = [row!.a, row!.b].map((value) =>
    typeof value === 'number' && Number.isFinite(value) ? value : 0,
  )
  const bound = 2.58 / Math.sqrt(n)
  if (!(a! > bound && b! > bound)) return null
  return Math.max(3.5, (n * (1 - a! * b!)) / (1 + a! * b!))
}
