/** The rule by which one row decides an estimate: what the estimate becomes without that row. */

/**
 * The smallest move that counts, as a share of the standard error. Without it every row would decide an estimate near
 * zero.
 */
const LEAST_MOVE = 0.5

/**
 * Returns how an estimate changes without the row: `direction` if its sign turns, `size` if it moves by more than half
 * of itself, null if neither. `error` is the standard error of the estimate.
 */
export function movedFrom(estimate: number, without: number, error: number): 'direction' | 'size' | null {
  const moved = Math.abs(without - estimate)
  if (!(moved >= LEAST_MOVE * error)) return null
  if (without * estimate < 0) return 'direction'
  return moved > Math.abs(estimate) / 2 ? 'size' : null
}
