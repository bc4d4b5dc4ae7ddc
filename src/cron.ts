/**
 * Cron lines: five fields, or a name such as @daily, in a time zone. What is wrong with one is a sentence; what is right
 * with one is a list of instants (milliseconds). Pure; croner does the calendar.
 *
 * Where the clocks change: a line whose minute and hour name their times (no `*`, no step) keeps to the wall clock. A time
 * that is skipped comes at the first moment after the gap, one that occurs twice comes the first time only. A line with
 * `*` or a step in minute or hour counts real time: what is skipped is left out, what occurs twice comes twice.
 */
import { Cron } from 'croner'

export const CRON_NAMES = [
  '@yearly',
  '@annually',
  '@monthly',
  '@weekly',
  '@daily',
  '@midnight',
  '@hourly',
] as const

interface Field {
  name: string
  least: number
  most: number
  words: string[]
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const FIELDS: Field[] = [
  { name: 'minute', least: 0, most: 59, words: [] },
  { name: 'hour', least: 0, most: 23, words: [] },
  { name: 'day of month', least: 1, most: 31, words: [] },
  { name: 'month', least: 1, most: 12, words: MONTHS },
  { name: 'day of week', least: 0, most: 7, words: DAYS },
]
const LONGEST = 200
const PLAIN = /^(?:\*|([a-z0-9]+)(?:-([a-z0-9]+))?)(?:\/(\d+))?$/i

function valueOf(field: Field, text: string): number {
  const word = field.words.indexOf(text.toUpperCase())
  if (word >= 0) return word + field.least
  return /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
}

/** One item of a field's list. Signs beyond the plain ones (L, W, #) are judged by croner. */
function faultOfItem(field: Field, item: string): string | null {
  if (item === '') return `${field.name}: an item of the list is empty`
  const plain = PLAIN.exec(item)
  const given = [plain?.[1], plain?.[2]].filter((text) => text !== undefined)
  if (!plain || (given.length === 1 && /^(L|\d+W|LW|W)$/i.test(given[0]!))) return null
  for (const text of given) {
    const value = valueOf(field, text)
    if (!(value >= field.least && value <= field.most)) {
      const words = field.words.length > 0 ? ` or ${field.words[0]} to ${field.words.at(-1)}` : ''
      return `${field.name}: ${JSON.stringify(text)} is not within ${field.least} to ${field.most}${words}`
    }
  }
  const [first, last] = given.map((text) => valueOf(field, text))
  if (last !== undefined && first! > last)
    return `${field.name}: ${item} runs backwards; write the two parts as a list, such as ${first}-${field.most},${field.least}-${last}`
  if (plain[3] === undefined) return null
  const step = Number(plain[3])
  if (step < 1 || step > field.most) return `${field.name}: the step ${step} is not within 1 to ${field.most}`
  return given.length === 1
    ? `${field.name}: a step takes a range or *, such as ${item.split('/')[0]}-${field.most}/${step}`
    : null
}

function faultOfFields(line: string): string | null {
  const fields = line.split(/\s+/)
  if (fields.length !== FIELDS.length)
    return `has ${fields.length} fields and not five (minute, hour, day of month, month, day of week)`
  for (const [index, field] of FIELDS.entries())
    for (const item of fields[index]!.split(',')) {
      const fault = faultOfItem(field, item)
      if (fault !== null) return fault
    }
  return null
}

const cronOf = (line: string, time_zone: string): Cron =>
  new Cron(line, { timezone: time_zone, mode: '5-part', fixedTimeRule: 'no-wildcard' })

const FROM = new Date('2026-01-01T00:00:00Z')

/** What is wrong with the line, as what follows "cron: "; null where it is right. */
export function cronFault(line: string): string | null {
  if (line.length > LONGEST) return `has ${line.length} characters; at most ${LONGEST} are read`
  const trimmed = line.trim()
  if (trimmed === '') return 'is empty: give five fields such as "0 7 * * MON-FRI", or a name such as @daily'
  if (trimmed.startsWith('@')) {
    const known = (CRON_NAMES as readonly string[]).includes(trimmed.toLowerCase())
    return known ? null : `${trimmed} is no name: there are ${CRON_NAMES.join(', ')}`
  }
  const fault = faultOfFields(trimmed)
  if (fault !== null) return fault
  try {
    if (cronOf(trimmed, 'UTC').nextRun(FROM)) return null
    return 'never comes: no month has such a day'
  } catch (error) {
    return `cannot be read: ${(error as Error).message.replace(/^CronPattern: /, '')}`
  }
}

/** The first instants of the line after `after`, at most `count`. The line must have no fault. */
export function timesAfter(line: string, time_zone: string, after: number, count: number): number[] {
  const cron = cronOf(line.trim(), time_zone)
  const times: number[] = []
  for (let last = after; times.length < count; ) {
    const next = cron.nextRun(new Date(last))
    if (!next) break
    last = next.getTime()
    times.push(last)
  }
  return times
}
