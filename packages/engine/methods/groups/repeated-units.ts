/**
 * Finds a column of units that a test was not told of, and makes one observation of each unit, so that rows that are
 * alike do not count as independent.
 *
 * A column holds units if its name says so, if its values repeat, and if nearly each of these stands in one group
 * only: rows that were dealt to groups one by one would stand in several. The observation of a unit is the mean of its
 * group and what the unit's rows add to that mean. So the means of the groups stay those of the rows, and their errors
 * are those of clusters of unequal sizes (Cochran, Sampling Techniques, 1977, section 9A.1). Rows without a unit stand
 * for themselves.
 */
import type { Doubt } from '@assay/model/insight'
import { readable } from '../../verdicts/measure.ts'
import { nounsOf } from '../../verdicts/nouns.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { quoted } from '../../verdicts/words.ts'
import { groupSql } from '../shared/columns.ts'
import type { Relation } from '../shared/method.ts'
import { count } from '../shared/sentence.ts'

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

/** Words for whom or what the rows belong to. */
const WHO = new Set(
  (
    'user customer client visitor player patient member subscriber account person participant subject respondent ' +
    'student pupil employee household device session cookie shopper buyer guest passenger unit'
  ).split(' '),
)
const KEY = new Set(['id', 'uuid', 'guid'])
const OF_WHO = new Set(['key', 'number', 'no', 'nr', 'email', 'name', 'hash'])
const TYPES = new Set(['integer', 'text', 'other'])
/** The share of repeated units that stand in one group. */
const IN_ONE_GROUP = 0.9
/** The fewest values of a column that is only named an id. With fewer it is a category. */
const LEAST_IDS = 10

/** Returns the word for whose the values are: "user" for `user_id`, `userid` and `UserName`; null if the name has none. */
function whoIn(name: string): string | null {
  const words = wordsOf(name).slice(-2)
  const bare = words.map((word) =>
    word.endsWith('id') && WHO.has(word.slice(0, -2)) ? word.slice(0, -2) : word,
  )
  const [last, before] = [bare.at(-1)!, bare.at(-2)]
  if (WHO.has(last)) return last
  const named = KEY.has(last) || OF_WHO.has(last)
  return named && before !== undefined && WHO.has(before) ? before : null
}

const wordsOf = (name: string): string[] =>
  readable(name)
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)

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
    const who = whoIn(name)
    if (who === null && !KEY.has(wordsOf(name).at(-1)!)) continue
    if (known.has(name.toLowerCase()) || !TYPES.has(type)) continue
    const seen = await seenUnits(
      table,
      group,
      { column: name, nouns: nounsOf(who ?? name) },
      who === null ? LEAST_IDS : 0,
    )
    if (seen && (found === null || seen.units < found.units)) found = seen
  }
  return found
}

async function seenUnits(
  table: Relation,
  group: string,
  { column, nouns }: Pick<RepeatedUnits, 'column' | 'nouns'>,
  least: number,
): Promise<RepeatedUnits | null> {
  const unit = groupSql(table, 'unit', column)
  const each = `(select u, count(*) as n, min(g) as low, max(g) as high from
    (select ${unit} as u, ${group} as g from ${table.relation}) where u is not null and g is not null group by u)`
  const [row] = await table.query(
    `select coalesce(sum(n), 0)::double as rows, count(*) as units, count(*) filter (n > 1) as repeated,
       count(*) filter (n > 1 and low = high) as whole, count(*) filter (low <> high) as across from ${each}`,
  )
  const [groups] = await table.query(`select count(distinct ${group}) as n from ${table.relation}`)
  const { rows, units, repeated, whole, across } = row as Record<string, number>
  // As many values as groups are other names of the groups.
  const few = units! < Math.max(least, (groups!.n as number) + 1)
  if (few || repeated === 0 || whole! < IN_ONE_GROUP * repeated!) return null
  return { column, nouns, rows: rows!, units: units!, across: across! }
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
