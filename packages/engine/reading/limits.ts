/** Reads the limits that a template asks for: durations as milliseconds, sizes as bytes. */
import { bytes, milliseconds } from '@assay/model/quantity'

/** Turns "60s" into 60000 milliseconds. A number alone counts seconds. Returns null if it is not a duration above zero. */
export function readDuration(value: unknown): number | null {
  return positive(milliseconds(String(value), 's'))
}

/** Turns "1GB" into 1e9 bytes. A number alone counts bytes. Returns null if it is not a size above zero. */
export function readSize(value: unknown): number | null {
  return positive(bytes(String(value), 'B'))
}

function positive(value: number | null): number | null {
  const whole = Math.floor(value ?? 0)
  return Number.isSafeInteger(whole) && whole > 0 ? whole : null
}
