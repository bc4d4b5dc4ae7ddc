/**
 * Says beside which steps one step is judged: the usual ones around it, at the same position in the season if there is
 * one. From them come its expected leaves, and those of earlier steps that are expected in the same way.
 */
import type { Earlier } from '../drivers/leaves.ts'

export interface Expectation {
  value: number
  /** Its standard deviation. */
  error: number
}

export interface Window {
  /** Steps that have data and no finding, ascending. */
  usual: readonly number[]
  /** Steps of a season; 1 without one. */
  season: number
}

type Table = Earlier & { noise: Float64Array }

/** The leaves of a step beside their expectation, and the same of earlier steps. */
export interface Expected {
  now: Table
  history: Table[]
}

/** An earlier step: its sides, and the value of the whole. */
export type Past<Sides> = Sides & { own: number }

interface Leaves<Sides> {
  /** Returns the leaves of a step and what is expected of them, so that they make up `expected`. */
  sides(step: number, expected: number, around: readonly number[]): Sides
  /** Returns the value of the whole at a step. A step whose value is not finite is passed over. */
  own(step: number): number
  /** Returns what makes a table of two sides, with the noise that the earlier steps show. */
  table(past: readonly Past<Sides>[]): (sides: Sides, expected: number, error: number) => Omit<Table, 'days'>
}

/** The number of steps around from which a leaf's part is taken: for each position in a season, or without a season. */
const AROUND = { season: 8, plain: 28 }
const LEAST_AROUND = 4
/** The most other steps that are expected in the same way, to show what is ordinary. */
const MOST_HISTORY = 24
const EARLIER = 12

/** Returns tables of leaves before and after, as the search for causes takes them; null if too few steps are around. */
export function tablesAround<Sides extends object>(
  window: Window,
  at: number,
  whole: Expectation,
  { sides, own, table }: Leaves<Sides>,
): Expected | null {
  const around = near(window, at)
  if (around.length < LEAST_AROUND) return null
  const past = nearest(window.usual, at, MOST_HISTORY).flatMap((step): Past<Sides>[] => {
    const beside = near(window, step)
    const value = own(step)
    if (beside.length < LEAST_AROUND || !Number.isFinite(value)) return []
    return [{ own: value, ...sides(step, value, beside) }]
  })
  const tableOf = table(past)
  const days = (): [number, number] => [1, 1]
  return {
    now: { ...tableOf(sides(at, whole.value, around), whole.value, whole.error), days: days() },
    history: past.slice(0, EARLIER).map((one) => ({ ...tableOf(one, one.own, 0), days: days() })),
  }
}

/** Returns the nearest usual steps on both sides at the same position in the season. */
function near({ usual, season }: Window, at: number): number[] {
  const alike = usual.filter((step) => (step - at) % season === 0)
  return nearest(alike, at, season > 1 ? AROUND.season : AROUND.plain)
}

/** Returns at most `most` of the steps, the nearest first. */
function nearest(steps: readonly number[], at: number, most: number): number[] {
  return steps
    .filter((step) => step !== at)
    .toSorted((a, b) => Math.abs(a - at) - Math.abs(b - at) || a - b)
    .slice(0, most)
}
