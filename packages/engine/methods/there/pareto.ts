/**
 * Computes pareto in a database: the range of the value, then one row for each segment, at most 100,000, with its exact
 * sum.
 */
import type { Cell, Column } from '@assay/model/insight'
import {
  bytes,
  column,
  counted,
  double,
  type Expression,
  type From,
  finite,
  most,
  shown,
} from '../../dialects/language.ts'
import { type Asked, columnsOf, numberOf } from '../../sufficient/ask.ts'
import { rangeOf, scaled, valuesOf } from '../../sufficient/numbers.ts'
import { sumsOf } from '../../sufficient/sums.ts'
import { MethodError } from '../shared/method.ts'
import { powerAbove } from '../shared/sums.ts'

const MOST_SEGMENTS = 100_000

export interface SegmentsThere {
  rows: number
  /** Rows with a finite value. */
  n: number
  /** A power of two above every value. */
  unit: number
  /** The segments: name (to be read as the column's type), sum and largest value over the unit, number of rows. */
  segments: { k: string | null; v: number; n: number; most: number }[]
}

/**
 * Returns the segments of `by`. Text is grouped by its bytes, as in DuckDB, so texts that a collation treats as equal
 * stay apart.
 */
export async function segmentsThere(asked: Asked, value: string, by: Column): Promise<SegmentsThere> {
  if (by.type === 'other')
    throw new MethodError(
      `by: column "${by.name}" is ${by.database_type}, by which no database is asked. Cast it to text in the SQL of the fence.`,
    )
  const { rows, n, low, high } = await rangeOf(asked, valuesOf(asked, value))
  const unit = powerAbove(Math.max(Math.abs(low), Math.abs(high)))
  if (n === 0) return { rows, n, unit, segments: [] }
  const text = by.type === 'text'
  const doubles = columnsOf(asked.from, {
    'value of row': double(column(value)),
    'key of row': text ? bytes(column(by.name)) : column(by.name),
    ...(text ? { 'text of row': shown(column(by.name)) } : {}),
  })
  const keep = ['key of row', ...(text ? ['text of row'] : []), 'share of row']
  const known: From = {
    select: {
      from: doubles,
      where: finite(column('value of row')),
      list: {
        'key of row': column('key of row'),
        ...(text ? { 'text of row': column('text of row') } : {}),
        'share of row': scaled(column('value of row'), unit),
      },
    },
  }
  const sums = sumsOf(known, { sum: column('share of row') }, n, keep)
  const grouped: From = {
    select: {
      from: sums.from,
      keys: { key: column('key of row') },
      list: {
        n: counted,
        most: most(column('share of row')),
        ...(text ? { named: most(column('text of row')) } : {}),
        ...sums.list,
      },
    },
  }
  const names = ['n', 'most', text ? 'named' : 'key', ...Object.keys(sums.list)]
  const list = Object.fromEntries(names.map((name): [string, Expression] => [name, column(name)]))
  const found = await asked.ask({ from: grouped, list, limit: MOST_SEGMENTS + 1 })
  if (found.length > MOST_SEGMENTS)
    throw new MethodError(
      `by: "${by.name}" has more than ${MOST_SEGMENTS.toLocaleString('en-US')} values, and as many segments can come from a database. Group them in the SQL of a fence.`,
    )
  const segments = found.map((row) => ({
    k: written(text ? row.named : row.key),
    v: sums.read(row, 'sum'),
    n: numberOf(row.n),
    most: numberOf(row.most),
  }))
  return { rows, n, unit, segments }
}

function written(cell: Cell | undefined): string | null {
  if (cell === undefined || cell === null) return null
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
}
