/** Converts times in a schedule's time zone, and days and hours in the reader's. Pure except for the reader's zone. */

export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

export function knownZones(): string[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone').filter((name) => name !== 'UTC')]
}

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(time_zone: string): Intl.DateTimeFormat {
  const known = formats.get(time_zone)
  if (known) return known
  const numeric = 'numeric'
  const shape = { weekday: 'short', day: numeric, month: 'short', year: numeric } as const
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' } as const
  const make = (timeZone: string) => new Intl.DateTimeFormat(undefined, { ...shape, ...clock, timeZone })
  let made: Intl.DateTimeFormat
  try {
    made = make(time_zone)
  } catch {
    // The service may know a zone that this browser does not.
    made = make('UTC')
  }
  formats.set(time_zone, made)
  return made
}

/** Returns a time such as "Mon, 30 Mar 2026, 06:30 CEST". */
export function momentIn(time_zone: string, at: string): string {
  return formatOf(time_zone).format(new Date(at))
}

/** Returns the value of a datetime-local field for an instant; empty for none. */
export function localInput(at: string | null): string {
  if (at === null) return ''
  const moment = new Date(at)
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** Returns the instant of such a value in the reader's zone; null for none. */
export function instantOf(value: string): string | null {
  if (value === '') return null
  const at = new Date(value)
  return Number.isNaN(at.getTime()) ? value : at.toISOString()
}
