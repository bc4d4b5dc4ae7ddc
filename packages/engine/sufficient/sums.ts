/**
 * Computes exact sums in any database. Up to a million rows a term between -1 and 1 is cut into integers of 30 bits,
 * whose sums are exact in any database with integers of 64 bits. Together they are the sum of the terms rounded to
 * 2^-90. Above, a term is cut at 2^-60, as one integer. The sum does not depend on the order of the rows and the engine.
 * There may be at most 2^33 rows.
 */
import type { Cell } from '@assay/model/insight'
import {
  below,
  broad,
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
const PARTS = [1, 2, 3] as const
const PART = number(2 ** BITS)

type Row = Readonly<Record<string, Cell>>

/** A query of the sums of terms: the rows to read, and the aggregates. */
export interface SumQuery {
  from: From
  list: Record<string, Expression>
  /** Returns the sum of the term `name` over one row or several of the answer, rounded once; 0 for no rows. */
  read(rows: Row | readonly Row[], name: string): number
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
  const kept = Object.fromEntries(keep.map((name) => [name, column(name)]))
  const query = n <= EXACT_ROWS ? inThree(from, terms, kept) : inOne(from, terms, kept)
  const bits = BITS * (n <= EXACT_ROWS ? 3 : 2)
  return {
    ...query,
    read(rows, name) {
      const all = (Array.isArray(rows) ? rows : [rows]) as readonly Row[]
      return Number(all.reduce((sum, row) => sum + query.units(row, name), 0n)) / 2 ** bits
    },
  }
}

interface Units {
  from: From
  list: Record<string, Expression>
  /** Returns the sum of a term in one row, in its units. */
  units(row: Row, name: string): bigint
}

/** Cuts each term at 2^-60. */
function inOne(
  from: From,
  terms: Readonly<Record<string, Expression>>,
  kept: Record<string, Expression>,
): Units {
  const names = Object.keys(terms)
  const cut = names.map(
    (name) => [rest(name, 0), whole(times(terms[name]!, number(2 ** (2 * BITS))))] as const,
  )
  return {
    from: columnsOf(from, { ...kept, ...Object.fromEntries(cut) }),
    list: Object.fromEntries(names.map((name) => [name, broad(column(rest(name, 0)))])),
    units(row, name) {
      const sent = row[name]
      return typeof sent === 'string' ? joined(sent.split(' ')) : 0n
    },
  }
}

/** Cuts each term into three integers, of which the last is rounded. */
function inThree(
  from: From,
  terms: Readonly<Record<string, Expression>>,
  kept: Record<string, Expression>,
): Units {
  const names = Object.keys(terms)
  let level = columnsOf(from, {
    ...kept,
    ...Object.fromEntries(names.map((name) => [rest(name, 0), terms[name]!])),
  })
  for (const part of [1, 2]) {
    const list: Record<string, Expression> = { ...kept }
    for (const name of names) {
      if (part > 1) list[piece(name, 1)] = column(piece(name, 1))
      const scaled = times(column(rest(name, part - 1)), PART)
      list[piece(name, part)] = whole(scaled)
      list[rest(name, part)] = minus(scaled, whole(scaled))
    }
    level = columnsOf(level, list)
  }
  const list: Record<string, Expression> = {}
  for (const name of names) {
    for (const part of [1, 2]) list[`${name} ${part}`] = digits(column(piece(name, part)))
    list[`${name} 3`] = digits(nearest(times(column(rest(name, 2)), PART)))
  }
  return {
    from: level,
    list,
    units(row, name) {
      const sent = PARTS.map((part) => row[`${name} ${part}`])
      return joined(sent.map((part) => (typeof part === 'string' ? part : '0')))
    },
  }
}

const piece = (name: string, part: number): string => `${name} in ${part}`
const rest = (name: string, part: number): string => `${name} after ${part}`

const nearest = (value: Expression): Expression =>
  whole(plus(value, where(below(value, number(0)), number(-0.5), number(0.5))))

const joined = (parts: readonly string[]): bigint =>
  parts.map(BigInt).reduce((high, part) => (high << BigInt(BITS)) + part, 0n)
