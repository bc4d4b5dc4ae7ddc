/** How the figure of an insight moved since the period before, in words. Pure. */
import type { InsightCard } from '@assay/client'

type Measured = Pick<InsightCard, 'figure' | 'history'>

/** Below this part of the value before, a figure is level. */
const LEVEL = 0.005

function rounded(value: number): string {
  return Number(value.toPrecision(value < 10 ? 2 : 3)).toLocaleString('en')
}

/** What a printed percentage multiplies its value by: 100 where the value is a share, 1 where it is in percent already. */
function percentOf(text: string, value: number): number | null {
  const shown = /^-?([\d,]*\.?\d+)\s?%/u.exec(text)
  if (!shown) return null
  const printed = Number(shown[1]!.replaceAll(',', ''))
  return Math.abs(printed - 100 * Math.abs(value)) < Math.abs(printed - Math.abs(value)) ? 100 : 1
}

export interface Moved {
  /** "up", "down" or "level". */
  direction: 'up' | 'down' | 'level'
  /** "up 3.7 points"; "up 12 %"; "level". */
  words: string
  /** The period or day that it is compared with. */
  since: string
}

/** Null: there is no earlier period, or no figure. A share moves in points; other figures in per cent of the one before. */
export function movedOf({ figure, history }: Measured): Moved | null {
  const before = history.at(-2)
  const own = history.at(-1)
  if (!figure || !before || !own) return null
  const since = before.period ?? before.created_at.slice(0, 10)
  const change = own.value - before.value
  const scale = percentOf(figure.text, own.value)
  const direction = change > 0 ? 'up' : 'down'
  if (scale !== null) {
    const points = Math.abs(change) * scale
    if (points < 0.05) return { direction: 'level', words: 'level', since }
    const shown = rounded(points)
    return { direction, words: `${direction} ${shown} ${shown === '1' ? 'point' : 'points'}`, since }
  }
  if (before.value === 0)
    return change === 0
      ? { direction: 'level', words: 'level', since }
      : { direction, words: `${direction} from 0`, since }
  const share = Math.abs(change / before.value)
  if (share < LEVEL) return { direction: 'level', words: 'level', since }
  return { direction, words: `${direction} ${rounded(100 * share)} %`, since }
}

/** The figure as a reader reads it: with its unit, unless it is printed with one. */
export function figureText({ text, unit }: NonNullable<InsightCard['figure']>): string {
  return unit === null || text.endsWith(unit) || /\p{L}|%$/u.test(text) ? text : `${text} ${unit}`
}

/** The points of a line through the values in a box of this size; the first stands left. */
export function linePoints(values: readonly number[], width: number, height: number): [number, number][] {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const step = values.length > 1 ? width / (values.length - 1) : 0
  return values.map((value, nth) => {
    const y = high === low ? height / 2 : height - ((value - low) / (high - low)) * height
    return [Math.round(nth * step * 10) / 10, Math.round(y * 10) / 10]
  })
}
