/** Suggests a replacement for a function that DuckDB does not have: DuckDB's name for it, or the nearest name. */
import { nearest } from '../values/near.ts'
import { ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS } from './sql-functions.ts'

/** Functions of other databases, with what DuckDB writes for each. */
const ELSEWHERE: Record<string, string> = {
  charindex: 'strpos(text, part)',
  convert: 'cast(value as type)',
  countdistinct: 'count(distinct column)',
  date_format: "strftime(date, '%Y-%m')",
  date_parse: "strptime(text, '%d/%m/%Y')",
  dateadd: "date + interval '1 day'",
  dateserial: 'make_date(year, month, day)',
  decode: 'case when ... then ... end',
  from_unixtime: 'to_timestamp(seconds)',
  getdate: 'a date variable: results must repeat',
  iff: 'case when ... then ... else ... end',
  iif: 'case when ... then ... else ... end',
  isnull: 'coalesce(value, other), or value is null',
  nvl: 'coalesce(value, other)',
  nvl2: 'case when ... is not null then ... else ... end',
  parse_date: "strptime(text, '%d/%m/%Y')",
  percentile: 'quantile_cont(value, 0.9)',
  percentile_cont: 'quantile_cont(value, 0.9)',
  regexp_contains: 'regexp_matches(text, pattern)',
  regexp_like: 'regexp_matches(text, pattern)',
  rlike: 'regexp_matches(text, pattern)',
  safe_cast: 'try_cast(value as type)',
  safe_divide: 'a / nullif(b, 0)',
  str_to_date: "strptime(text, '%d/%m/%Y')",
  sysdate: 'a date variable: results must repeat',
  timestampdiff: "date_diff('day', earlier, later)",
  to_char: "strftime(date, '%Y-%m')",
  to_date: "strptime(text, '%d/%m/%Y')::date",
  to_number: 'cast(text as double)',
  unix_timestamp: 'epoch(timestamp)',
}

/** Returns the message and the remedy. `name` is in lower case. */
export function unknownFunction(name: string, afterFrom: boolean): { message: string; remedy: string } {
  const message = `There is no function ${name}().`
  const instead = ELSEWHERE[name]
  if (instead !== undefined && !afterFrom) return { message, remedy: `Write ${instead}.` }
  const near = nearest(name, afterFrom ? ALLOWED_TABLE_FUNCTIONS : ALLOWED_FUNCTIONS)
  if (near !== null) return { message, remedy: `Did you mean ${near}()?` }
  return {
    message,
    remedy: afterFrom
      ? `After FROM only ${[...ALLOWED_TABLE_FUNCTIONS].join(', ')} may be called.`
      : "Look for it in DuckDB's list of functions.",
  }
}
