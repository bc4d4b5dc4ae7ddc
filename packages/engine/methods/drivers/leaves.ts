/**
 * The leaves of drivers out of DuckDB: one row for each combination of values, with the sums of both sides and what the rows say of
 * their noise. At most 100,000 leaves travel; where there are more, rare values of each attribute become one that no cause
 * can name.
 */
import type { Cell } from '@assay/model/insight'
import type { Leaves } from '../../causes/leaves.ts'
import { cellSql, columnOf, numberSql } from '../shared/columns.ts'
import type { Relation } from '../shared/method.ts'
import type { Options } from './options.ts'
import type { Side } from './sides.ts'

const MOST_LEAVES = 100_000
/** Leaves of earlier periods that travel. */
const MOST_EARLIER = 300_000
const KEPT = [200, 60, 25, 12, 6, 3]

/** Sums of one side, by leaf. */
export interface Sums {
  rows: Float64Array
  top: Float64Array
  bottom: Float64Array
  /** Sums of squares and of products. */
  top2: Float64Array
  bottom2: Float64Array
  both: Float64Array
}

export interface Table {
  codes: Int32Array[]
  /** By attribute and code; `rare` is the code of what was put together, or -1. */
  names: Cell[][]
  rare: number[]
  before: Sums
  after: Sums
  /** How many values of each attribute were kept; null: all. */
  kept: number | null
  n: number
}

const SUMS = ['rows', 'top', 'bottom', 'top2', 'bottom2', 'both'] as const

function rowsSql(table: Relation, options: Options, sides: readonly Side[], kept: number | null): string {
  const dimensions = options.by.map((by, index) => {
    const column = columnOf(table, 'by', by)
    return `${cellSql(column)} as d${index}`
  })
  const top = numberSql(
    table,
    options.value === undefined ? 'numerator' : 'value',
    options.value ?? options.numerator!,
  )
  const bottom =
    options.denominator !== undefined
      ? numberSql(table, 'denominator', options.denominator)
      : options.expected === undefined
        ? '1::double'
        : numberSql(table, 'expected', options.expected)
  const side =
    options.expected !== undefined
      ? '0'
      : `case ${sides.map(({ where }, index) => `when ${where} then ${index}`).join(' ')} else -1 end`
  const rows = `select ${dimensions.join(', ')}, ${side} as side, ${top} as a, ${bottom} as b from ${table.relation}`
  const finite = `select * from (${rows}) where side >= 0 and isfinite(a) and isfinite(b)`
  if (kept === null) return finite
  const ranked = options.by.map(
    (_, index) =>
      `v${index} as (select d${index} as v from kept group by 1 order by sum(abs(a)) desc, 1 limit ${kept})`,
  )
  const named = options.by.map(
    (_, index) =>
      `case when d${index} in (select v from v${index}) then d${index} end as d${index}, d${index} not in (select v from v${index}) and d${index} is not null as r${index}`,
  )
  return `with kept as (${finite}), ${ranked.join(', ')} select ${named.join(', ')}, side, a, b from kept`
}

async function grouped(
  table: Relation,
  options: Options,
  sides: readonly Side[],
  kept: number | null,
  most: number,
) {
  const keys = options.by.flatMap((_, index) => (kept === null ? [`d${index}`] : [`d${index}`, `r${index}`]))
  return table.query(
    `select ${keys.join(', ')}, side, count(*) as rows, fsum(a) as top, fsum(b) as bottom, fsum(a * a) as top2,
       fsum(b * b) as bottom2, fsum(a * b) as both
     from (${rowsSql(table, options, sides, kept)}) group by all limit ${most + 1}`,
  )
}

