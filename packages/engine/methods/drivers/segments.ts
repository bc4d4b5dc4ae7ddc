/**
 * Splits the change by one attribute at a time. A sum splits into its segments' changes. A ratio R = sum(w r), with w a
 * segment's share of the denominator and r its rate, splits in midpoint form: mix = dw (mean r - mean R), rate = mean w
 * dr. Both are exact: the parts add up to the change without a residual and do not depend on which period is called the
 * first. A segment that occurs in one period only has no rate in the other, so its whole part is mix. Dimensions are
 * ordered by their surprise, the Jensen-Shannon divergence of their shares (Bhagwan et al., Adtributor, NSDI 2014).
 * DuckDB computes exact sums for each segment. For each dimension the 200 segments with the largest changes are
 * fetched, and the others as one.
 */
import type { Cell } from '@assay/model/insight'
import { exactSum } from '../../numeric/sum.ts'
import { columnOf, nameSql, numberSql } from '../shared/columns.ts'
import { type Ends, type Part, partsOfRatio, partsOfSum, surprise } from '../shared/decomposition.ts'
import { quote, type Relation } from '../shared/method.ts'
import { finite } from '../shared/sentence.ts'
import { exactSumSql, powerAbove, readSum } from '../shared/sums.ts'
import type { Table } from './leaves.ts'
import type { Options } from './options.ts'
import type { Sides } from './sides.ts'

export const MOST = 200
export const OTHER = '(other)'

export interface Segment extends Part {
  by: string
  segment: string | null
}

export interface Dimension {
  by: string
  ends: Ends[]
  names: (string | null)[]
  surprise: number
}

export async function dimensionsOf(
  table: Relation,
  options: Options,
  sides: Sides,
): Promise<{ n: number; dimensions: Dimension[] }> {
  const dimensions: Dimension[] = []
  let n = 0
  for (const by of options.by) {
    const found = await endsOf(table, options, by, sides)
    n = found.n
    dimensions.push({ by, ...found, surprise: surprise(found.ends, options.denominator !== undefined) })
  }
  return { n, dimensions: dimensions.toSorted((a, b) => b.surprise - a.surprise) }
}

/** Returns the same from leaves, for a side that is a forecast and has no rows. */
export function dimensionsOfLeaves(leaves: Table, options: Options): Dimension[] {
  const ratio = options.denominator !== undefined
  const dimensions = options.by.map((by, attribute): Dimension => {
    const codes = leaves.codes[attribute]!
    const all = leaves.names[attribute]!.map(
      (name, code): Named => ({
        name: code === leaves.rare[attribute] ? OTHER : textOf(name),
        ends: { top: [0, 0], bottom: [0, 0] },
      }),
    )
    for (const [leaf, code] of codes.entries())
      for (const [side, sums] of [leaves.before, leaves.after].entries()) {
        all[code]!.ends.top[side]! += sums.top[leaf]!
        all[code]!.ends.bottom[side]! += ratio ? sums.bottom[leaf]! : sums.rows[leaf]!
      }
    const size = ({ ends: { top, bottom } }: Named): number =>
      ratio ? bottom[0] + bottom[1] : Math.abs(top[1] - top[0])
    const sorted = all.toSorted((a, b) => size(b) - size(a))
    const rest = sorted.slice(MOST)
    const sum = (part: 'top' | 'bottom', side: 0 | 1): number =>
      exactSum(rest.map(({ ends }) => ends[part][side]))
    const kept = sorted.slice(0, MOST)
    if (rest.length > 0)
      kept.push({
        name: OTHER,
        ends: { top: [sum('top', 0), sum('top', 1)], bottom: [sum('bottom', 0), sum('bottom', 1)] },
      })
    const ends = kept.map((one) => one.ends)
    return { by, ends, names: kept.map(({ name }) => name), surprise: surprise(ends, ratio) }
  })
  return dimensions.toSorted((a, b) => b.surprise - a.surprise)
}

const textOf = (name: Cell): string | null =>
  name === null ? null : typeof name === 'string' ? name : JSON.stringify(name)

