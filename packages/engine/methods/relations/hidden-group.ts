/**
 * Tells whether a link of two columns reverses, or disappears, within the values of a third column of the same rows
 * (Simpson, JRSS B 13, 1951). The link is that of the values about their means within each group (the pooled
 * within-group correlation); a category of two values counts as 0 and 1. Up to eight columns of 2 to 20 values are
 * tried, each in one pass.
 */
import type { Column, Doubt } from '@assay/model/insight'
import { studentTwoSided } from '../../numeric/distributions.ts'
import { type Meanings, measureOf } from '../../verdicts/measure.ts'
import { doubt, LIKELY } from '../../verdicts/verdict.ts'
import { groupSql, nameSql, numberSql } from '../shared/columns.ts'
import { quote, type Relation } from '../shared/method.ts'
import { valuesThere, withinThere } from '../there/correlation.ts'

const MOST_COLUMNS = 8
const MOST_VALUES = 20
/** The fewest rows of a group, on average. */
const LEAST_ROWS = 10
/**
 * The least share of a column's variance that a group must leave. A group that leaves less repeats the column, and the
 * link disappears only because its range does.
 */
const LEAST_LEFT = 0.2

export interface Crude {
  /** SQL expressions that yield numbers. */
  x: string
  y: string
  /** The columns, if a database computes. */
  there?: readonly [string, string]
  /** Columns that make up the link. */
  own: readonly string[]
  /** Their correlation, or a number of its sign and size. */
  r: number
}

export async function hiddenGroup(table: Relation, crude: Crude, meanings: Meanings): Promise<Doubt[]> {
  const found: { name: string; within: Within }[] = []
  for (const column of await candidates(table, crude.own)) {
    const { name } = column
    const within = withinOf(
      crude.there && table.there
        ? await withinThere(table.there, crude.there, column)
        : await sumsHere(table, crude, name),
    )
    const turned = within.r * crude.r < 0 && within.p <= LIKELY
    const gone = within.p > LIKELY && Math.abs(within.r) < Math.abs(crude.r) / 2 && within.left >= LEAST_LEFT
    if (turned || gone) found.push({ name, within })
  }
  const [most] = found.toSorted((a, b) => Math.abs(b.within.r - crude.r) - Math.abs(a.within.r - crude.r))
  if (!most) return []
  const { label } = measureOf(meanings, most.name)
  const what = most.within.p <= LIKELY ? 'points the other way' : 'is gone'
  return [
    doubt(
      'mix_hides_rates',
      `Within the values of ${label} this link ${what} (Simpson's paradox): compare like with like before you act on it.`,
    ),
  ]
}

/**
 * Makes the same check for the means of a value in two groups. `strength` is above zero if `first` is the higher one.
 */
export async function hiddenBetween(
  table: Relation,
  { value, by, first, strength }: { value: string; by: string; first: string; strength: number },
  meanings: Meanings,
): Promise<Doubt[]> {
  const x = flagSql(table, 'by', by, first)
  return hiddenGroup(
    table,
    { x, y: numberSql(table, 'value', value), own: [value, by], r: strength },
    meanings,
  )
}

/** Returns SQL that is 1 if a column has this value, and 0 if it has another. */
export function flagSql(table: Relation, option: string, name: string, value: string): string {
  const column = groupSql(table, option, name)
  return `case when ${nameSql(column)} = '${value.replaceAll("'", "''")}' then 1.0 when ${column} is not null then 0.0 end`
}

async function candidates(table: Relation, own: readonly string[]): Promise<Column[]> {
  const names = own.map((name) => name.toLowerCase())
  const columns = table.columns.filter(
    ({ name, type }) => ['text', 'boolean', 'integer'].includes(type) && !names.includes(name.toLowerCase()),
  )
  if (columns.length === 0) return []
  const { n, values: found } = table.there
    ? await valuesThere(table.there, columns)
    : await valuesHere(table, columns)
  const fits = (values: number): boolean => values >= 2 && values <= MOST_VALUES && values * LEAST_ROWS <= n
  return columns.filter((_, index) => fits(found[index]!)).slice(0, MOST_COLUMNS)
}

async function valuesHere(
  table: Relation,
  columns: readonly Column[],
): Promise<{ n: number; values: number[] }> {
  const counts = columns.map(({ name }, index) => `count(distinct ${quote(name)}) as c${index}`)
  const [row] = await table.query(`select count(*) as n, ${counts.join(', ')} from ${table.relation}`)
  return { n: row!.n as number, values: columns.map((_, index) => row![`c${index}`] as number) }
}

interface Within {
  r: number
  p: number
  /** The smaller of the shares of variance that the groups leave of the two columns. */
  left: number
}

type Sums = Record<'n' | 'groups' | 'xy' | 'xx' | 'yy' | 'whole_x' | 'whole_y', number>

async function sumsHere(table: Relation, { x, y }: Crude, name: string): Promise<Sums> {
  const [row] = await table.query(
    `with r as (select ${groupSql(table, 'by', name)} as g, cast(${x} as double) as x, cast(${y} as double) as y from ${table.relation}),
       k as (select * from r where g is not null and isfinite(x) and isfinite(y)),
       c as (select favg(x) as mx, favg(y) as my, max(abs(x)) as sx, max(abs(y)) as sy from k),
       d as (select g, x / sx - mx / sx as x, y / sy - my / sy as y from k, c),
       s as (select count(*) as n, sum(x) as x, sum(y) as y, sum(x * x) as xx, sum(y * y) as yy, sum(x * y) as xy from d group by g)
     select sum(n) as n, count(*) as groups, sum(xy - x * y / n) as xy, sum(xx - x * x / n) as xx, sum(yy - y * y / n) as yy,
       sum(xx) as whole_x, sum(yy) as whole_y from s`,
  )
  return row as Sums
}

function withinOf(sums: Sums): Within {
  const left = Math.min(sums.xx / sums.whole_x, sums.yy / sums.whole_y)
  const df = sums.n - sums.groups - 1
  const r = sums.xy / Math.sqrt(sums.xx) / Math.sqrt(sums.yy)
  if (!(df > 0 && left > 1e-9) || !Number.isFinite(r)) return { r: 0, p: 1, left: 0 }
  if (Math.abs(r) >= 1) return { r, p: 0, left }
  return { r, p: studentTwoSided(r * Math.sqrt(df / ((1 - r) * (1 + r))), df), left }
}
