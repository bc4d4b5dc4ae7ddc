/** Writes the texts of a chart: titles of axes, numbers with their format and unit, times. */
import type { Chart } from '@assay/model/insight'
import { plainLine } from '../printing/escape.ts'
import { formatValue } from '../printing/format.ts'
import { printNumber } from '../printing/print.ts'
import { type Meanings, measureOf, opening } from '../verdicts/measure.ts'
import { chartLabels, type Label, type Point } from './chart-values.ts'

/** Returns the label of a column. A name without one is made readable: "late_share" is "Late share". */
export function labelOf(meanings: Meanings, name: string): Label {
  const { label, unit, fmt } = measureOf(meanings, name)
  return { title: plainLine(opening(label)), unit: unit && plainLine(unit), fmt }
}

/** Returns the title, or else the names of the columns that the chart shows. */
export function chartName(chart: Chart): string {
  if (chart.title !== '') return chart.title
  const { x, y } = chartLabels(chart)
  return `Chart of ${y?.title || chart.y.join(', ') || (x?.title ?? chart.x)}`
}

/** Returns a title with its unit, such as "Delay (minutes)". */
export function titleText({ title, unit }: Label): string {
  return unit === null ? title : `${title} (${unit})`
}

/**
 * Returns the title of an axis, such as "Difference (points)". The numbers of an axis have no unit of their own,
 * except per cent and currencies.
 */
export function axisTitle({ title, unit, fmt }: Label): string {
  return titleText({ title, unit: unit ?? (fmt?.startsWith('pts') ? 'points' : null), fmt })
}

/**
 * Returns a title for Vega-Lite, which writes it into an expression, escapes quotes there, and leaves backslashes as
 * they are. So a backslash is doubled.
 */
export function drawnTitle(label: Label): string {
  return axisTitle(label).replaceAll('\\', '\\\\')
}

/** Returns a number as a sentence shows it: "25.2 %", "9,180 a day". */
export function valueText(label: Label | undefined, value: number | null): string {
  if (value === null) return 'none'
  const text = label?.fmt ? formatValue(value, label.fmt) : printNumber(value)
  return label?.unit ? `${text} ${label.unit}` : text
}

/** Shortens a time. "2001-04-01T00:00:00Z" becomes its date; other times lose seconds that are zero. */
export function shortX(x: Point['x']): string {
  if (typeof x === 'number') return printNumber(x)
  return (x ?? 'none').replace(/^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(:00(?:\.0+)?)?Z$/, (_, day, time) =>
    time === '00:00' ? String(day) : `${day} ${time}`,
  )
}

/** Returns a place on the x axis as a sentence shows it. */
export function xText(chart: Chart, { x, x2 }: Point): string {
  const label = chartLabels(chart).x
  const shown = (value: Point['x']): string => {
    if (value === null || !label?.fmt) return shortX(value)
    try {
      return formatValue(typeof value === 'string' ? value.replace(/Z$/, '') : value, label.fmt)
    } catch {
      return shortX(value)
    }
  }
  return x2 === undefined ? shown(x) : `${shown(x)} to ${shown(x2)}`
}

const CURRENCY = /^(usd|aud|brl|cad|chf|cny|eur|gbp|inr|jpy|krw|ngn|rub|sek)/

/**
 * Returns the format of the numbers along an axis: per cent or points if the column's format says so, large ones in
 * thousands, millions and billions.
 */
export function axisNumbers(label: Label, values: readonly (number | null)[]): Record<string, unknown> {
  const labelExpr = axisText(label, values)
  return labelExpr === null ? {} : { labelExpr }
}

/**
 * Returns the format of the numbers of panels that measure different things. It is an expression of Vega, in which
 * `parent` is the panel.
 */
export function panelNumbers(
  panels: Readonly<Record<string, Label>>,
  valuesIn: (panel: string) => readonly (number | null)[],
): Record<string, unknown> {
  const texts = Object.entries(panels).flatMap(([name, label]) => {
    const text = axisText(label, valuesIn(name))
    return text === null ? [] : [`parent.by === ${JSON.stringify(name)} ? ${text}`]
  })
  return texts.length === 0 ? {} : { labelExpr: [...texts, 'datum.label'].join(' : ') }
}

/** Returns the names of panels, each with its unit. */
export function panelTitles(panels: Readonly<Record<string, Label>>): Record<string, unknown> {
  const titles = Object.entries(panels).map(
    ([name, label]) =>
      `datum.value === ${JSON.stringify(name)} ? ${JSON.stringify(axisTitle({ ...label, title: name }))}`,
  )
  return { labelExpr: [...titles, 'datum.label'].join(' : ') }
}

/** Returns the format of an axis; null for Vega's own. */
function axisText({ fmt }: Label, values: readonly (number | null)[]): string | null {
  if (fmt?.startsWith('pts')) return `format(100 * datum.value, ',~f')`
  if (fmt?.startsWith('pct')) return `format(100 * datum.value, ',~f') + ' %'`
  const most = values.reduce<number>((high, value) => Math.max(high, Math.abs(value ?? 0)), 0)
  const sign = fmt && CURRENCY.test(fmt) ? currencySign(fmt) : ''
  const [power, word] = most >= 2e9 ? [1e9, 'B'] : most >= 2e6 ? [1e6, 'M'] : [1, '']
  if (power === 1 && sign === '') return null
  return `'${sign}' + format(datum.value / ${power}, ',~f') + '${word}'`
}

function currencySign(fmt: string): string {
  return formatValue(0, fmt).replace(/[\d.,kmMb-]+$/, '')
}

/** Writes a step with its sign, such as "+120" and "-35", and totals without one. */
export function stepText(label: Label | undefined, { y, part }: Point): string {
  const text = valueText(label && { ...label, unit: null }, y)
  return part === 'total' || (y ?? 0) <= 0 ? text : `+${text}`
}

/** Writes a step of a funnel and its part of the first step, such as "1,204 (45 %)". */
export function funnelText(label: Label | undefined, y: number | null, first: number): string {
  const text = valueText(label && { ...label, unit: null, fmt: label.fmt ?? 'num0' }, y)
  return y === null || first <= 0 ? text : `${text} (${shareText(y / first)})`
}

/** Writes a share in whole per cent. A share above 0 is not written as 0, and a share below 100 not as 100. */
function shareText(share: number): string {
  if (share > 0 && share < 0.01) return 'under 1 %'
  if (share > 0.99 && share < 1) return 'over 99 %'
  return `${Math.round(100 * share)} %`
}
