/** The different values of columns of text, for decisions that rest on all of them. */
import { type Engine, eachRow, identifier } from '../../duckdb/duckdb.ts'

/** Of more different values of a column the first ones decide; the others are checked while they are read. */
const KEYS_MOST = 200_000

/**
 * Tells `note` one value of each kind that a column holds, and how often the kind occurs: values of a kind differ only in digits that
 * decide nothing. `place`: of the column among `names`. The text is parsed once for all columns, whose values stand below each other, so
 * that DuckDB plans one expression and keeps no copy. False: a column has too many kinds, of which some are not told.
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
/** Of a number only a leading zero matters, which makes it a code; of a time after a date its form; and of a date all digits. */
const KIND = `case when contains(v, ':') then ${DAY} || translate(substr(v, length(${DAY}) + 1), '123456789', '000000000')
    when regexp_matches(v, '^\\s*[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]') then v
    when regexp_matches(v, '^[-0-9]') then translate(left(v, 2), '12345678', '99999999') || translate(substr(v, 3), '012345678', '999999999')
    else translate(v, '12345678', '99999999') end`