interface Named {
  name: string | null
  ends: Ends
}

/** Returns the segments of all dimensions, in each dimension the largest changes first. */
export function segmentsOf(dimensions: readonly Dimension[], ratio: boolean): Segment[] {
  return dimensions.flatMap(({ by, ends, names }) =>
    (ratio ? partsOfRatio(ends) : partsOfSum(ends))
      .map((part, index): Segment => ({ by, segment: names[index]!, ...part }))
      .toSorted((a, b) => Math.abs(b.change ?? 0) - Math.abs(a.change ?? 0)),
  )
}

function rowsSql(table: Relation, options: Options, by: string, sides: Sides): string {
  const segment = quote(columnOf(table, 'by', by).name)
  const name = `${nameSql(segment)} as s`
  const option = options.value === undefined ? 'numerator' : 'value'
  const top = numberSql(table, option, options.value ?? options.numerator!)
  const bottom =
    options.denominator === undefined ? '1::double' : numberSql(table, 'denominator', options.denominator)
  if (options.expected === undefined)
    return `(select ${name}, ${sides.after.where} as later, ${top} as a, ${bottom} as b from ${table.relation}
      where (${sides.before.where}) or (${sides.after.where}))`
  const expected = numberSql(table, 'expected', options.expected)
  const finite = `where isfinite(${top}) and isfinite(${expected})`
  return `(select ${name}, true as later, ${top} as a, 1::double as b from ${table.relation} ${finite}
    union all select ${name}, false, ${expected}, 1::double from ${table.relation} ${finite})`
}

/** Returns the sums of each segment on both sides: the largest changes first, the others combined into one. */
async function endsOf(table: Relation, options: Options, by: string, sides: Sides) {
  const kept = `(select * from ${rowsSql(table, options, by, sides)} where isfinite(a) and isfinite(b))`
  const [range] = await table.query(`select count(*) as n, max(abs(a)) as a, max(abs(b)) as b from ${kept}`)
  if (range!.n === 0) return { n: 0, ends: [], names: [] }
  const a = powerAbove(range!.a as number)
  const b = powerAbove(range!.b as number)
  const side = (later: string, column: string, bound: number): string =>
    exactSumSql(`case when ${later} then ${column} else 0 end`, bound)
  const weight =
    options.denominator === undefined ? 'abs(fsum(case when later then a else -a end))' : 'fsum(abs(b))'
  const found = await table.query(
    `with kept as (select * from ${kept}),
       sizes as (select s, row_number() over (order by ${weight} desc, s) as place from kept group by s),
       named as (select case when place <= ${MOST} then kept.s else '${OTHER}' end as name, place > ${MOST} as rest, later, a, b
         from kept join sizes on kept.s is not distinct from sizes.s)
     select name, rest, ${side('not later', 'a', a)} as a0, ${side('later', 'a', a)} as a1,
       ${side('not later', 'b', b)} as b0, ${side('later', 'b', b)} as b1
     from named group by name, rest order by rest, name`,
  )
  const ends = found.map(
    (row): Ends => ({
      top: [readSum(row.a0, a), readSum(row.a1, a)],
      bottom: [readSum(row.b0, b), readSum(row.b1, b)],
    }),
  )
  return { n: range!.n as number, ends, names: found.map((row) => row.name as string | null) }
}

export function totals(ends: readonly Ends[], ratio: boolean) {
  const [before, after] = [0, 1].map((side) => {
    const top = exactSum(ends.map((end) => end.top[side]!))
    return ratio ? top / exactSum(ends.map((end) => end.bottom[side]!)) : top
  })
  return { before: finite(before!), after: finite(after!), change: finite(after! - before!) }
}

/** Returns the side that has nothing to compare, or null if both have something. */
export function emptySide(ends: readonly Ends[], sides: Sides): Sides['before'] | null {
  for (const [index, side] of [sides.before, sides.after].entries())
    if (exactSum(ends.map((end) => end.bottom[index]!)) === 0) return side
  return null
}
