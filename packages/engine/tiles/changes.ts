/** Says how a figure compares with another: "up 5.4 points from May 2001". */
import { isLevel } from '@assay/model/change'
import { dayNumber } from '@assay/model/dates'
import type { TileChange } from '@assay/model/reading'
import type { Measure } from '../verdicts/measure.ts'
import { dayInWords } from '../verdicts/times.ts'
import { amount, changeOf, inPoints, shareOf } from '../verdicts/words.ts'

export interface Pair {
  now: number
  before: number
  /** The words for the other figure, such as "from May 2001". */
  beside: string
  /** The change as a share of the value before, if the method gives it. */
  relative?: number | null
}

export function changeWords({ now, before, beside, relative }: Pair, measure: Measure): TileChange {
  const change = now - before
  const share = relative ?? (before > 0 && now >= 0 ? change / before : null)
  if (isLevel(before, now))
    return { direction: 'level', text: `level ${beside.replace(/^from /, 'with ')}`, good: null }
  const direction = change > 0 ? 'up' : 'down'
  const size = share === null || inPoints(measure) ? changeOf(change, measure) : shareOf(share)
  return {
    direction,
    text: `${direction} ${size} ${beside}`,
    good: measure.good === 'none' ? null : measure.good === direction,
  }
}

/** Says "target 20 %: 1.6 points more". */
export function targetWords(now: number, target: number, measure: Measure): string {
  const change = now - target
  const off = change === 0 ? 'met exactly' : `${changeOf(change, measure)} ${change > 0 ? 'more' : 'less'}`
  return `target ${amount(target, measure)}: ${off}`
}

/**
 * Returns the label of a period with its date in words: "the week of 2001-06-11" becomes "the week of 11 June 2001".
 */
export function timeWords(label: string): string {
  return label
    .replace(/T00:00:00(?:\.0+)?Z?$/, '')
    .replace(/\d{4}-\d{2}-\d{2}/, (day) => (Number.isNaN(dayNumber(day)) ? day : dayInWords(dayNumber(day))))
}
