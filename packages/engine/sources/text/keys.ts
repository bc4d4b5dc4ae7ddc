/** Reads the distinct values of text columns, for decisions that need all of them. */
import { type Engine, eachRow, identifier } from '../../duckdb/duckdb.ts'

/**
 * The most distinct values of a column. If it has more, the first ones decide and the others are checked while they
 * are read.
 */
const KEYS_MOST = 200_000

/**
 * Calls `note` with one value of each kind that a column holds and the number of values of that kind. Values of a kind
 * differ only in digits that decide nothing. `place` is the index of the column in `names`. The text is parsed once for
 * all columns, whose values are listed below each other, so that DuckDB plans one expression and keeps no copy.
 * Resolves to false if a column has too many kinds and some were left out.
 */
export async function eachKind(
  engine: Engine,
  names: readonly string[],
  text: string,
  note: (place: number, value: string, times: number) => void,
): Promise<boolean> {
  const list = names.map(identifier).join(', ')
  const values = `select unnest([${list}]) as v, unnest(range(${names.length})) as place from (${text})`
  const kinds = `select place, min(v) as v, count(*) as n from (${values}) where v is not null group by place, ${KIND}`
  const seen = names.map(() => 0)
  let all = true
  await eachRow(engine, kinds, ([place, value, n]) => {
    if (seen[place as number] === KEYS_MOST) {
      all = false
      return
    }
    seen[place as number]! += 1
    note(place as number, value as string, Number(n))
  })
  return all
}

const DAY = "regexp_extract(v, '^\\s*[^ T]*')"
/**
 * SQL for the kind of a value. A number counts by whether it has a leading zero, which makes it a code, also behind a
 * currency or a bracket; a time after a date by its form; and a date by all digits.
 */
const KIND = `case when contains(v, ':') then ${DAY} || translate(substr(v, length(${DAY}) + 1), '123456789', '000000000')
    when regexp_matches(v, '^\\s*[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]') then v
    when regexp_matches(v, '^(?:[A-Z]{3} ?[-0-9]|[^-\\pL0-9]{1,3}[0-9])') then translate(left(v, 6), '12345678', '99999999') || translate(substr(v, 7), '012345678', '999999999')
    when regexp_matches(v, '^[-0-9]') then translate(left(v, 2), '12345678', '99999999') || translate(substr(v, 3), '012345678', '999999999')
    else translate(v, '12345678', '99999999') end`
