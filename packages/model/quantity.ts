/** Parses durations and sizes as settings and templates write them: "500ms", "5m", "1GB", "2GiB". */
const MILLISECONDS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const BYTES: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
}

function reader(units: Readonly<Record<string, number>>): (text: string, alone?: string) => number | null {
  const shape = new RegExp(`^(\\d+(?:\\.\\d+)?)\\s*(${Object.keys(units).join('|')})?$`)
  return (text, alone) => {
    const match = shape.exec(text)
    const unit = match?.[2] ?? alone
    return match && unit !== undefined ? Number(match[1]) * units[unit]! : null
  }
}

/**
 * Turns "60s" into 60000 milliseconds. `alone` is the unit of a number without one. Returns null for any other text,
 * and for a number without a unit if `alone` is absent.
 */
export const milliseconds = reader(MILLISECONDS)

/** Turns "1GB" into 1e9 bytes; the result may have a fraction. `alone` and null are as for `milliseconds`. */
export const bytes = reader(BYTES)
