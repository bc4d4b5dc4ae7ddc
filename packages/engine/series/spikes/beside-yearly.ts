/** Finds values that stand out and days that stand out every year, each beside the other. */
import type { Spikes } from './spikes.ts'
import { LEAST_DAYS, yearlyDays } from './yearly.ts'

/** The share of alpha for days that stand out every year; each round finds those that the others hid. */
const YEARLY = 0.2
const ROUNDS = 2

/**
 * Finds both kinds. `find` searches for single values beside those set aside, at the chance that it is given. `days`
 * are the days of the values since 1970-01-01, ascending; null if the steps are no days. The chance of any false
 * finding of both kinds is `alpha`.
 */
export function findBesideYearly(
  find: (aside: ReadonlyMap<number, number>, alpha: number) => Spikes,
  days: readonly number[] | null,
  alpha: number,
): { found: Spikes; yearly: ReadonlyMap<number, number> } {
  const share = days === null || days.length < LEAST_DAYS ? 0 : YEARLY * alpha
  let yearly = new Map<number, number>()
  let found = find(yearly, alpha - share)
  if (days === null || share === 0) return { found, yearly }
  for (let round = 0; found.residuals !== null && round < ROUNDS; round++) {
    const next = yearlyDays(days, found.residuals.standardised, share, yearly)
    if (next.size === yearly.size) break
    yearly = next
    found = find(yearly, alpha - share)
  }
  return { found, yearly }
}
