/**
 * Reads forms of dates that a source declares beside the orders of day, month and year: those of strptime, with the
 * names of months in several languages, and five of our own (weeks, quarters, seconds and milliseconds since 1970,
 * days of a spreadsheet). A form is never guessed.
 */
import type { NUMBER_DATES, WORD_DATES } from '@assay/model/dialect'
import { literal } from '../../duckdb/quoting.ts'

/** A form that strptime does not have: the pattern of its values, and the SQL that reads the text `v`. */
interface OwnForm {
  pattern: string
  value: (v: string) => string
  time: boolean
}

type OwnName = (typeof WORD_DATES | typeof NUMBER_DATES)[number]

const OWN: Record<OwnName, OwnForm> = {
  week: {
    pattern: '[0-9]{4}-?W[0-9]{1,2}',
    value: (v) =>
      `cast(try_strptime(left(${v}, 4) || '-' || regexp_extract(${v}, '[0-9]+$') || '-1', '%G-%V-%u') as date)`,
    time: false,
  },
  quarter: {
    pattern: '[0-9]{4}[- ]?Q[1-4]|Q[1-4][- /]?[0-9]{4}',
    value: (v) =>
      `make_date(cast(regexp_extract(${v}, '[0-9]{4}') as bigint), 3 * cast(regexp_extract(${v}, 'Q([1-4])', 1) as bigint) - 2, 1)`,
    time: false,
  },
  epoch: {
    pattern: '[0-9]{1,11}(?:\\.[0-9]+)?',
    value: (v) => `to_timestamp(cast(${v} as double))`,
    time: true,
  },
  epoch_ms: {
    pattern: '[0-9]{1,14}',
    value: (v) => `to_timestamp(cast(${v} as double) / 1000)`,
    time: true,
  },
  excel: {
    pattern: '[0-9]{1,7}',
    value: (v) => `(date '1899-12-30' + cast(${v} as integer))`,
    time: false,
  },
}

const ownOf = (form: string): OwnForm | undefined => (form in OWN ? OWN[form as OwnName] : undefined)

/** Tells whether a declaration of dates is a form, and not an order such as `dmy`. */
export const isForm = (dates: string): boolean => dates.includes('%') || dates in OWN

/** Tells whether values of the form have a time of day. */
export const formHasTime = (form: string): boolean => ownOf(form)?.time ?? /%[HIMSfpT]/.test(form)

/**
 * Returns the pattern of values of the form. For forms of strptime it is wider than the form, since the engine judges
 * each value.
 */
export function formPattern(form: string): RegExp {
  const own = ownOf(form)
  if (own) return new RegExp(`^(?:${own.pattern})$`)
  const parts = form.split(/(%-?[a-zA-Z%])/).map((part) => {
    if (!part.startsWith('%')) return part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    return /[dmyYHIMSj]$/.test(part) ? '\\d{1,4}' : '.+'
  })
  return new RegExp(`^${parts.join('')}$`)
}

/** Returns SQL for the form. `fits` and `value`: SQL over the text `v`. */
export function formSql(form: string, v: string): { value: string; fits: string } {
  const own = ownOf(form)
  if (own) {
    const value = own.value(v)
    return { value, fits: `(regexp_full_match(${v}, ${literal(own.pattern)}) and ${value} is not null)` }
  }
  const plain = `try_strptime(${v}, ${literal(form)})`
  const parsed = /%[bB]/.test(form) ? `coalesce(${plain}, ${inEnglish(form, v)})` : plain
  return { value: formHasTime(form) ? parsed : `cast(${parsed} as date)`, fits: `${parsed} is not null` }
}

/** Returns SQL that reads the text with the name of its month put into English, as strptime knows it. */
function inEnglish(form: string, v: string): string {
  const word = `lower(regexp_extract(${v}, '\\p{L}{3,}'))`
  const names = [...monthNames()].map(
    ([name, month]) => `when ${literal(name)} then ${literal(SHORT[month]!)}`,
  )
  const english = `regexp_replace(${v}, '\\p{L}{3,}\\.?', case ${word} ${names.join(' ')} end)`
  return `try_strptime(${english}, ${literal(form.replaceAll('%B', '%b'))})`
}

const SHORT = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'nl', 'pt']
/** Abbreviations that people or older programs write, with their months. */
const OLDER: readonly (readonly [string, number])[] = [
  ['mrz', 2],
  ['mär', 2],
  ['jänner', 0],
  ['feber', 1],
]

let names: ReadonlyMap<string, number> | undefined

/**
 * Returns the names of months and their abbreviations in lower case, with the month from 0. A name that means two
 * months in two languages is left out.
 */
export function monthNames(): ReadonlyMap<string, number> {
  if (names) return names
  const found = new Map<string, number>(OLDER)
  const contrary = new Set<string>()
  const note = (name: string, month: number): void => {
    if (found.has(name) && found.get(name) !== month) contrary.add(name)
    found.set(name, month)
  }
  for (const language of LANGUAGES)
    for (const style of ['long', 'short'] as const) {
      const { format } = new Intl.DateTimeFormat(language, { month: style, timeZone: 'UTC' })
      for (let month = 0; month < 12; month += 1) {
        const name = format(Date.UTC(2023, month, 1))
          .toLowerCase()
          .replace(/\.$/, '')
        note(name, month)
        note(name.slice(0, 3), month)
      }
    }
  for (const name of contrary) found.delete(name)
  names = found
  return found
}
