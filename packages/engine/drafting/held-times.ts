/**
 * Finds columns of texts and numbers that may hold times in a form that is never read without a declaration: month
 * names, weeks, quarters, years with a month, digits such as 20240131, seconds since 1970, days of a spreadsheet. A
 * draft asks, with the line that reads them.
 */
import { MONTHS } from '@assay/model/dates'
import type { Cell } from '@assay/model/insight'
import { monthNames } from '../sources/text/date-forms.ts'
import { dateInWords } from '../sources/text/readings-in-words.ts'

/** A question that the author must answer about a column. */
export interface Question {
  column: string
  /** A full sentence. */
  says: string
  /** The readings, each with the line of the source that settles it. */
  readings: { as: string; write: string }[]
}

/**
 * The known properties of the column. `typed`: its database or its file gives its type, so that no line of a source
 * can change it.
 */
export interface Held {
  name: string
  min: Cell
  max: Cell
  typed?: 'database' | 'file' | undefined
}

/** A form that a source may declare, and a sample as it would be read. */
interface Form {
  form: string
  as: string
}

const DATE_LIKE = /^\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}\b/
const YEAR_LIKE = /^(?:1\d|20)\d\d$/
const YEAR = new Set(['year', 'years', 'yr', 'jahr'])
const TIME = new Set(
  'date day time timestamp ts at created updated month week epoch unix datum tag zeit monat woche jour mois fecha mes'.split(
    ' ',
  ),
)

/** Finds a form of time in texts. `samples`: the most frequent texts. */
export function heldInTexts(
  column: Held,
  samples: readonly string[],
  words: readonly string[],
): Question | null {
  const [sample] = samples
  if (sample === undefined) return null
  const form = formOf(samples)
  if (form !== null) return asked(column, sample, form)
  const line = (how: string): string => `columns: { ${JSON.stringify(column.name)}: ${how} }`
  const dates = samples.every((text) => DATE_LIKE.test(text))
  const years = words.some((word) => YEAR.has(word)) && samples.every((text) => YEAR_LIKE.test(text))
  if (!dates && !years) return null
  const what = dates ? 'dates' : 'years'
  if (column.typed === 'database') return asView(column, 'text', what, sample)
  const write = line(dates ? 'timestamp' : 'integer')
  return {
    column: column.name,
    says: `It is read as text, and its values look like ${what}, such as ${JSON.stringify(sample)}. Write ${write}.`,
    readings: [{ as: dates ? 'dates or times' : 'years', write }],
  }
}

/** Finds a form of time in numbers. `samples`: the most frequent whole numbers. */
export function heldInNumbers(
  column: Held,
  samples: readonly number[],
  words: readonly string[],
): Question | null {
  const [low, high] = [Number(column.min), Number(column.max)]
  const [sample] = samples
  if (sample === undefined || !Number.isFinite(low) || !Number.isFinite(high)) return null
  const named = words.some((word) => TIME.has(word))
  const enough = named || new Set(samples).size >= 4
  const within = (from: number, to: number): boolean => low >= from && high <= to
  if (enough && within(1900_01_01, 2100_12_31) && samples.every(isDay))
    return asked(column, String(sample), { form: '%Y%m%d', as: dayOf(digits(sample, 8)) })
  if (enough && within(1900_01, 2100_12) && samples.every((value) => isMonth(value % 100)))
    return asked(column, String(sample), {
      form: '%Y%m',
      as: monthOf(sample % 100, Math.floor(sample / 100)),
    })
  if (!named) return null
  if (within(631_152_000, 4_102_444_800))
    return asked(column, String(sample), { form: 'epoch', as: momentOf(sample * 1000) })
  if (within(631_152_000_000, 4_102_444_800_000))
    return asked(column, String(sample), { form: 'epoch_ms', as: momentOf(sample) })
  if (within(20_000, 80_000))
    return asked(column, String(sample), { form: 'excel', as: momentOf((sample - 25_569) * 86_400_000) })
  return null
}

function asked(column: Held, sample: string, { form, as }: Form): Question {
  if (column.typed === 'database') return asView(column, 'text or a number', 'times', sample)
  const looks = `Its values look like times, such as ${JSON.stringify(sample)} for ${as}, and nothing says so.`
  if (column.typed === 'file')
    return { column: column.name, says: `${looks} Make times of them by SQL in a template.`, readings: [] }
  const write = `columns: { ${JSON.stringify(column.name)}: { dates: ${form.includes('%') ? JSON.stringify(form) : form} } }`
  return { column: column.name, says: `${looks} If they are, write ${write}.`, readings: [{ as, write }] }
}

