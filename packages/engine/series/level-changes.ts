/**
 * Every change of level in a series: binary segmentation (Vostrikova 1981) with a test in place of a penalty. The strongest
 * change is taken where it is more than its noise (level-shift.ts), then each side is searched in the same way.
 */
import { strongestShift } from './level-shift.ts'
import { judgeLine } from './line.ts'
import { lineColumn, seasonColumns } from './seasons.ts'

const ALPHA = 0.05
/** The most changes that are looked for. */
const MOST = 50

/** The rows before each change, ascending. */
export function changesOf(
  values: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
): number[] {
  const found: number[] = []
  const beside = seasons.flatMap(({ period }) => seasonColumns(rows, period))
  const rises = (judgeLine(values, rows, seasons)?.p ?? 1) < ALPHA
  const search = (from: number, to: number, whole: boolean): void => {
    if (found.length >= MOST) return
    const columns = beside.map((column) => column.slice(from, to))
    if (whole && rises) columns.push(lineColumn(rows))
    const part = values.slice(from, to)
    if (part.every((value) => value === part[0])) return
    const shift = strongestShift(part, columns)
    if (!shift || shift.p >= ALPHA) return
    found.push(from + shift.index)
    search(from, from + shift.index, false)
    search(from + shift.index, to, false)
  }
  search(0, values.length, true)
  return found.toSorted((a, b) => a - b)
}
