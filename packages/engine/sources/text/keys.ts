/** The different values of a column of text, for decisions that rest on all of them. */
import { identifier } from '../../duckdb/duckdb.ts'

/** Of more different values the first ones decide; the others are checked while they are read. */
export const KEYS_MOST = 200_000

/**
 * The different values of columns: rows of the place of the column among `names`, the value, and its count. Several columns are counted
 * in one copy of theirs, so that the text is parsed once. Digits that do not matter are made alike, so that there are few values.
 */
export function keysSql(names: readonly string[], text: string): string {
  const columns = names.map((name, place) => `${identifier(name)} as c${place}`)
  const read = `select ${columns.join(', ')} from (${text})`
  if (names.length === 1) return countsSql(0, `(${read})`)
  const counts = names.map((_, place) => `(${countsSql(place, 'copied')})`)
  return `with copied as materialized (${read}) ${counts.join(' union all ')}`
}

function countsSql(place: number, from: string): string {
  const keys = `select ${keyOf(`c${place}`)} as k from ${from}`
  return `select ${place} as place, k, count(*) as n from (${keys}) group by k order by n desc limit ${KEYS_MOST}`
}

function keyOf(column: string): string {
  const day = `regexp_extract(${column}, '^\\s*[^ T]*')`
  return `case when contains(${column}, ':') then ${day} || translate(substr(${column}, length(${day}) + 1), '123456789', '000000000')
    when regexp_matches(${column}, '[-/.].*[-/.]') then ${column}
    else translate(${column}, '12345678', '99999999') end`
}