function asView({ name }: Held, held: string, what: string, sample: string): Question {
  return {
    column: name,
    says: `The database holds it as ${held}, and its values look like ${what}, such as ${JSON.stringify(sample)}. Give it a type in a view of the database, and draft from the view.`,
    readings: [],
  }
}

const isMonth = (month: number): boolean => month >= 1 && month <= 12
const isDay = (value: number): boolean => {
  const [year, month, day] = [Math.floor(value / 10_000), Math.floor(value / 100) % 100, value % 100]
  return isMonth(month) && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}
const digits = (value: number, n: number): string => String(value).padStart(n, '0')
const dayOf = (text: string): string =>
  dateInWords({ year: Number(text.slice(0, 4)), month: Number(text.slice(4, 6)), day: Number(text.slice(6)) })
const monthOf = (month: number, year: number): string => `${MONTHS[month - 1]} ${year}`

/** Words a moment of UTC, with its clock time if it is not the beginning of a day. */
function momentOf(at: number): string {
  const text = new Date(at).toISOString()
  const day = dayOf(text.slice(0, 10).replaceAll('-', ''))
  return text.includes('T00:00:00') ? day : `${day}, ${text.slice(11, 16)} UTC`
}

const NUMBERED: readonly [pattern: RegExp, form: string, as: (parts: string[]) => string][] = [
  [/^(\d{4})-?W(\d{1,2})$/, 'week', ([year, week]) => `week ${Number(week)} of ${year}`],
  [/^(\d{4})[- ]?Q([1-4])$/, 'quarter', ([year, quarter]) => `quarter ${quarter} of ${year}`],
  [/^Q([1-4])[- /]?(\d{4})$/, 'quarter', ([quarter, year]) => `quarter ${quarter} of ${year}`],
  [/^(\d{4})-(0\d|1[0-2])$/, '%Y-%m', ([year, month]) => monthOf(Number(month), Number(year))],
  [/^(0?\d|1[0-2])\/(\d{4})$/, '%m/%Y', ([month, year]) => monthOf(Number(month), Number(year))],
]

/** Returns the form that all texts have; null if they have none, or several. */
function formOf(samples: readonly string[]): Form | null {
  for (const [pattern, form, as] of NUMBERED)
    if (samples.every((text) => pattern.test(text)))
      return { form, as: as(pattern.exec(samples[0]!)!.slice(1)) }
  const forms = new Set(samples.map((text) => namedForm(text)?.form ?? ''))
  const [form] = forms
  return forms.size === 1 && form !== '' ? namedForm(samples[0]!) : null
}

const LONGEST = 30

/**
 * Returns the form of a date with the name of a month, such as "%d. %B %Y" for "1. Januar 2023"; null for any other
 * text.
 */
function namedForm(text: string): Form | null {
  if (text.length > LONGEST) return null
  const tokens = text.match(/\p{L}+|\d+|[^\p{L}\d]+/gu) ?? []
  const numbers = tokens.filter((token) => /^\d/.test(token))
  const words = tokens.filter((token) => /^\p{L}/u.test(token))
  const month = monthNames().get(words[0]?.toLowerCase() ?? '')
  if (words.length !== 1 || month === undefined || numbers.length < 1 || numbers.length > 2) return null
  if (tokens.some((token) => !/^[\p{L}\d]/u.test(token) && !/^[ .,/-]{1,2}$/.test(token))) return null
  const year = numbers.find((token) => token.length === 4) ?? numbers.at(-1)!
  const [day] = numbers.filter((token) => token !== year)
  if (
    ![2, 4].includes(year.length) ||
    (day !== undefined && !(day.length <= 2 && Number(day) <= 31 && Number(day) > 0))
  )
    return null
  const parts = tokens.map((token) => {
    if (token === words[0]) return token.length > 3 ? '%B' : '%b'
    if (token === year) return year.length === 4 ? '%Y' : '%y'
    return token === day ? '%d' : token
  })
  const full = year.length === 4 ? Number(year) : Number(year) + (Number(year) >= 69 ? 1900 : 2000)
  const as = day === undefined ? monthOf(month + 1, full) : `${Number(day)} ${monthOf(month + 1, full)}`
  return { form: parts.join(''), as }
}
