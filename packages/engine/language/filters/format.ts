/** Filters that decide how a value is printed. */
import { datePattern, formatMoment, readMoment, strftimePattern } from '../../printing/date-format.ts'
import { escapeMarkdown } from '../../printing/escape.ts'
import { formatValue } from '../../printing/format.ts'
import { printText } from '../../printing/print.ts'
import { Markdown, toCell, ValueError } from '../../values/value.ts'
import { isTruthy } from '../operations.ts'
import { type Filter, numeric, shown } from './filter.ts'

const fmt: Filter = (value, [code]) => {
  if (typeof code !== 'string') throw new ValueError('fmt needs a code in quotes.', 'Write fmt: "num0".')
  if (Array.isArray(value)) return value.map((item) => formatValue(toCell(item), code))
  return formatValue(toCell(value), code)
}

/** Prints a change with its sign: "+1.2", "-3", "0". */
const delta: Filter = (value, [code]) => {
  if (value === null || value === undefined) return ''
  const number = numeric(value, 'delta')
  const text = typeof code === 'string' ? formatValue(toCell(number), code) : printText(number)
  const zero = !/[1-9]/.test(text)
  return text.startsWith('-') || zero ? text : `+${text}`
}

/** Prints the date that the value itself says. Neither "now" nor the machine's zone is known. */
const date: Filter = (value, [pattern = 'date']) => {
  if (value === null || value === undefined) return ''
  const moment = typeof value === 'string' ? readMoment(value) : null
  if (!moment) {
    throw new ValueError(`date needs a date, not ${shown(value)}.`, 'There is no "now": use run.started_at.')
  }
  const tokens = typeof pattern === 'string' ? (strftimePattern(pattern) ?? datePattern(pattern)) : null
  if (!tokens)
    throw new ValueError(`${shown(pattern)} is not a date pattern.`, 'Use one such as "d mmm yyyy".')
  return formatMoment(moment, tokens)
}

/** Returns the argument for null, false, an empty text or an empty list. `allow_false: true` keeps false. */
const otherwise: Filter = (value, [instead], { named }) => {
  if (value === false && isTruthy(named.get('allow_false'))) return false
  const empty = value instanceof Markdown ? value.toString() === '' : isEmpty(value)
  return empty || !isTruthy(value) ? instead : value
}

const isEmpty = (value: unknown): boolean =>
  (typeof value === 'string' || Array.isArray(value)) && value.length === 0

export const FORMAT_FILTERS: Record<string, Filter> = {
  fmt,
  delta,
  date,
  default: otherwise,
  escape: (value) => new Markdown(escapeMarkdown(printText(value))),
  raw: (value) => new Markdown(printText(value)),
}
