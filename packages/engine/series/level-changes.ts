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

export interface LevelChange {
  /** Rows before the change. */
  index: number
  /** Corrected for the search. */
  p: number
}

/** The changes, ascending. */
export function levelChanges(
  values: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
): LevelChange[] {
  const found: LevelChange[] = []
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
    found.push({ index: from + shift.index, p: shift.p })
    search(from, from + shift.index, false)
    search(from + shift.index, to, false)
  }
  search(0, values.length, true)
  return found.toSorted((a, b) => a.index - b.index)
}

/** The rows before each change, ascending. */
export function changesOf(...given: Parameters<typeof levelChanges>): number[] {
  return levelChanges(...given).map(({ index }) => index)
}
