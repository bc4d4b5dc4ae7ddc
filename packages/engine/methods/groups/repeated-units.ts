/**
 * Finds a column of units that a test was not told of, and makes one observation of each unit, so that rows that are
 * alike do not count as independent.
 *
 * A column holds units if its name says so, if its values repeat, and if nearly each of these stands in one group
 * only: rows that were dealt to groups one by one would stand in several. A name of a mere id, such as `product_id`,
 * also needs that chance would put more of its values into several groups. The observation of a unit is the mean of its
 * group and what the unit's rows add to that mean. So the means of the groups stay those of the rows, and their errors
 * are those of clusters of unequal sizes (Cochran, Sampling Techniques, 1977, section 9A.1). Rows without a unit stand
 * for themselves.
 */
import type { Doubt } from '@assay/model/insight'
import { nounsOf } from '../../verdicts/nouns.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { quoted } from '../../verdicts/words.ts'
import { groupSql } from '../shared/columns.ts'
import type { Relation } from '../shared/method.ts'
import { count } from '../shared/sentence.ts'
import { unitName } from './unit-names.ts'

export interface RepeatedUnits {
  column: string
  /** What a unit and units are called. */
  nouns: { one: string; many: string }
  /** The number of rows that have a unit and a group, and of their units. */
  rows: number
  units: number
  /** The number of units that stand in several groups. */
  across: number
}

const TYPES = new Set(['integer', 'text', 'other'])
/** The share of repeated units that stand in one group. */
const IN_ONE_GROUP = 0.9
/** The fewest values of a column that is only named an id. With fewer it is a category. */
const LEAST_IDS = 10
/** The standard errors from which fewer values than by chance stand in several groups. */
const CLEARLY_FEWER = 3

/**
 * Returns the column of units whose rows repeat, or null. `used` are the columns that the options name, `group` SQL of
 * the group. It asks only where a column is named so. Of several columns the one with the fewest units counts, because
 * a user's sessions are alike, too.
 */
export async function repeatedUnits(
  table: Relation,
  group: string,
  used: readonly (string | undefined)[],
): Promise<RepeatedUnits | null> {
  const known = new Set(used.map((name) => name?.toLowerCase()))
  let found: RepeatedUnits | null = null
  for (const { name, type } of table.columns) {
    const named = unitName(name)
    if (named === null || (named.counts && type === 'integer')) continue
    if (known.has(name.toLowerCase()) || !TYPES.has(type)) continue
    const { who } = named
    const seen = await seenUnits(table, group, { column: name, nouns: nounsOf(who ?? name) }, who === null)
    if (seen && (found === null || seen.units < found.units)) found = seen
  }
  return found
}

/** `plain`: whether the column is only named an id, which may be that of anything. */
async function seenUnits(
  table: Relation,
  group: string,
  { column, nouns }: Pick<RepeatedUnits, 'column' | 'nouns'>,
  plain: boolean,
): Promise<RepeatedUnits | null> {
  const unit = groupSql(table, 'unit', column)
  const rowsSql = `(select ${unit} as u, ${group} as g from ${table.relation} where ${unit} is not null and ${group} is not null)`
  const each = `(select u, count(*) as n, min(g) as low, max(g) as high from ${rowsSql} group by u)`
  const [row] = await table.query(
    `select coalesce(sum(n), 0)::double as rows, count(*) as units, count(*) filter (n > 1) as repeated,
       count(*) filter (n > 1 and low = high) as whole, count(*) filter (low <> high) as across from ${each}`,
  )
  const [groups] = await table.query(`select count(distinct ${group}) as n from ${table.relation}`)
  const { rows, units, repeated, whole, across } = row as Record<string, number>
  // As many values as groups are other names of the groups.
  const few = units! < Math.max(plain ? LEAST_IDS : 0, (groups!.n as number) + 1)
  if (few || repeated === 0 || whole! < IN_ONE_GROUP * repeated!) return null
  if (plain && !(await standsApart(table, rowsSql, each, across!))) return null
  return { column, nouns, rows: rows!, units: units!, across: across! }
}

/**
 * Tells whether fewer values stand in several groups than if rows were dealt one by one. With one group of nearly all
 * rows most values would stand in one group by chance.
 */
async function standsApart(table: Relation, rowsSql: string, each: string, across: number): Promise<boolean> {
  const [row] = await table.query(
    `with sizes as (select n, count(*)::double as units from ${each} where n > 1 group by n),
       shares as (select count(*) / sum(count(*)) over () as share from ${rowsSql} group by g),
       alone as (select n, units, fsum(pow(share, n)) as chance from sizes, shares group by n, units)
     select fsum(units * (1 - chance)) as expected from alone`,
  )
  const expected = row!.expected as number
  return expected - across > CLEARLY_FEWER * Math.sqrt(expected)
}

/** Returns SQL with the columns `unit`, `g` and `v`, a row for each unit and group. `group` and `value` are SQL. */
export function unitRows(table: Relation, column: string, group: string, value: string): string {
  const unit = groupSql(table, 'unit', column)
  return `(with b as (select ${unit} as unit, ${group} as g, ${value} as v from ${table.relation} where ${group} is not null and isfinite(${value})),
     c as (select g, favg(v) as mean, min(v) as low, max(v) as high, count(*)::double as n from b group by g),
     d as (select unit, b.g as g, case when high > low then v - mean else 0 end as d, case when high > low then mean else low end as mean, n from b join c on b.g = c.g),
     u as (select unit, g, fsum(d) as d, min(mean) as mean, min(n) as n from d where unit is not null group by unit, g
           union all select unit, g, d, mean, n from d where unit is null),
     k as (select g, count(*)::double as units from u group by g)
   select unit, u.g as g, mean + d * units / n as v from u join k on u.g = k.g)`
}

/** Says that the rows of a unit are alike, and what the author may do. */
export function repeatedDoubt({ column, nouns, rows, units, across }: RepeatedUnits, option = ''): Doubt {
  const { one, many } = nouns
  const several =
    across === 0 ? '' : ` ${count(across, one, many)} ${across === 1 ? 'stands' : 'stand'} in several groups.`
  return doubt(
    'unit_repeated',
    `${count(rows, 'row')} belong to ${count(units, one, many)} (${quoted(column)}), and rows of one ${one} are alike, so each ${one} counts once.${several}${option === '' ? '' : ` ${option}`}`,
  )
}
