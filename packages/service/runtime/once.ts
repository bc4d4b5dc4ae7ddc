/** Tells the first of what happens again and again, so that a trail or a log says it once in a while. */
import type { Clock } from '@assay/model/clock'

/** Keys that are kept; those that were told longest ago are forgotten first. */
const KEYS_MOST = 10_000

/** Whether the key is told now: true the first time, and again `ms` milliseconds after it was last told. */
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
