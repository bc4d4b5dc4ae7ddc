/** The different values of a column of text, for decisions that rest on all of them. */
import { identifier } from '../../duckdb/duckdb.ts'

/** Of more different values the first ones decide; the others are checked while they are read. */
export const KEYS_MOST = 200_000

/** The different values of a column with their counts. Digits that do not matter are made alike, so that there are few. */
export function keysSql(name: string, text: string): string {
  const column = identifier(name)
  const day = `regexp_extract(${column}, '^\\s*[^ T]*')`
  const key = `case when contains(${column}, ':') then ${day} || translate(substr(${column}, length(${day}) + 1), '123456789', '000000000')
    when regexp_matches(${column}, '[-/.].*[-/.]') then ${column}
    else translate(${column}, '12345678', '99999999') end`
  return `select k, count(*) from (select ${key} as k from (${text})) group by k order by count(*) desc limit ${KEYS_MOST}`
}
