/**
 * Computes pareto in a database: one row for each segment, at most 100,000, with its exact sum. Whole numbers and
 * decimals are added up in one scan by the database itself. For doubles their range is asked first.
 */
import type { Cell, Column } from '@assay/model/insight'
import {
  broad,
  bytes,
  column,
  count,
  counted,
  digits,
  double,
  type Expression,
  type From,
  finite,
  most,
  type Select,
  shown,
} from '../../dialects/language.ts'
import { type Answer, type Asked, columnsOf, numberOf } from '../../sufficient/ask.ts'
import { named, rangeOf, scaled, valuesOf } from '../../sufficient/numbers.ts'
import { sumsOf } from '../../sufficient/sums.ts'
import { MethodError } from '../shared/method.ts'
import { powerAbove } from '../shared/sums.ts'

const MOST_SEGMENTS = 100_000

export interface SegmentsThere {
  rows: number
  /** Rows with a finite value. */
  n: number
  /** A power of two above every sum, or above every value where sums are rounded. */
  unit: number
  /** The segments: name (to be read as the column's type), sum and largest value over the unit, number of rows. */
  segments: { k: string | null; v: number; n: number; most: number }[]
}

/**
 * Returns the segments of `by`. Text is grouped by its bytes, as in DuckDB, so texts that a collation treats as equal
 * stay apart.
 */
export async function segmentsThere(asked: Asked, value: Column, by: Column): Promise<SegmentsThere> {
  if (by.type === 'other')
    throw new MethodError(
      `by: column "${by.name}" is ${by.database_type}, by which no database is asked. Cast it to text in the SQL of the fence.`,
    )
  return (
    (addsExactly(asked, value) ? await addedThere(asked, value, by) : null) ?? roundedThere(asked, value, by)
  )
}

/** The digits of a decimal whose sum no database rounds, and no sum of 2^33 values of which overflows. */
const FEW_DIGITS = 18

/** Tells whether the database adds up the column without an error. */
function addsExactly({ strict }: Asked, { type, database_type }: Column): boolean {
  if (strict !== true) return false
  const digits_ = /^DECIMAL\((\d+),/.exec(database_type)?.[1]
  return digits_ === undefined
    ? type === 'integer' && !database_type.includes('HUGEINT')
    : Number(digits_) <= FEW_DIGITS
}

/** Returns the segments with the sums of the database. Returns null if a value is no number. */
async function addedThere(asked: Asked, value: Column, by: Column): Promise<SegmentsThere | null> {
  const v = column('value of row')
  const sum = value.database_type.includes('BIGINT') ? broad(v) : digits(v)
  const found = await grouped(asked, by, {
    from: (keys) => columnsOf(asked.from, { 'value of row': column(value.name), ...keys }),
    list: { all: counted, n: count(v), high: most(v), sum },
  })
  const rows = found.reduce((sum, row) => sum + numberOf(row.all), 0)
  const known = found.filter((row) => numberOf(row.n) > 0)
  const sums = known.map((row) => Number(row.sum))
  if (!sums.every(Number.isFinite)) return null
  // No sum overflows, so the unit need not be above the values of a segment but its sum.
  const largest = known.reduce(
    (most_, row, index) => Math.max(most_, Math.abs(sums[index]!), Math.abs(numberOf(row.high))),
    0,
  )
  const unit = powerAbove(largest)
  return {
    rows,
    n: known.reduce((sum, row) => sum + numberOf(row.n), 0),
    unit,
    segments: known.map((row, index) => ({
      k: written(row.key),
      v: sums[index]! / unit,
      n: numberOf(row.n),
      most: numberOf(row.high) / unit,
    })),
  }
}

/** Returns the segments of values that the database would round. */
async function roundedThere(asked: Asked, value: Column, by: Column): Promise<SegmentsThere> {
  const { rows, n, low, high } = await rangeOf(asked, valuesOf(asked, value.name))
  const unit = powerAbove(Math.max(Math.abs(low), Math.abs(high)))
  if (n === 0) return { rows, n, unit, segments: [] }
  const known = (keys: Record<string, Expression>): From => {
    const read = columnsOf(asked.from, { 'value of row': double(column(value.name)), ...keys })
    const list = { ...named(Object.keys(keys)), 'share of row': scaled(column('value of row'), unit) }
    return { select: { from: read, where: finite(column('value of row')), list } }
  }
  const share = { sum: column('share of row') }
  const sumsFrom = (keys: Record<string, Expression>) =>
    sumsOf(known(keys), share, n, [...Object.keys(keys), 'share of row'])
  const { list, read } = sumsFrom({})
  const found = await grouped(asked, by, {
    from: (keys) => sumsFrom(keys).from,
    list: { n: counted, most: most(column('share of row')), ...list },
  })
  const segments = found.map((row) => ({
    k: written(row.key),
    v: read(row, 'sum'),
    n: numberOf(row.n),
    most: numberOf(row.most),
  }))
  return { rows, n, unit, segments }
}

/** Asks for one row for each value of `by`, with that value as `key`. `from` reads the columns of the keys, too. */
async function grouped(
  asked: Asked,
  by: Column,
  { from, list }: { from(keys: Record<string, Expression>): From; list: Record<string, Expression> },
): Promise<Answer[]> {
  const select =
    asked.plain?.has(by.name) || by.type !== 'text' ? byValue(by, from, list) : byBytes(by, from, list)
  const found = await asked.ask({ ...select, limit: MOST_SEGMENTS + 1 })
  if (found.length > MOST_SEGMENTS)
    throw new MethodError(
      `by: "${by.name}" has more than ${MOST_SEGMENTS.toLocaleString('en-US')} values, and as many segments can come from a database. Group them in the SQL of a fence.`,
    )
  return found
}

type Grouping = (by: Column, from: (keys: Record<string, Expression>) => From, list: Select['list']) => Select

const byValue: Grouping = ({ name }, from, list) => ({
  from: from({ 'key of row': column(name) }),
  keys: { key: column('key of row') },
  list,
})

/** Groups are made by bytes, which are not shown. */
const byBytes: Grouping = ({ name }, from, list) => {
  const keys = { 'key of row': bytes(column(name)), 'text of row': shown(column(name)) }
  const added = { key: most(column('text of row')), ...list }
  return {
    from: { select: { from: from(keys), keys: { 'group of rows': column('key of row') }, list: added } },
    list: named(Object.keys(added)),
  }
}

function written(cell: Cell | undefined): string | null {
  if (cell === undefined || cell === null) return null
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
}
