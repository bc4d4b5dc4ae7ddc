/** Reads the limits that a template asks for: durations as milliseconds, sizes as bytes. */

const DURATION: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const SIZE: Record<string, number> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
}

/** "60s" -> 60000; a number alone counts seconds. Null where it is no duration above zero. */
export function readDuration(value: unknown): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)?$/.exec(String(value))
  return match ? positive(Number(match[1]) * DURATION[match[2] ?? 's']!) : null
}

/** "1GB" -> 1e9; a number alone counts bytes. Null where it is no size above zero. */
export function readSize(value: unknown): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(B|kB|KB|MB|GB|TB|KiB|MiB|GiB)?$/.exec(String(value))
  return match ? positive(Number(match[1]) * SIZE[match[2] ?? 'B']!) : null
}

function positive(value: number): number | null {
  const whole = Math.floor(value)
  return Number.isSafeInteger(whole) && whole > 0 ? whole : null
}
