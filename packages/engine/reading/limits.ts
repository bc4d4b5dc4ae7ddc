/** Reads the limits that a template asks for: durations as milliseconds, sizes as bytes. */
import { bytes, milliseconds } from '@assay/model/quantity'

/** "60s" -> 60000; a number alone counts seconds. Returns null if it is no duration above zero. */
export function readDuration(value: unknown): number | null {
  return positive(milliseconds(String(value), 's'))
}

/** "1GB" -> 1e9; a number alone counts bytes. Returns null if it is no size above zero. */
export function readSize(value: unknown): number | null {
  return positive(bytes(String(value), 'B'))
}

function positive(value: number | null): number | null {
  const whole = Math.floor(value ?? 0)
  return Number.isSafeInteger(whole) && whole > 0 ? whole : null
}
