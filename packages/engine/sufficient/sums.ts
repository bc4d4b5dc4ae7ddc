/**
 * Computes exact sums in any database. A term between -1 and 1 is cut into integers of 30 bits, whose sums are exact in
 * any database with integers of 64 bits. Together they are the sum of the terms rounded to 2^-90 (over a million rows:
 * to 2^-60), whatever the order of the rows and the engine. There may be at most 2^33 rows.
 */
import type { Cell } from '@assay/model/insight'
import {
  below,
  column,
  digits,
  type Expression,
  type From,
  minus,
  number,
  plus,
  times,
  where,
  whole,
} from '../dialects/language.ts'
import { EXACT_ROWS } from '../methods/shared/sums.ts'
import { columnsOf } from './ask.ts'

const BITS = 30
const PART = number(2 ** BITS)

/** A query of the sums of terms: the rows to read, and the aggregates. */
export interface SumQuery {
  from: From
  list: Record<string, Expression>
  /** Returns the sum of the term `name`, rounded once, or 0 for no rows. */
  read(row: Readonly<Record<string, Cell>>, name: string): number
}

/**
 * Makes the query. `terms` lie between -1 and 1 and are computed from the `n` rows of `from`. `keep` names columns of
 * `from` that are read beside the sums.
 */
export function sumsOf(
  from: From,
  terms: Readonly<Record<string, Expression>>,
  n: number,
  keep: readonly string[] = [],
): SumQuery {
  const names = Object.keys(terms)
  const parts = n <= EXACT_ROWS ? 3 : 2
  const kept = Object.fromEntries(keep.map((name) => [name, column(name)]))
  let level = columnsOf(from, {
    ...kept,
    ...Object.fromEntries(names.map((name) => [rest(name, 0), terms[name]!])),
  })
  for (let part = 1; part < parts; part += 1) {
    const before = Array.from({ length: part - 1 }, (_, index) => index + 1)
    const list: Record<string, Expression> = { ...kept }
    for (const name of names) {
      for (const one of before) list[piece(name, one)] = column(piece(name, one))
      const scaled = times(column(rest(name, part - 1)), PART)
      list[piece(name, part)] = whole(scaled)
      list[rest(name, part)] = minus(scaled, whole(scaled))
    }
    level = columnsOf(level, list)
  }
  const list: Record<string, Expression> = {}
  for (const name of names) {
    for (let part = 1; part < parts; part += 1) list[`${name} ${part}`] = digits(column(piece(name, part)))
    list[`${name} ${parts}`] = digits(nearest(times(column(rest(name, parts - 1)), PART)))
  }
  return { from: level, list, read: (row, name) => joined(row, name, parts) }
}

const piece = (name: string, part: number): string => `${name} in ${part}`
const rest = (name: string, part: number): string => `${name} after ${part}`

const nearest = (value: Expression): Expression =>
  whole(plus(value, where(below(value, number(0)), number(-0.5), number(0.5))))

function joined(row: Readonly<Record<string, Cell>>, name: string, parts: number): number {
  let sum = 0n
  for (let part = 1; part <= parts; part += 1) {
    const sent = row[`${name} ${part}`]
    sum = (sum << BigInt(BITS)) + (typeof sent === 'string' ? BigInt(sent) : 0n)
  }
  return Number(sum) / 2 ** (BITS * parts)
}
