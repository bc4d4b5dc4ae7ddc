/**
 * Makes a tile of a column of a block. Rows over time give the last one, beside the one before, with their course. Two
 * rows give the first beside the second, which the first column of text names. Any other rows give the first one.
 */
import type { Table } from '@assay/model/insight'
import type { Tile } from '@assay/model/reading'
import { type Measure, opening } from '../verdicts/measure.ts'
import { amount } from '../verdicts/words.ts'
import { changeWords, targetWords, timeWords } from './changes.ts'
import { courseOf } from './course.ts'
import { plainTile, textOf } from './of-outcome.ts'

/** Returns the tile, or null if there are no rows or the value is no number. */
export function tileOfRows(of: string, table: Table, field: string, measure: Measure): Tile | null {
  const names = table.columns.map(({ name }) => name.toLowerCase())
  const column = names.indexOf(field.toLowerCase())
  const time = table.columns.findIndex(({ type }) => type === 'date' || type === 'timestamp')
  const text = table.columns.findIndex(({ type }) => type === 'text')
  const overTime = time >= 0 && table.rows.length > 1 && table.rows.length === table.total
  const rows = overTime
    ? table.rows.toSorted((a, b) => (textOf(a[time]) < textOf(b[time]) ? -1 : 1))
    : table.rows
  const row = overTime ? rows.at(-1) : rows[0]
  const beside = overTime ? rows.at(-2) : rows.length === 2 ? rows[1] : undefined
  const value = numberOf(row?.[column])
  if (value === null) return null
  const before = numberOf(beside?.[column])
  const name = overTime ? timeWords(textOf(beside?.[time])) : text >= 0 ? textOf(beside?.[text]) : 'the other'
  return plainTile({
    of,
    label: opening(measure.label.replace(/^the /i, '')),
    value,
    text: amount(value, measure),
    when: overTime ? timeWords(textOf(row![time])) : null,
    changes: before === null ? [] : [changeWords({ now: value, before, beside: `from ${name}` }, measure)],
    target: measure.target === null ? null : targetWords(value, measure.target, measure),
    course: overTime
      ? courseOf(rows.map((one) => ({ at: textOf(one[time]), value: numberOf(one[column]) })))
      : null,
  })
}

/** Returns the number of a cell. Decimals and big integers are text in a table. */
function numberOf(cell: unknown): number | null {
  const value = typeof cell === 'string' && cell !== '' ? Number(cell) : cell
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
