/** Tells which of repeated events to report, so that a trail or a log does not repeat them. */
import type { Clock } from '@assay/model/clock'

/** The most keys that are kept. The key with the oldest report is forgotten first. */
const KEYS_MOST = 10_000

/**
 * Returns a function that tells whether to report a key now: the first time, and again `ms` milliseconds after the last
 * report.
 */
export function createOnce(clock: Pick<Clock, 'monotonic'>, ms: number): (key: string) => boolean {
  const told = new Map<string, number>()
  return (key) => {
    const now = clock.monotonic()
    if (now - (told.get(key) ?? Number.NEGATIVE_INFINITY) < ms) return false
    told.delete(key)
    told.set(key, now)
    if (told.size > KEYS_MOST) told.delete(told.keys().next().value!)
    return true
  }
}
