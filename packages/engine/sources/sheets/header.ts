/**
 * Joins names that stand in several rows under merged cells: `2024` over `north` and `south` gives `2024 north` and
 * `2024 south`. The rows of names are those that merged cells join. The row below them also counts as one if it holds
 * only names under wide merged cells.
 */
import { readingOf } from '../text/values.ts'
import type { Area, SheetRow } from './workbook.ts'

export interface JoinedNames {
  /** The first and the last row of names. */
  from: number
  to: number
  names: string[]
}

const YEAR = /^(?:18|19|20|21)\d\d$/

const isName = (text: string): boolean => readingOf(text.trim()).kind === 'text' || YEAR.test(text)

/** Returns the joined names; null if one row names the columns. `rows` begin with the first row of names. */
export function joinedNames(rows: readonly SheetRow[], merged: readonly Area[]): JoinedNames | null {
  const [first] = rows
  if (!first) return null
  const from = first.at
  const areas = merged.filter(({ top }) => top === from)
  const wide = areas.filter(({ left, right }) => right > left)
  if (wide.length === 0) return null
  const depth = Math.max(...areas.map(({ bottom }) => bottom))
  const to = depth > from && wide.some(({ bottom }) => bottom < depth) ? depth : from + 1
  const band = rows.filter(({ at }) => at <= to)
  const last = band.at(-1)!
  if (last.at !== to) return null
  const under = (column: number): Area | undefined =>
    wide.find(({ left, right }) => column >= left && column <= right)
  const below = last.values.map((value, column) => ({ value, column })).filter(({ value }) => value !== '')
  const fits = below.every(
    ({ value, column }) => isName(value) && (under(column) !== undefined || depth >= to),
  )
  if (!fits || !wide.every((area) => below.some(({ column }) => under(column) === area))) return null
  const width = Math.max(...band.map(({ values }) => values.length))
  const names = Array.from({ length: width }, (_, column) => {
    const parts = band.map(({ at, values }) => {
      const own = values[column] ?? ''
      const area = merged.find((one) => one.top === at && column > one.left && column <= one.right)
      return own === '' && area ? (values[area.left] ?? '') : own
    })
    return parts.filter((part, index) => part !== '' && part !== parts[index - 1]).join(' ')
  })
  return { from, to, names }
}
