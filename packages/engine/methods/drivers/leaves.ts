/**
 * Reads the leaves of drivers: one for each combination of values, with the sums of both sides. At most 100,000 leaves
 * are fetched. If there are more, the rare values of each attribute are joined into one, which no cause can name.
 */
import type { Cell } from '@assay/model/insight'
import type { Relation } from '../shared/method.ts'
import { emptySums, type LeafRows, leafRows, SUM_NAMES, type Sums, sideSql } from './leaf-rows.ts'
import type { Options } from './options.ts'
import type { Side } from './sides.ts'

const MOST_LEAVES = 100_000
/** The most leaves of earlier periods that are fetched. */
const MOST_EARLIER = 300_000
const KEPT = [200, 60, 25, 12, 6, 3, 2, 1]

export interface Table {
  codes: Int32Array[]
  /** The names, by attribute and code. `rare` is the code of the rare values that were joined, or -1. */
  names: Cell[][]
  rare: number[]
  before: Sums
  after: Sums
  /** The variance of `after` around `before`, if `before` is a forecast. */
  noise?: Float64Array
  /** The number of values of each attribute that were kept; null if all were. */
  kept: number | null
  n: number
}

export interface Earlier {
  before: Sums
  after: Sums
  /** The variance of `after` around `before`, if `before` is a forecast. */
  noise?: Float64Array
  days: [number, number]
}

/** Reads the rows. It joins rare values if there are more rows than `most`. */
export async function loadRows(
  table: Relation,
  options: Options,
  side: string,
  most: number,
): Promise<{ rows: LeafRows; kept: number | null }> {
  for (const kept of [null, ...KEPT]) {
    const rows = await leafRows(table, options, side, kept, most)
    if (rows) return { rows, kept }
  }
  throw new Error('drivers: one value of each column, the others together and none are more leaves than fit.')
}

/** Returns the leaf of each row and the codes of each leaf. */
export function leavesOf({ names, codes, side }: LeafRows): { places: Int32Array; codes: Int32Array[] } {
  const keyOf = keysOf(names.map((list) => list.length))
  const leaves = new Map<number | string, number>()
  const first: number[] = []
  const places = side.map((_, row) => {
    const key = keyOf(codes, row)
    let leaf = leaves.get(key)
    if (leaf === undefined) {
      leaves.set(key, (leaf = leaves.size))
      first.push(row)
    }
    return leaf
  })
  return { places, codes: codes.map((list) => Int32Array.from(first, (row) => list[row]!)) }
}

export async function loadTable(
  table: Relation,
  options: Options,
  before: Side,
  after: Side,
): Promise<Table> {
  const side = options.expected === undefined ? sideSql([before, after]) : '0'
  const { rows, kept } = await loadRows(table, options, side, 2 * MOST_LEAVES)
  const { places, codes } = leavesOf(rows)
  const sums = [emptySums(codes[0]!.length), emptySums(codes[0]!.length)] as const
  for (const [row, leaf] of places.entries()) copy(rows.sums, row, sums[rows.side[row] as 0 | 1], leaf)
  return {
    codes,
    names: rows.names,
    rare: rows.rare,
    before: sums[0],
    after: sums[1],
    kept,
    n: rows.sums.rows.reduce((sum, count) => sum + count, 0),
  }
}

function copy(from: Sums, row: number, to: Sums, leaf: number): void {
  for (const name of SUM_NAMES) to[name][leaf] = from[name][row]!
}

/** Returns the function that makes a key of a row's codes: a number if all combinations fit below 2^53, else a text. */
function keysOf(sizes: readonly number[]): (codes: readonly Int32Array[], row: number) => number | string {
  if (sizes.reduce((product, size) => product * size, 1) > Number.MAX_SAFE_INTEGER)
    return (codes, row) => codes.map((list) => list[row]).join()
  return (codes, row) => codes.reduce((key, list, attribute) => key * sizes[attribute]! + list[row]!, 0)
}

/** Reads the same leaves over earlier pairs of periods, in one query. Values that do not occur now are left out. */
export async function loadHistory(
  table: Relation,
  options: Options,
  now: Table,
  history: readonly { before: Side; after: Side }[],
): Promise<Earlier[]> {
  const n = now.codes[0]!.length
  const shown = history.slice(0, Math.floor(MOST_EARLIER / n))
  if (now.kept !== null || shown.length === 0) return []
  // A period is the later one of one pair and the earlier one of the next.
  const sides = [
    ...new Map(shown.flatMap((pair) => [pair.before, pair.after]).map((side) => [side.where, side])).values(),
  ]
  const rows = await leafRows(table, options, sideSql(sides), null, 2 * MOST_EARLIER)
  if (!rows) return []
  const sums = sumsBySide(now, rows, sides.length)
  const of = (side: Side): Sums => sums[sides.findIndex(({ where }) => where === side.where)]!
  return shown.map(({ before, after }) => ({
    before: of(before),
    after: of(after),
    days: [before.days, after.days],
  }))
}

/** Returns the sums of each side by the leaves of `now`. */
function sumsBySide(now: Table, rows: LeafRows, sides: number): Sums[] {
  const n = now.codes[0]!.length
  const keyOf = keysOf(now.names.map((list) => list.length))
  const leaves = new Map(Array.from({ length: n }, (_, leaf) => [keyOf(now.codes, leaf), leaf]))
  const codeNow = rows.names.map((names, attribute) => {
    const known = new Map(now.names[attribute]!.map((name, code) => [name, code]))
    return Int32Array.from(names, (name) => known.get(name) ?? -1)
  })
  const codes = rows.codes.map((list, attribute) => list.map((code) => codeNow[attribute]![code]!))
  const sums = Array.from({ length: sides }, () => emptySums(n))
  for (const [row, side] of rows.side.entries()) {
    if (codes.some((list) => list[row] === -1)) continue
    const leaf = leaves.get(keyOf(codes, row))
    if (leaf !== undefined) copy(rows.sums, row, sums[side]!, leaf)
  }
  return sums
}
