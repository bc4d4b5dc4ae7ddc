/**
 * Writes the SQL that reads numbers of a column which are written for people. A value that is written in another way
 * does not fit.
 */
import { literal } from '../../../duckdb/duckdb.ts'
import { type NumberFormat, unsignedPattern } from '../values.ts'
import type { FoundAround } from './around.ts'
import { writtenPattern } from './written-number.ts'

/** Returns the SQL. `fits` and `value`: over the text `v`. */
export function writtenSql(
  { format, integer, around }: { format: NumberFormat; integer: boolean; around: FoundAround },
  v: string,
): { value: string; fits: string } {
  const { currencies, percent, minus } = around
  const given = {
    number: unsignedPattern(format, integer, false),
    currency: currencies.length === 0 ? null : `(?:${currencies.map(quoted).join('|')})`,
    percent: percent === null ? 'none' : 'all',
  } as const
  const forms = new Set(['front' as const, ...(minus === null ? [] : [minus.is])])
  const pattern = [...forms].map((form) => writtenPattern(given, form)).join('|')
  let digits = v
  for (const currency of currencies) digits = `replace(${digits}, ${literal(currency)}, '')`
  digits = `regexp_replace(${digits}, '[^0-9${format.decimal}]', '', 'g')`
  if (format.decimal === ',') digits = `replace(${digits}, ',', '.')`
  const sign = `case when regexp_matches(${v}, '[-\u2212\u2013(]') then '-' else '' end`
  const hundredth = percent?.is === 'share' ? ` || 'e-2'` : ''
  const type = integer && percent?.is !== 'share' ? 'bigint' : 'double'
  return {
    value: `cast(${sign} || ${digits}${hundredth} as ${type})`,
    fits: `regexp_full_match(${v}, ${literal(pattern)})`,
  }
}

const quoted = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
