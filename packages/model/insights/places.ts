/** Reads the marks of provenance.ts: the origin of each printed value in words, and its value. Pure. */
import type { Insight } from '../insight.ts'
import type { Mark, MarkedTable, Origin } from './provenance.ts'

type Held = Pick<Insight, 'tables' | 'analyses'> & Partial<Pick<Insight, 'lineage'>>

/** Returns the marks within a piece of the text. Marks are in the order of the text. */
export function marksIn(marks: readonly Mark[], { start, end }: Pick<Mark, 'start' | 'end'>): Mark[] {
  let low = 0
  let high = marks.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (marks[middle]!.end <= start) low = middle + 1
    else high = middle
  }
  const found: Mark[] = []
  for (; low < marks.length && marks[low]!.start < end; low++) found.push(marks[low]!)
  return found
}

/** Returns the row of the block that a line of the table shows; undefined after the last. */
export function rowAt(runs: MarkedTable['rows'], line: number): number | undefined {
  let left = line
  for (const [first, last] of runs) {
    if (first + left <= last) return first + left
    left -= last - first + 1
  }
  return undefined
}

/** Returns the origin in words, such as "late_share, row 4". */
export function whereText(origin: Origin): string {
  const { field, column, variable, run } = origin
  if (variable !== undefined) return `the variable ${variable}`
  if (run !== undefined) return `${run} of the run`
  const cell = [column, rowsText(origin)].filter(Boolean).join(', ')
  if (field === undefined) return cell
  if (cell !== '') return `${cell} of ${field}`
  const counted = /^(?:(.+)\.)?size$/.exec(field)
  return counted ? `the count of ${counted[1] ?? 'rows'}` : field
}

/** Words the rows. They count from 1, as people count. */
function rowsText({ row, rows, count = 0 }: Origin): string {
  const shown = (value: number): string => value.toLocaleString('en')
  if (row !== undefined) return `row ${shown(row + 1)}`
  if (rows === undefined) return ''
  const [first, last] = rows
  const range = `rows ${shown(first + 1)} to ${shown(last + 1)}`
  return count === last - first + 1 ? range : `${shown(count)} of ${range}`
}

/** Returns the value at an origin. Undefined for several cells, and for a place that the insight does not have. */
export function valueAt({ tables, analyses, lineage }: Held, origin: Origin): unknown {
  const { block = '', field, row, rows, column, variable, run } = origin
  if (variable !== undefined) return labelled(pathIn(lineage?.variables, variable))
  if (run !== undefined) return pathIn(lineage, run)
  if (rows !== undefined) return undefined
  const table = Object.hasOwn(tables, block) ? tables[block] : undefined
  if (!table) {
    const held = field === undefined ? undefined : pathIn(analyses[block], field)
    if (row === undefined) return Array.isArray(held) ? undefined : held
    return column === undefined ? undefined : pathIn((held as unknown[] | undefined)?.[row], column)
  }
  if (field === 'size') return table.total
  if (row === undefined || column === undefined) return undefined
  const names = table.columns.map(({ name }) => name)
  return pathIn(Object.fromEntries(names.map((name, index) => [name, table.rows[row]?.[index]])), column)
}

/** Returns the label of a period, and any other value as it is. */
function labelled(value: unknown): unknown {
  return (value as { label?: unknown } | null | undefined)?.label ?? value
}

/** Returns the value at a path of names with dots between them. A name may have dots itself. */
export function pathIn(value: unknown, names: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if (Object.hasOwn(value, names)) return (value as Record<string, unknown>)[names]
  const [first, ...rest] = names.split('.')
  return rest.length > 0 && Object.hasOwn(value, first!)
    ? pathIn((value as Record<string, unknown>)[first!], rest.join('.'))
    : undefined
}