export async function loadTable(
  table: Relation,
  options: Options,
  before: Side,
  after: Side,
): Promise<Table> {
  const sides = [before, after]
  let kept: number | null = null
  let rows = await grouped(table, options, sides, kept, 2 * MOST_LEAVES)
  for (const most of KEPT) {
    if (rows.length <= 2 * MOST_LEAVES) break
    kept = most
    rows = await grouped(table, options, sides, kept, 2 * MOST_LEAVES)
  }
  const names = options.by.map((): Cell[] => [])
  const rare = options.by.map(() => -1)
  const numbers = options.by.map(() => new Map<string, number>())
  const leaves = new Map<string, number>()
  const codes: number[][] = options.by.map(() => [])
  const places: number[] = []
  for (const row of rows) {
    const key = options.by.map((_, index) => {
      const isRare = row[`r${index}`] === true
      const value = row[`d${index}`] ?? null
      const name = isRare ? 'rare' : JSON.stringify(value)
      let code = numbers[index]!.get(name)
      if (code === undefined) {
        numbers[index]!.set(name, (code = names[index]!.length))
        names[index]!.push(value)
        if (isRare) rare[index] = code
      }
      return code
    })
    const text = key.join()
    let leaf = leaves.get(text)
    if (leaf === undefined) {
      leaves.set(text, (leaf = leaves.size))
      for (const [index, code] of key.entries()) codes[index]!.push(code)
    }
    places.push(leaf)
  }
  const empty = (): Sums =>
    Object.fromEntries(SUMS.map((name) => [name, new Float64Array(leaves.size)])) as unknown as Sums
  const sums = [empty(), empty()] as const
  let n = 0
  for (const [index, row] of rows.entries()) {
    for (const name of SUMS) sums[row.side as 0 | 1][name][places[index]!] = row[name] as number
    n += row.rows as number
  }
  return {
    codes: codes.map((list) => Int32Array.from(list)),
    names,
    rare,
    before: sums[0],
    after: sums[1],
    kept,
    n,
  }
}

/** The same leaves over earlier pairs of periods; values that do not occur now are left out. */
export async function loadHistory(
  table: Relation,
  options: Options,
  now: Table,
  history: readonly { before: Side; after: Side }[],
): Promise<{ before: Sums; after: Sums; days: [number, number] }[]> {
  const n = now.codes[0]!.length
  if (now.kept !== null) return []
  const found: { before: Sums; after: Sums; days: [number, number] }[] = []
  for (const { before, after } of history) {
    if ((found.length + 1) * n > MOST_EARLIER) break
    const past = await loadTable(table, options, before, after)
    found.push({ ...aligned(now, past), days: [before.days, after.days] })
  }
  return found
}

function aligned(now: Table, past: Table): { before: Sums; after: Sums } {
  const key = (table: Table, leaf: number): string =>
    table.codes.map((codes, index) => JSON.stringify(table.names[index]![codes[leaf]!])).join('\u0000')
  const at = new Map(Array.from({ length: past.codes[0]!.length }, (_, leaf) => [key(past, leaf), leaf]))
  const n = now.codes[0]!.length
  const pick = (sums: Sums): Sums =>
    Object.fromEntries(
      SUMS.map((name) => [
        name,
        Float64Array.from({ length: n }, (_, leaf) => {
          const place = at.get(key(now, leaf))
          return place === undefined ? 0 : sums[name][place]!
        }),
      ]),
    ) as unknown as Sums
  return { before: pick(past.before), after: pick(past.after) }
}

/** The values of both sides, over days where periods differ, with the variances that the rows tell. */
export function leavesOfSum(
  { codes, names }: Pick<Table, 'codes' | 'names'>,
  sums: { before: Sums; after: Sums },
  options: Options,
  days: [number, number],
): Leaves {
  const sizes = names.map((list) => list.length)
  const { before, after } = sums
  if (options.expected !== undefined)
    return { codes, sizes, before: before.bottom, after: before.top, variances: null }
  const noise = varianceOfSums(before, after)
  const over = (values: Float64Array, by: number): Float64Array => values.map((value) => value / by)
  return {
    codes,
    sizes,
    before: over(before.top, days[0]),
    after: over(after.top, days[1]),
    variances: noise && { before: over(noise.before, days[0] ** 2), after: over(noise.after, days[1] ** 2) },
  }
}

