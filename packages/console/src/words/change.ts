/** Describes in words how the figure of an insight changed since the period before. Pure. */
import type { InsightCard } from '@assay/client'
import { isLevel } from '@assay/model/change'

const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' })

type Measured = Pick<InsightCard, 'figure' | 'history'>

function rounded(value: number): string {
  return Number(value.toPrecision(value < 10 ? 2 : 3)).toLocaleString('en')
}

/**
 * Returns the factor from a value to its printed percentage: 100 if the value is a share, 1 if it is in per cent
 * already.
 */
function percentOf(text: string, value: number): number | null {
  const shown = /^-?([\d,]*\.?\d+)\s?%/u.exec(text)
  if (!shown) return null
  const printed = Number(shown[1]!.replaceAll(',', ''))
  return Math.abs(printed - 100 * Math.abs(value)) < Math.abs(printed - Math.abs(value)) ? 100 : 1
}

export interface Moved {
  /** The direction: "up", "down" or "level". */
  direction: 'up' | 'down' | 'level'
  /** The change in words: "up 3.7 points"; "up 12 %"; "level". */
  words: string
  /** The period or day of the earlier figure. */
  since: string
}

/**
 * Returns null if there is no earlier period or no figure. A share moves in points; other figures in per cent of the
 * one before.
 */
export function movedOf({ figure, history }: Measured): Moved | null {
  const before = history.at(-2)
  const own = history.at(-1)
  if (!figure || !before || !own) return null
  const since = before.period ?? `the run of ${day.format(new Date(before.created_at))}`
  return { ...moveOf(figure.text, own.value, before.value), since }
}

type Move = Omit<Moved, 'since'>
const STILL: Move = { direction: 'level', words: 'level' }

function moveOf(text: string, now: number, before: number): Move {
  const change = now - before
  const scale = percentOf(text, now)
  const direction = change > 0 ? 'up' : 'down'
  if (scale !== null) {
    const points = Math.abs(change) * scale
    if (points < 0.05) return STILL
    const shown = rounded(points)
    return { direction, words: `${direction} ${shown} ${shown === '1' ? 'point' : 'points'}` }
  }
  if (before === 0) return change === 0 ? STILL : { direction, words: `${direction} from 0` }
  if (isLevel(before, now)) return STILL
  return { direction, words: `${direction} ${rounded(100 * Math.abs(change / before))} %` }
}

/**
 * Returns the change as the text prints its value: 1.9 beside "16.2 minutes" is "1.9 minutes". Returns null if the
 * text prints another number.
 */
function printedLike(text: string, value: number, change: number): string | null {
  const shown = /[-−]?([\d,]*\.?\d+)/u.exec(text)
  if (!shown) return null
  const number = shown[1]!.replaceAll(',', '')
  const decimals = number.split('.')[1]?.length ?? 0
  if (Math.abs(Number(number) - Math.abs(value)) > 0.5001 * 10 ** -decimals) return null
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
  const printed = change.toLocaleString('en', digits)
  if (Number(printed.replaceAll(',', '')) === 0) return null
  return text.replace(shown[0], printed)
}

/**
 * Returns the change of a figure with this printed text, in words: a share in points, others in their unit and in per
 * cent of the value before.
 */
export function changeInWords(text: string, now: number, before: number): string {
  const { direction, words } = moveOf(text, now, before)
  if (direction === 'level') return now === before ? 'the same' : 'about the same'
  const amount = percentOf(text, now) === null ? printedLike(text, now, Math.abs(now - before)) : null
  if (amount === null) return words
  // A percentage of a loss, or of a loss that became a gain, has no meaning.
  const share = before > 0 && now >= 0 ? ` (${words.slice(direction.length + 1)})` : ''
  return `${direction} ${amount}${share}`
}

/** Returns the figure as a reader reads it: with its unit, unless it is printed with one. */
export function figureText({ text, unit }: NonNullable<InsightCard['figure']>): string {
  return unit === null || text.endsWith(unit) || /\p{L}|%$/u.test(text) ? text : `${text} ${unit}`
}

/** Returns the points of a line through the values in a box of this size, with the first on the left. */
export function linePoints(values: readonly number[], width: number, height: number): [number, number][] {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const step = values.length > 1 ? width / (values.length - 1) : 0
  return values.map((value, nth) => {
    const y = high === low ? height / 2 : height - ((value - low) / (high - low)) * height
    return [Math.round(nth * step * 10) / 10, Math.round(y * 10) / 10]
  })
}
