/**
 * Tells by the format of a cell what its number means: a number, a date, a time of day or a duration. The numbers of
 * formats that have no code in the file are those of ECMA-376 part 1, section 18.8.30.
 */

export type NumberKind = 'number' | 'date' | 'time' | 'date_time' | 'length'

const KNOWN: readonly { from: number; to: number; kind: NumberKind }[] = [
  { from: 14, to: 17, kind: 'date' },
  { from: 18, to: 21, kind: 'time' },
  { from: 22, to: 22, kind: 'date_time' },
  { from: 27, to: 31, kind: 'date' },
  { from: 32, to: 35, kind: 'time' },
  { from: 36, to: 36, kind: 'date' },
  { from: 45, to: 45, kind: 'time' },
  { from: 46, to: 46, kind: 'length' },
  { from: 47, to: 47, kind: 'time' },
  { from: 50, to: 54, kind: 'date' },
  { from: 55, to: 56, kind: 'time' },
  { from: 57, to: 58, kind: 'date' },
]

export function kindOfId(id: number): NumberKind {
  return KNOWN.find(({ from, to }) => id >= from && id <= to)?.kind ?? 'number'
}

/**
 * Returns the kind of a format such as `dd/mm/yyyy hh:mm`. Only its first section counts, that of positive numbers.
 */
export function kindOfCode(code: string): NumberKind {
  const plain = code.replace(/"[^"]*"|\\.|[_*]./g, '')
  const [section = ''] = plain.split(';')
  if (/\[(?:h+|m+|s+)\]/i.test(section)) return 'length'
  const marks = section
    .replace(/\[[^\]]*\]/g, '')
    .replace(/am\/pm|a\/p/gi, 'h')
    .toLowerCase()
  if (/general|standard/.test(marks)) return 'number'
  const clock = /[hs]/.test(marks)
  const day = /[yd]/.test(marks) || (!clock && /m/.test(marks))
  if (day) return clock ? 'date_time' : 'date'
  return clock ? 'time' : 'number'
}

const DAY_MS = 86_400_000
/**
 * The number of 29 February 1900 in the 1900 system, a day that did not exist. Days before it count from one day
 * later.
 */
const LEAP_DAY = 60
const EPOCH_1900 = Date.UTC(1899, 11, 30)
const EPOCH_1904 = Date.UTC(1904, 0, 1)
/** The number of the last day of the year 9999. */
const LAST_DAY = 2_958_465

/**
 * Returns the text of a number: dates in ISO form, numbers with a point. A number that its format cannot show stays a
 * number.
 */
export function textOfNumber(value: number, kind: NumberKind, from1904: boolean): string {
  if (kind === 'number' || !Number.isFinite(value)) return plainNumber(value)
  if (kind === 'length') return value < 0 ? plainNumber(value) : clockOf(Math.round(value * DAY_MS))
  const first = from1904 ? 0 : 1
  if (value < 0 || value >= LAST_DAY + 1) return plainNumber(value)
  if (kind === 'time' ? value < 1 : value < first) return clockOf(Math.round(value * DAY_MS) % DAY_MS)
  const day = from1904 || value >= LEAP_DAY ? value : value + 1
  if (!from1904 && Math.floor(value) === LEAP_DAY) return '1900-02-29'
  const at = new Date((from1904 ? EPOCH_1904 : EPOCH_1900) + Math.round(day * DAY_MS))
  const [date = '', time = ''] = at.toISOString().slice(0, -1).split('T')
  const clock = time.replace(/\.000$/, '')
  return kind === 'date' && clock === '00:00:00' ? date : `${date} ${clock}`
}

/** Returns milliseconds as hours, minutes and seconds. There may be more than 24 hours. */
export function clockOf(ms: number): string {
  const two = (n: number): string => String(Math.floor(n)).padStart(2, '0')
  const rest = ms % 1000
  const shown = `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}`
  return rest === 0 ? shown : `${shown}.${String(rest).padStart(3, '0')}`
}

/**
 * Prints a number with a fourth decimal if three could be read as thousands, because the cell is known to be a number.
 */
export function plainNumber(value: number): string {
  const text = String(value)
  return /^-?[1-9]\d{0,2}\.\d{3}$/.test(text) ? `${text}0` : text
}
