/**
 * Reads what a test compares: rows, or with `unit` one observation for each unit and arm, which is the mean of its
 * rows. Where no unit is named, but rows of units repeat (groups/repeated-units.ts), it reads an observation for each of
 * these. It fetches one row for each arm, at most 50, and the extremes of each arm.
 */

import { unitRows } from '../groups/repeated-units.ts'
import type { Arm } from '../shared/arms.ts'
import { columnOf, groupSql, nameSql, numberSql } from '../shared/columns.ts'
import { MethodError, quote, type Relation } from '../shared/method.ts'
import { groupMoments } from '../shared/moments.ts'
import { finite } from '../shared/sentence.ts'
import { double } from '../shared/sums.ts'

export const MOST_ARMS = 50

export interface Asked {
  group: string
  value?: string
  success?: string
  unit?: string
}

export interface ObservedArm extends Arm {
  /** The least and the largest observation. */
  min: number
  max: number
}

export interface Observations {
  arms: ObservedArm[]
  /** The number of observations of each arm, including those without a value, because the split counts all. */
  split: Record<string, number>
  /** The number of observations without an arm or without a finite value. */
  left: number
  /** The number of rows that made the observations; null without `unit`. */
  rows: number | null
  /** The number of units that occur in several arms. */
  across: number
  /** Whether each observation is 0 or 1. */
  binary: boolean
  /** Excess kurtosis of the observations less the means of their arms; null if it is not defined. */
  kurtosis: number | null
}

export async function observe(table: Relation, asked: Asked): Promise<Observations> {
  const group = groupSql(table, 'group', asked.group)
  const value = await valueSql(table, asked)
  const unit = asked.unit === undefined ? null : groupSql(table, 'unit', asked.unit)
  const source =
    unit === null
      ? `(select ${group} as g, ${value} as v from ${table.relation})`
      : `(select unit, g, favg(v) filter (isfinite(v)) as v from (select ${unit} as unit, ${group} as g, ${value} as v from ${table.relation})
          where unit is not null group by unit, g)`
  const repeats = unit === null ? { rows: null, across: 0 } : await repeatsOf(table, unit, group)
  return { ...(await observed(table, source, asked.success !== undefined)), ...repeats }
}

/** Returns an observation for each unit of a column that the options do not name. */
export async function observeUnits(table: Relation, asked: Asked, column: string): Promise<Observations> {
  const group = groupSql(table, 'group', asked.group)
  const source = unitRows(table, column, group, await valueSql(table, asked))
  const drawn = await table.query(
    `select ${nameSql('g')} as name, count(*) as n from (select distinct ${groupSql(table, 'unit', column)} as unit, ${group} as g from ${table.relation})
     where unit is not null and g is not null group by g`,
  )
  const split = Object.fromEntries(drawn.map((row) => [row.name as string, row.n as number]))
  return { ...(await observed(table, source, false)), rows: null, across: 0, split }
}

async function observed(
  table: Relation,
  source: string,
  rates: boolean,
): Promise<Omit<Observations, 'rows' | 'across'>> {
  const {
    groups,
    unit: scale,
    left,
  } = await groupMoments({ ...table, relation: source }, 'g', 'v', MOST_ARMS)
  const found = await table.query(
    `select ${nameSql('g')} as name, count(*) as n, min(v) filter (isfinite(v)) as low, max(v) filter (isfinite(v)) as high,
       count(*) filter (isfinite(v) and v not in (0, 1)) as other from ${source} where g is not null group by g order by name limit 1000`,
  )
  const binary = rates && found.every((row) => row.other === 0)
  const extremes = new Map(found.map((row) => [row.name as string, row]))
  const arms = groups.map(({ group: name, n, mean, squares }): ObservedArm => {
    const { low, high } = extremes.get(name)!
    const sd = n > 1 ? finite(Math.sqrt(squares / (n - 1)) * scale) : null
    const common = { name, n, sd, min: low as number, max: high as number }
    if (!binary) return { ...common, mean: finite(mean * scale), successes: null, rate: null }
    const successes = Math.round(mean * scale * n)
    return { ...common, mean: null, successes, rate: successes / n }
  })
  const split = Object.fromEntries(found.map((row) => [row.name as string, row.n as number]))
  const kurtosis = binary ? null : await kurtosisOf(table, source, scale)
  return { arms, split, left, binary, kurtosis }
}

async function valueSql(table: Relation, { value, success }: Asked): Promise<string> {
  if (success === undefined) return numberSql(table, 'value', value!)
  const column = columnOf(table, 'success', success)
  if (column.type === 'boolean') return `cast(${quote(column.name)} as double)`
  const sql = numberSql(table, 'success', success)
  const [odd] = await table.query(`select count(*) as n from ${table.relation} where ${sql} not in (0, 1)`)
  if ((odd!.n as number) > 0)
    throw new MethodError(
      `success: column "${success}" holds numbers other than 0 and 1. For a difference of means name it under \`value\`.`,
    )
  return sql
}

/** Counts the rows that have a unit and an arm, and the units with several arms. */
async function repeatsOf(table: Relation, unit: string, group: string) {
  const [row] = await table.query(
    `select sum(rows)::double as rows, count(*) filter (arms > 1) as across from
       (select count(*) as rows, count(distinct cast(g as varchar)) as arms from
         (select ${unit} as unit, ${group} as g from ${table.relation}) where unit is not null and g is not null group by unit)`,
  )
  return { rows: (row!.rows as number | null) ?? 0, across: row!.across as number }
}

/**
 * Returns the excess kurtosis of the values `v` of `source`, each standardised by the mean and the spread of its group
 * `g`.
 */
export async function kurtosisOf(table: Relation, source: string, scale: number): Promise<number | null> {
  const [row] = await table.query(
    `with u as (select g, v / ${double(scale)} as u from ${source} where g is not null and isfinite(v)),
       centers as (select g, favg(u) as center, max(u) - min(u) as width from u group by g),
       away as (select g, u - center as d from u join centers using (g) where width > 0),
       spreads as (select g, favg(d * d) as square from away group by g)
     select count(*) as n, favg((d * d / square) ** 2) as fourth from away join spreads using (g) where square > 0`,
  )
  return (row!.n as number) < 20 ? null : finite((row!.fourth as number) - 3)
}
