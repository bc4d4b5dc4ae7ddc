/** Writes times, durations and sizes as text. Pure. */
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const STEPS = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
] as const

/** Returns "3 minutes ago", or the date if it is more than a month ago. */
export function ago(at: string, now = Date.now()): string {
  let span = (Date.parse(at) - now) / 1000
  for (const [unit, most] of STEPS) {
    if (Math.abs(span) < most) return relative.format(Math.round(span), unit)
    span /= most
  }
  return at.slice(0, 10)
}

/** Returns a duration such as "2 h 5 min", in the two largest units. A unit of zero is left out. */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`
  const [unit, small, share] =
    ms < 3_600_000 ? (['min', 's', 60_000] as const) : (['h', 'min', 3_600_000] as const)
  const whole = Math.floor(ms / share)
  const rest = Math.round(((ms % share) * 60) / share)
  if (rest === 60) return `${whole + 1} ${unit}`
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${small}`
}

export function between(from: string | null, to: string | null): string {
  return from === null || to === null ? '–' : duration(Date.parse(to) - Date.parse(from))
}

/** Returns a retry schedule in words. `seconds`: the waits between tries. */
export function triesOf(seconds: readonly number[]): string {
  return `${seconds.length + 1}: at once${seconds.map((wait) => `, ${duration(wait * 1000)}`).join('')} later each`
}

/** Returns a size such as "1.5 MB", in decimal units, as in the settings. */
export function size(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  let [shown, unit] = [bytes, 0]
  while (shown >= 999.5 && unit < units.length - 1) [shown, unit] = [shown / 1000, unit + 1]
  return `${Number(shown.toPrecision(3)).toLocaleString('en')} ${units[unit]}`
}

/** Returns the value of a datetime-local field, in the reader's zone, as RFC 3339; undefined if it is not a time. */
export function localMoment(text: string | undefined): string | undefined {
  const at = text === undefined ? Number.NaN : new Date(text).getTime()
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}
