/**
 * How a table in text is written: what the author of a source declares, and what the reader found in the file. Names are those
 * that a template writes below its source.
 */

/** Forms of dates with a name: `2024-W07`, `2024-Q1`. */
export const WORD_DATES = ['week', 'quarter'] as const
/** Numbers that are dates: seconds and milliseconds since 1970, and the days of a spreadsheet. Declared for one column only. */
export const NUMBER_DATES = ['epoch', 'epoch_ms', 'excel'] as const

/** What can be declared for one column, or for all of a source. */
export interface ColumnDialect {
  /** `dmy`: the day first; `mdy`: the month first; `ymd`: the year first; a format of strptime such as `%d %b %Y`; or a named form. */
  dates?: string
  decimal?: '.' | ','
  thousands?: string
  /** What a number with a % is: `share` (default), so that 12.5 % is 0.125; `number`: 12.5. */
  percent?: 'share' | 'number'
  /** Where the sign of negative numbers stands: `brackets` are around them, it stands `behind` them, or `front` only. */
  minus?: 'front' | 'brackets' | 'behind'
  /** The texts that mean that a value is missing. */
  missing?: string[]
}

/** What can be declared for a source of files. */
export interface Dialect extends ColumnDialect {
  /** A label of the WHATWG encoding standard, such as windows-1252 or utf-16le. */
  encoding?: string
  separator?: string
  /** The character around values that hold the separator; empty: none. */
  quote?: string
  /** Whether a row names the columns. Without one they are column0, column1, ... */
  header?: boolean
  /** Lines above the row of names, or above the first row. */
  skip?: number
  /** What becomes of a row that has too many or too few values: `refuse` (default) or `skip`. */
  bad_rows?: 'refuse' | 'skip'
  /** What becomes of rows of totals below the table: `skip` leaves them out. Without it such a row is refused. */
  totals?: 'keep' | 'skip'
  /** Of a workbook: the sheet by its name, and the cells, such as B3:F20. */
  sheet?: string
  range?: string
  /** Of JSON: the list within an object that holds the rows, such as `data` or `result.items`; empty: the object is a row. */
  list?: string
  columns?: Record<string, ColumnDialect>
}

/** `declared`: by the template; `settled`: by the bytes or by a value that fits one reading only; `likely`: by what is usual. */
export type Sureness = 'declared' | 'settled' | 'likely'

/** How a file was read. */
export interface FoundDialect {
  /** A sheet of a workbook has no encoding, separator and quote. */
  encoding?: { is: string; sure: Sureness }
  separator?: { is: string; sure: Sureness }
  quote?: { is: string; sure: Sureness }
  sheet?: FoundSheet
  header: { is: boolean; sure: Sureness }
  /** Lines above the row of names. */
  skipped: number
  /** The columns that are read in another way than by their plain values. */
  columns: FoundColumn[]
  /** Rows that were left out, by `bad_rows: skip`. */
  bad_rows?: number
}

/** Which sheet of a workbook was read, and how. */
export interface FoundSheet {
  is: string
  /** `likely`: the first of several that are not hidden. */
  sure: Sureness
  /** The other sheets. */
  others: string[]
  hidden: string[]
  range?: string
  /** Rows of names under merged cells that were joined to one. */
  joined?: number
  /** Cells that got the text of the merged cells above them. */
  filled?: number
}

export interface FoundColumn {
  name: string
  /** The row of names holds this name more than once: it is that of the column before, and this one got a number. */
  repeats?: string
  dates?: { is: string; sure: Sureness }
  decimal?: { is: string; sure: Sureness }
  thousands?: { is: string; sure: Sureness }
  /** The one currency that stands beside its numbers, which are read without it. */
  currency?: { is: string; sure: Sureness }
  percent?: { is: 'share' | 'number'; sure: Sureness }
  /** How negative numbers are marked, where it is not by a minus in front. */
  minus?: { is: 'brackets' | 'behind'; sure: Sureness }
  /** The texts that were read as missing values. */
  missing?: { mark: string; n: number }[]
  /** Two readings, or almost one: what a reader must know. */
  doubt?: ColumnDoubt
}

/** A column whose values do not tell how to read them; it stays text. */
export interface ColumnDoubt {
  /** `two_readings`: every value fits both. `mixed`: a few values fit no reading of the others. */
  kind: 'two_readings' | 'mixed'
  /** A value as it is written. */
  sample: string
  /** What the sample is in each reading, and the line to write for it. */
  readings: { as: string; write: string }[]
  /** A whole sentence without the name of the source. */
  says: string
}