/**
 * What the rows tell of the noise of their sum. Where rows come as events, their number is by chance, too: the variance is the
 * sum of squares (a compound Poisson sum). Where both sides have the same rows, one for each day, say, it is that of the values
 * around their mean. Of single rows nothing is known.
 */
function varianceOfSums(before: Sums, after: Sums): { before: Float64Array; after: Float64Array } | null {
  const n = before.rows.length
  let [single, alike, ratio] = [0, 0, 0]
  const most = { before: Math.max(...sample(before.rows)), after: Math.max(...sample(after.rows)) }
  ratio = most.before > 0 ? most.after / most.before : 1
  for (let leaf = 0; leaf < n; leaf++) {
    if (before.rows[leaf]! <= 1 && after.rows[leaf]! <= 1) single += 1
    if (Math.abs(after.rows[leaf]! - ratio * before.rows[leaf]!) < 0.5) alike += 1
  }
  const ones = most.before <= 1 && most.after <= 1
  if (ones && !isCounts(before, after)) return null
  if (single > 0.9 * n && !isCounts(before, after)) return null
  const grid = alike > 0.9 * n && !ones
  const of = ({ rows, top, top2 }: Sums): Float64Array =>
    top2.map((squares, leaf) => {
      const count = rows[leaf]!
      if (ones) return Math.abs(top[leaf]!)
      if (!grid || count < 2) return squares
      return Math.max(0, ((squares - (top[leaf]! * top[leaf]!) / count) * count) / (count - 1))
    })
  return { before: of(before), after: of(after) }
}

function sample(values: Float64Array): Float64Array {
  const stride = Math.max(1, Math.floor(values.length / 5000))
  return values.filter((_, index) => index % stride === 0)
}

/** Whole numbers from 0 on: rows that are counts already have the noise of counts. */
function isCounts(before: Sums, after: Sums): boolean {
  const whole = (values: Float64Array): boolean =>
    values.every((value) => value >= 0 && Number.isInteger(value))
  return whole(before.top) && whole(after.top)
}

/**
 * The numerators that the rates of before make of the later denominators, beside those that came. The variance of a ratio's numerator is that
 * of top - rate * bottom over its rows.
 */
export function leavesOfRate(
  { codes, names }: Pick<Table, 'codes' | 'names'>,
  sums: { before: Sums; after: Sums },
): Leaves {
  const sizes = names.map((list) => list.length)
  const { before, after } = sums
  const n = before.rows.length
  const [expected, came] = [new Float64Array(n), new Float64Array(n)]
  const [v0, v1] = [new Float64Array(n), new Float64Array(n)]
  for (let leaf = 0; leaf < n; leaf++) {
    const [b0, b1] = [before.bottom[leaf]!, after.bottom[leaf]!]
    if (!(b0 > 0 && b1 > 0)) continue
    const rate = (before.top[leaf]! + after.top[leaf]!) / (b0 + b1)
    const variance = (side: Sums): number => {
      const rows = side.rows[leaf]!
      const spread = side.top2[leaf]! - 2 * rate * side.both[leaf]! + rate * rate * side.bottom2[leaf]!
      // Rows of many units each: those of a share have the noise of their units.
      const units =
        rate >= 0 && rate <= 1 ? rate * (1 - rate) * side.bottom[leaf]! : Math.abs(side.top[leaf]!)
      return rows >= 5 && side.bottom[leaf]! <= rows * 1.0000001
        ? spread
        : Math.max(units, rows >= 10 ? spread : 0)
    }
    expected[leaf] = (before.top[leaf]! / b0) * b1
    came[leaf] = after.top[leaf]!
    v0[leaf] = variance(before) * (b1 / b0) ** 2
    v1[leaf] = variance(after)
  }
  return { codes, sizes, before: expected, after: came, variances: { before: v0, after: v1 } }
}
