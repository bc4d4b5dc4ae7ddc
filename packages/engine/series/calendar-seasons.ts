/** Finds the seasons that a series may have by its step, and those that it shows. */

import { autocorrelations } from '../numeric/seasons.ts'
import type { Step } from './grid.ts'
import { findSeasons, type Season, testSeason } from './seasons.ts'

const YEAR_DAYS = 365.2425

/**
 * Returns the seasons that a step suggests, in steps, the shortest first. Returns none if the calendar suggests none.
 */
export function calendarSeasons(step: Step): number[] {
  if (step.unit === 'months') return step.size < 12 ? [12 / step.size] : []
  if (step.unit === 'weekdays') return [step.open.size, (step.open.size * YEAR_DAYS) / 7]
  if (step.unit !== 'days') return []
  if (step.size > 7) return []
  const days = step.size < 1 ? [1, 7, YEAR_DAYS] : step.size < 7 ? [7, YEAR_DAYS] : [YEAR_DAYS]
  return days.map((day) => day / step.size).filter((period) => period >= 2)
}

/** The largest distance from a whole number, as a share, that counts as whole. */
const WHOLE = 0.01
const MOST_CYCLES = 4

/** Returns the fewest cycles in whole steps. A week in steps of two days is 3.5 steps, so two weeks are 7. */
function wholeSteps(period: number): number {
  for (let cycles = 1; cycles <= MOST_CYCLES; cycles++) {
    const length = cycles * period
    if (Math.abs(length - Math.round(length)) <= WHOLE * length) return Math.round(length)
  }
  return Math.round(period)
}

export interface FoundSeason extends Season {
  /** The whole steps of one cycle, or of the fewest cycles that are whole, for methods that need them. */
  steps: number
}

/** Returns the seasons that the values show at these rows, the shortest first. The chance of any false one is 5 %. */
export function seasonsOf(step: Step, values: readonly number[], rows: readonly number[]): FoundSeason[] {
  if (values.length < 8 || values.every((value) => value === values[0])) return []
  const candidates = calendarSeasons(step)
  const found = candidates.length > 0 ? findSeasons(values, rows, candidates) : unnamedSeason(values, rows)
  return found.map((season) => ({ ...season, steps: wholeSteps(season.period) }))
}

/**
 * Returns, for a series without periods of the calendar, the lag with the highest peak of autocorrelation, corrected
 * for the lags that were tried.
 */
function unnamedSeason(values: readonly number[], rows: readonly number[]): Season[] {
  const longest = Math.floor(values.length / 3)
  const correlations = autocorrelations(values, longest + 1)
  let best = 0
  for (let lag = 2; lag <= longest; lag++) {
    const here = correlations[lag]!
    const peak = here > correlations[lag - 1]! && here >= correlations[lag + 1]!
    if (peak && (best === 0 || here > correlations[best]! + 0.05)) best = lag
  }
  const season = best === 0 ? null : testSeason(values, rows, best)
  return season && season.p * longest <= 0.05 ? [season] : []
}
