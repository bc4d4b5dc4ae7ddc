/** Writes charts of steps, intervals and shades as Unicode. */

import type { Chart } from '@assay/model/insight'
import { plainLine } from '../../printing/escape.ts'
import { textWidth } from '../../printing/tables.ts'
import { chartLabels, isKnown, type Point } from '../chart-values.ts'
import { shortX, stepText } from '../labels.ts'
import { zeroIsNear } from '../points.ts'
import { intervalText } from './numbers.ts'

const WIDTH = 40
const LABEL_WIDTH = 40
const MOST_ROWS = 40

export function clip(text: string): string {
  const letters = Array.from(plainLine(text))
  return letters.length > LABEL_WIDTH ? `${letters.slice(0, LABEL_WIDTH - 1).join('')}…` : letters.join('')
}

export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)))
}

/** Returns the function from a value to its column, from 0 to WIDTH - 1, between the least and the most of all. */
function scaleOf(values: readonly (number | null | undefined)[]): (value: number) => number {
  const known = values.filter((value) => isKnown(value))
  const [low, high] = [Math.min(...known), Math.max(...known)]
  return (value) => (high === low ? 0 : Math.round(((value - low) / (high - low)) * (WIDTH - 1)))
}

/** Writes totals as a mark, and steps as a bar from the level before to the level after. */
export function stepsText(chart: Chart, points: Point[]): string[] {
  const column = scaleOf(points.flatMap(({ low, high }) => [low, high]))
  const names = points.map((point) => clip(shortX(point.x)))
  const width = Math.max(...names.map(textWidth))
  return points.slice(0, MOST_ROWS).map((point, index) => {
    const ends = [column(point.low!), column(point.high!)]
    const [from, to] = [Math.min(...ends), Math.max(...ends)]
    const sign = point.part === 'total' ? '┃' : (point.y ?? 0) < 0 ? '░' : '█'
    const bar = padded(' '.repeat(from) + sign.repeat(Math.max(1, to - from)), WIDTH)
    return `${padded(names[index]!, width)} ${bar} ${stepText(chartLabels(chart).y, point)}`
  })
}

/** Writes intervals such as "├──●──┤", with the place of zero if it is within. */
export function intervalsText(chart: Chart, points: Point[]): string[] {
  const edges = points.flatMap(({ low, high, y }) => [low, high, y])
  const known = edges.filter((edge) => isKnown(edge))
  const zero = zeroIsNear(known)
  const column = scaleOf(zero ? [...known, 0] : known)
  const names = points.map((point) =>
    clip(point.series === undefined ? shortX(point.x) : `${shortX(point.x)}, ${point.series}`),
  )
  const width = Math.max(...names.map(textWidth))
  return points.slice(0, MOST_ROWS).map((point, index) => {
    const line = Array.from({ length: WIDTH }, () => ' ')
    if (zero) line[column(0)] = '┆'
    if (isKnown(point.low) && isKnown(point.high)) {
      const [from, to] = [column(point.low), column(point.high)]
      for (let at = from; at <= to; at += 1) line[at] = '─'
      line[from] = '├'
      line[to] = '┤'
    }
    if (point.y !== null) line[column(point.y)] = '●'
    return `${padded(names[index]!, width)} ${line.join('')} ${point.y === null ? 'none' : intervalText(chart, point)}`
  })
}

const SHADES = ' ░▒▓█'

/** Writes a row for each series, with two letters for each x. */
export function heatmapText(points: Point[]): string[] {
  const known = points.flatMap(({ y }) => (y === null ? [] : [y]))
  const [low, high] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))]
  const columns = [...new Set(points.map(({ x }) => shortX(x)))].slice(0, WIDTH)
  const rows = [...new Set(points.map(({ series }) => series ?? ''))].slice(0, MOST_ROWS)
  const shade = (value: number | null | undefined): string => {
    if (!isKnown(value)) return '  '
    const share = high === low ? 1 : (value - low) / (high - low)
    return SHADES[Math.min(4, 1 + Math.floor(share * 4))]!.repeat(2)
  }
  const cells = new Map(points.map((point) => [`${shortX(point.x)}\n${point.series ?? ''}`, point.y]))
  const width = Math.max(...rows.map((row) => textWidth(clip(row))))
  const lines = rows.map(
    (row) =>
      `${padded(clip(row), width)} ${columns.map((column) => shade(cells.get(`${column}\n${row}`))).join('')}`,
  )
  return [...lines, `${padded('', width)} from left: ${columns[0]} to ${columns.at(-1)}; darker is more`]
}
