/** The values that a Markdown prints: one for each mark, and one for each cell of a table. */
import type { Mark, Origin } from '@assay/model/provenance'

export interface Marked {
  markdown: string
  provenance: readonly Mark[]
}

export interface PrintedValue {
  text: string
  /** The line of the Markdown, from 1. */
  line: number
  from: Origin[]
}

/** The values of one mark in order, and the headings of a table. */
export interface PrintedMark {
  values: PrintedValue[]
  headings: string
}

/** Returns a function that gives the line of a position. Each position must be at or after the one before. */
export function lineCounter(text: string): (position: number) => number {
  let [line, seen] = [1, 0]
  return (position) => {
    for (let at = text.indexOf('\n', seen); at >= 0 && at < position; at = text.indexOf('\n', seen)) {
      line += 1
      seen = at + 1
    }
    return line
  }
}

const cellsOf = (line: string): string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim())

/** Yields each row of the runs, one after the other. A run in a stranger's file may have any length. */
function* rowsOf(runs: readonly (readonly [number, number])[]): Generator<number> {
  for (const [first, last] of runs) for (let row = first; row <= last; row++) yield row
}

export function printedMark({ markdown }: Marked, mark: Mark, line: number): PrintedMark {
  const text = markdown.slice(mark.start, mark.end)
  const { table, from } = mark
  if (!table) return { values: [{ text, line, from }], headings: '' }
  const [heading = '', , ...body] = text.split('\n')
  const rows = rowsOf(table.rows)
  const values = body.flatMap((printed, index) => {
    const row = rows.next().value as number | undefined
    return cellsOf(printed).map((cell, column): PrintedValue => {
      const name = table.columns[column]?.name
      const origin = {
        ...from[0],
        ...(row === undefined ? {} : { row }),
        ...(name === undefined ? {} : { column: name }),
      }
      return { text: cell, line: line + 2 + index, from: [origin] }
    })
  })
  return { values, headings: cellsOf(heading).join(' ') }
}
