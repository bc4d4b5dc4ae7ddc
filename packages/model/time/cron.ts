/**
 * A cron expression: five fields, or a name such as @daily, in a time zone. `cronFault` says what is wrong with one;
 * `timesAfter` gives its next times in milliseconds since 1970. croner computes the calendar, this file the clock changes:
 * with a zone, croner 11 drops a fixed time inside a gap that ends at midnight (America/Scoresbysund).
 *
 * At a clock change, an expression whose minute and hour are fixed (no `*`, no step) follows the wall clock: a skipped time
 * runs at the first moment after the gap, a repeated time runs once, the first time. An expression with `*` or a step in
 * minute or hour follows elapsed time: skipped times are left out, repeated times run twice.
 */
import { Cron } from 'croner'
import { CRON_NAMES as NAMES } from './cron-names.ts'
import { MONTHS, WEEKDAYS } from './dates.ts'
import { instantOf, wallAt } from './wall.ts'

interface Field {
  name: string
  least: number
  most: number
  words: string[]
}

const short = (words: readonly string[]): string[] => words.map((word) => word.slice(0, 3).toUpperCase())
const FIELDS: Field[] = [
  { name: 'minute', least: 0, most: 59, words: [] },
  { name: 'hour', least: 0, most: 23, words: [] },
  { name: 'day of month', least: 1, most: 31, words: [] },
  { name: 'month', least: 1, most: 12, words: short(MONTHS) },
  { name: 'day of week', least: 0, most: 7, words: short(WEEKDAYS) },
]
const LONGEST = 200
const PLAIN = /^(?:\*|([a-z0-9]+)(?:-([a-z0-9]+))?)(?:\/(\d+))?$/i

function valueOf(field: Field, text: string): number {
  const word = field.words.indexOf(text.toUpperCase())
  if (word >= 0) return word + field.least
  return /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
}

/** Returns the number of a range's end, where Sunday counts as 7. */
const endOfRange = (text: string): string => (text.toUpperCase() === 'SUN' ? '7' : text)

/** Returns the fault of one item of a field's list, or null. croner checks the signs L, W and #. */
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
  const [first, last] = given.map((text, index) => valueOf(field, index === 1 ? endOfRange(text) : text))
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
    return `has ${fields.length === 1 ? 'one field' : `${fields.length} fields`} and not five (minute, hour, day of month, month, day of week)`
  for (const [index, field] of FIELDS.entries())
    for (const item of fields[index]!.split(',')) {
      const fault = faultOfItem(field, item)
      if (fault !== null) return fault
    }
  return null
}

const cronOf = (line: string, time_zone: string): Cron =>
  new Cron(line.replace(/-SUN\b/gi, '-7'), {
    timezone: time_zone,
    mode: '5-part',
    fixedTimeRule: 'single-value',
  })

const FROM = new Date('2026-01-01T00:00:00Z')

/** Returns the fault of the expression, worded to follow "cron: "; null if it is valid. */
export function cronFault(line: string): string | null {
  if (line.length > LONGEST) return `has ${line.length} characters; at most ${LONGEST} are read`
  const trimmed = line.trim()
  if (trimmed === '') return 'is empty: give five fields such as "0 7 * * MON-FRI", or a name such as @daily'
  if (trimmed.startsWith('@')) {
    const known = trimmed.toLowerCase() in NAMES
    return known ? null : `${trimmed} is not a known name; the names are ${Object.keys(NAMES).join(', ')}`
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

/**
 * Returns the next instant of an expression that follows the wall clock. croner iterates over wall times as if they
 * were UTC.
 */
function nextOnTheWall(cron: Cron, time_zone: string, after: number): number | null {
  for (let wall = new Date(wallAt(time_zone, after)); ; ) {
    const next = cron.nextRun(wall)
    if (!next) return null
    const at = instantOf(time_zone, next.getTime())
    if (at > after) return at
    wall = next
  }
}

/**
 * Returns the first `count` instants after `after` up to `until`, or fewer if no more follow. The expression must be
 * valid. Each instant takes a tenth of a millisecond, so ask for no more than you need.
 */
export function timesAfter(
  line: string,
  time_zone: string,
  after: number,
  count: number,
  until = Number.POSITIVE_INFINITY,
): number[] {
  const fields = NAMES[line.trim().toLowerCase()] ?? line.trim()
  const [minute, hour] = fields.split(/\s+/)
  const fixed = !/[*?/]/.test(`${minute}${hour}`)
  const cron = cronOf(fields, fixed ? 'UTC' : time_zone)
  const times: number[] = []
  for (let last = after; times.length < count; ) {
    const next = fixed
      ? nextOnTheWall(cron, time_zone, last)
      : (cron.nextRun(new Date(last))?.getTime() ?? null)
    if (next === null || next > until) break
    last = next
    times.push(last)
  }
  return times
}
