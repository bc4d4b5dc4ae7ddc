/** Turns the `fmt` codes of printing/format.ts into number formats of a spreadsheet (ECMA-376 part 1, 18.8.30). */
import { CURRENCIES } from '../printing/currencies.ts'

/** The endings of units. A comma at the end of a format divides by a thousand. */
const UNITS: Record<string, string> = { '': '', k: ',"k"', m: ',,"M"', b: ',,,"B"' }
const CODE = /^(num|pct|pts|mult|[a-z]{3})([0-4])?([kmb])?$/

const places = (count: number): string => (count === 0 ? '' : `.${'0'.repeat(count)}`)

/** Returns the number format, or null if the code is for dates or does not format a number. */
export function numberFormat(code: string): string | null {
  if (code === 'sci') return '0.00E+00'
  if (code === 'id') return '0'
  // No number format rounds to significant digits, so a cell keeps all digits.
  if (code === 'brief') return '#,##0.##'
  const [, kind, digits, unit = ''] = CODE.exec(code) ?? []
  if (kind === undefined) return null
  const given = digits === undefined ? null : Number(digits)
  // A format cannot multiply by a hundred without the sign of percent.
  if (kind === 'pct' || kind === 'pts') return `#,##0${places(given ?? 1)}%`
  if (kind === 'mult') return `#,##0${places(given ?? 1)}"x"`
  const sign = kind === 'num' ? '' : CURRENCIES[kind]
  if (sign === undefined) return null
  const number = `${sign === '' ? '' : `"${sign}"`}#,##0${places(given ?? 2)}${UNITS[unit]!}`
  return sign === '' ? number : `${number};-${number}`
}
