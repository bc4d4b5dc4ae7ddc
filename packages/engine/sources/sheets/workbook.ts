/** The contract of a workbook: its sheets, and the rows of one. */

export interface SheetInfo {
  name: string
  hidden: boolean
}

/** A part of a sheet. Rows and columns count from 0, and the corners belong to it. */
export interface Area {
  top: number
  left: number
  bottom: number
  right: number
}

export interface SheetRow {
  at: number
  /** The cells by column, as text; an absent cell is empty. */
  values: string[]
}

export interface Workbook {
  sheets: readonly SheetInfo[]
  /** Resolves to the merged cells of a sheet. */
  merged(sheet: SheetInfo): Promise<Area[]>
  /** Gives the rows that hold cells, from the top, in batches. */
  rows(sheet: SheetInfo): AsyncIterable<SheetRow[]>
  close(): void
}

/** The text of a cell whose formula has no stored value. */
export const NO_VALUE = '\u0000'

export const COLUMNS_MOST = 16_384
export const ROWS_MOST = 1_048_576
export const MERGED_MOST = 100_000
export const SHEETS_MOST = 1_000
/** The most characters that repeated cells may become. */
export const REPEATED_MOST = 100_000_000

/** Returns the index of a column: `C` is 2. */
export function columnIndex(letters: string): number {
  let index = 0
  for (const letter of letters.toUpperCase()) index = index * 26 + letter.charCodeAt(0) - 64
  return index - 1
}

/** Returns the name of a column: 2 is `C`. */
export function columnName(index: number): string {
  const [rest, last] = [Math.floor(index / 26), String.fromCharCode(65 + (index % 26))]
  return rest === 0 ? last : columnName(rest - 1) + last
}

export const cellName = (row: number, column: number): string => `${columnName(column)}${row + 1}`

/** Reads `B3:F20`, `B:F` or `B3:F` (down to the last row). Returns null for any other text. */
export function areaOf(range: string): Area | null {
  const match = /^\$?([A-Za-z]{1,3})\$?(\d{1,7})?:\$?([A-Za-z]{1,3})\$?(\d{1,7})?$/.exec(range.trim())
  if (!match) return null
  const [, from, first, to, last] = match
  const area = {
    top: first === undefined ? 0 : Number(first) - 1,
    left: columnIndex(from!),
    bottom: last === undefined ? ROWS_MOST - 1 : Number(last) - 1,
    right: columnIndex(to!),
  }
  const fits = area.top >= 0 && area.bottom < ROWS_MOST && area.right < COLUMNS_MOST
  return fits && area.top <= area.bottom && area.left <= area.right ? area : null
}
