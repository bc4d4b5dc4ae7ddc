/**
 * The dialect of a table in text: what the author of a source declares, and what the reader found in the file. The
 * names are those that a template writes below its source.
 */

/** Forms of dates with a name: `2024-W07`, `2024-Q1`. */
export const WORD_DATES = ['week', 'quarter'] as const
/** Numbers that are dates: seconds and milliseconds since 1970, and the days of a spreadsheet. Declared for one column only. */
export const NUMBER_DATES = ['epoch', 'epoch_ms', 'excel'] as const

/** The declarations for one column, or for all columns of a source. */
export interface ColumnDialect {
  /** `dmy`: the day first; `mdy`: the month first; `ymd`: the year first; a format of strptime such as `%d %b %Y`; or a named form. */
  dates?: string
  decimal?: '.' | ','
  thousands?: string
  /** The meaning of a number with a %: `share` (default) makes 12.5 % 0.125, and `number` makes it 12.5. */
  percent?: 'share' | 'number'
  /** The place of the sign of negative numbers: `brackets` around them, `behind` them, or in `front` only. */
  minus?: 'front' | 'brackets' | 'behind'
  /** The texts that stand for a missing value. */
  missing?: string[]
}

/** The declarations for a source of files. */
export interface Dialect extends ColumnDialect {
  /** A label of the WHATWG encoding standard, such as windows-1252 or utf-16le. */
  encoding?: string
  separator?: string
  /** The character around values that hold the separator; empty for none. */
  quote?: string
  /** True if a row names the columns. Without one the columns are column0, column1, ... */
  header?: boolean
  /** The number of lines above the row of names, or above the first row. */
  skip?: number
  /** The treatment of a row with too many or too few values: `refuse` (default) or `skip`. */
  bad_rows?: 'refuse' | 'skip'
  /**
   * The treatment of rows of totals below the table: `skip` leaves them out, `keep` reads them as rows. Without a
   * declaration such a row is refused.
   */
  totals?: 'keep' | 'skip'
  /** The sheet of a workbook by its name, and the cells, such as B3:F20. */
  sheet?: string
  range?: string
  /** The list of rows within an object of JSON, such as `data` or `result.items`. Empty: the object is a row. */
  list?: string
  columns?: Record<string, ColumnDialect>
}

/**
 * How sure a reading is. `declared`: by the template. `settled`: by the bytes, or by a value that fits one reading
 * only. `likely`: by custom.
 */
export type Sureness = 'declared' | 'settled' | 'likely'

/** The reading of a file. */
export interface FoundDialect {
  /** The encoding. A sheet of a workbook has no encoding, separator or quote. */
  encoding?: { is: string; sure: Sureness }
  separator?: { is: string; sure: Sureness }
  quote?: { is: string; sure: Sureness }
  sheet?: FoundSheet
  header: { is: boolean; sure: Sureness }
  /** The number of lines above the row of names. */
  skipped: number
  /** The columns whose values are not read as they are written. */
  columns: FoundColumn[]
  /** The number of rows that were left out, by `bad_rows: skip`. */
  bad_rows?: number
}

/** The sheet of a workbook that was read, and its reading. */
export interface FoundSheet {
  is: string
  /** `likely` for the first of several sheets that are not hidden. */
  sure: Sureness
  /** The names of the other sheets. */
  others: string[]
  hidden: string[]
  range?: string
  /** The number of rows of names under merged cells that were joined into one row. */
  joined?: number
  /** The number of cells that got the text of merged cells above them. */
  filled?: number
}

export interface FoundColumn {
  name: string
  /** The name of an earlier column that this column has too. This column got a number after the name. */
  repeats?: string
  dates?: { is: string; sure: Sureness }
  decimal?: { is: string; sure: Sureness }
  thousands?: { is: string; sure: Sureness }
  /** The one currency that stands beside the numbers, which are read without it. */
  currency?: { is: string; sure: Sureness }
  percent?: { is: 'share' | 'number'; sure: Sureness }
  /** The mark of negative numbers if it is not a minus in front. */
  minus?: { is: 'brackets' | 'behind'; sure: Sureness }
  /** The texts that were read as missing values, with the number of each. */
  missing?: { mark: string; n: number }[]
  /** The doubt about a column whose values allow two readings, or fit one almost. */
  doubt?: ColumnDoubt
}

/** A column whose values do not decide their reading. It stays text. */
export interface ColumnDoubt {
  /** `two_readings`: every value fits both. `mixed`: a few values fit no reading of the others. */
  kind: 'two_readings' | 'mixed'
  /** A value of the column as it is written. */
  sample: string
  /** The value of the sample in each reading, and the line that declares the reading. */
  readings: { as: string; write: string }[]
  /** A full sentence without the name of the source. */
  says: string
}
