/**
 * Finds where a number of the text comes from: cells and outcomes that show the same number when rounded as the text
 * rounds. The result lists candidates, the likeliest first: facts, single rows, outcomes, then longer tables. Pure.
 */
import type { Insight } from './insights.ts'
import { textOf } from './values.ts'

export interface Place {
  /** The block or fact. */
  block: string
  kind: 'fact' | 'sql' | 'analysis' | 'source'
  /** The position in it: "late_share, row 3", "points.0.value". */
  where: string
  value: string
}

interface Shown {
  value: number
  decimals: number
  percent: boolean
}

const NUMBER = /^([+\-−]?)(\d[\d,]*)(?:\.(\d+))?\s*(%?)$/
export const MOST_PLACES = 6

export function shownNumber(text: string): Shown | null {
  const match = NUMBER.exec(text.trim())
  if (!match) return null
  const [, sign, whole, fraction = '', percent] = match
  const size = Number(`${whole!.replaceAll(',', '')}.${fraction || '0'}`)
  return {
    value: sign === '-' || sign === '−' ? -size : size,
    decimals: fraction.length,
    percent: percent === '%',
  }
}

/** Half a unit of the last decimal, plus a little for values that are halfway in binary. */
function shows({ value, decimals, percent }: Shown, exact: number): boolean {
  const near = (candidate: number): boolean =>
    Math.abs(Math.abs(candidate) - Math.abs(value)) <= 0.5 * 10 ** -decimals * (1 + 1e-9)
  return near(exact) || (percent && near(exact * 100))
}

function numeric(cell: unknown): number {
  if (typeof cell === 'number') return cell
  return typeof cell === 'string' && /^-?\d+(\.\d+)?$/.test(cell) ? Number(cell) : Number.NaN
}

function* numbersIn(value: unknown, path: string): Generator<[string, number]> {
  const exact = numeric(value)
  if (!Number.isNaN(exact)) yield [path, exact]
  else if (typeof value === 'object' && value !== null)
    for (const [key, field] of Object.entries(value))
      yield* numbersIn(field, path === '' ? key : `${path}.${key}`)
}

function* placesOfTables({ tables }: Insight): Generator<Place & { exact: number }> {
  const shortFirst = Object.entries(tables).toSorted(([, a], [, b]) => a.total - b.total)
  for (const [block, { columns, rows, total }] of shortFirst) {
    yield { block, kind: 'sql', where: 'number of rows', value: String(total), exact: total }
    for (const [row, cells] of rows.entries())
      for (const [column, cell] of cells.entries()) {
        const exact = numeric(cell)
        if (Number.isNaN(exact)) continue
        const where = `${columns[column]!.name}, row ${row + 1}`
        yield { block, kind: 'sql', where, value: textOf(cell), exact }
      }
  }
}

function* allPlaces(insight: Insight): Generator<Place & { exact: number }> {
  for (const { name, value } of insight.facts)
    yield { block: name, kind: 'fact', where: '', value: textOf(value), exact: numeric(value) }
  for (const [block, outcome] of Object.entries(insight.analyses))
    for (const [where, exact] of numbersIn(outcome, ''))
      yield { block, kind: 'analysis', where, value: String(exact), exact }
  for (const { name, rows } of insight.lineage.sources)
    if (rows !== null) yield { block: name, kind: 'source', where: 'rows', value: String(rows), exact: rows }
  yield* placesOfTables(insight)
}

/** Null if the text is no number. */
export function traceNumber(text: string, insight: Insight): Place[] | null {
  const shown = shownNumber(text)
  if (!shown) return null
  const found: Place[] = []
  for (const { exact, ...place } of allPlaces(insight)) {
    if (!shows(shown, exact)) continue
    found.push(place)
    if (found.length === MOST_PLACES) break
  }
  return found
}
