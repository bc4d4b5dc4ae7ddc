/** Converts between instants and the wall time of a zone. */

const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns the wall time in the zone at the instant, to the minute, as the milliseconds of the same reading in UTC. */
export function wallAt(time_zone: string, at: number): number {
  let format = formats.get(time_zone)
  if (!format) {
    const [numeric, hourCycle, calendar] = ['numeric', 'h23', 'gregory'] as const
    const shape = { year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric }
    format = new Intl.DateTimeFormat('en-US', { ...shape, hourCycle, calendar, timeZone: time_zone })
    formats.set(time_zone, format)
  }
  const part: Record<string, number> = {}
  for (const { type, value } of format.formatToParts(at)) part[type] = Number(value)
  return Date.UTC(part.year!, part.month! - 1, part.day, part.hour, part.minute)
}

const MINUTE = 60_000
const DAY = 86_400_000

/** Returns the first instant with this wall time, or the first instant after the gap that skips it. */
export function instantOf(time_zone: string, wall: number): number {
  const offsets = [wall - DAY, wall + DAY].map((at) => wallAt(time_zone, at) - at)
  const shows = offsets.map((offset) => wall - offset).filter((at) => wallAt(time_zone, at) === wall)
  if (shows.length > 0) return Math.min(...shows)
  let [before, after] = [wall - Math.max(...offsets), wall - Math.min(...offsets)]
  while (after - before > MINUTE) {
    const middle = before + Math.floor((after - before) / MINUTE / 2) * MINUTE
    if (wallAt(time_zone, middle) > wall) after = middle
    else before = middle
  }
  return after
}
