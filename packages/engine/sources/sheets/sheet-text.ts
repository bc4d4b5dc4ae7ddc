/**
 * Writes one sheet as CSV into the folder of the job, where text/text-table.ts reads it like any other table in text. Lines are the
 * rows of the sheet, so that faults name the right one.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { finished } from 'node:stream/promises'
import type { Dialect, FoundSheet } from '@assay/model/dialect'
import { suggest } from '../../values/near.ts'
import type { SourceFile } from '../files/source-file.ts'
import { NoRoom } from '../room.ts'
import { SourceError } from '../source.ts'
import { readingOf } from '../text/values.ts'
import { joinedNames } from './header.ts'
import { openOds } from './ods.ts'
import {
  type Area,
  areaOf,
  COLUMNS_MOST,
  cellName,
  columnName,
  NO_VALUE,
  ROWS_MOST,
  type SheetInfo,
  type SheetRow,
  type Workbook,
} from './workbook.ts'
import { openXlsx } from './xlsx.ts'
import { unreadable, Zip } from './zip.ts'

export interface SheetOptions {
  dialect: Dialect
  /** A folder for this job alone; not created yet. */
  temp_folder: string
  /** The most bytes of the text. */
  most_bytes: number
}

export interface SheetText {
  /** The sheet as CSV in UTF-8. */
  file: SourceFile
  found: FoundSheet
}

/** The number of rows that decide where the table begins and how wide it is. */
const HEAD_ROWS = 200
const PIECE_CHARACTERS = 1 << 16

/** Writes a sheet of the workbook. Throws SourceError if the workbook, the sheet or the range cannot be read. */
export async function writeSheet(file: SourceFile, options: SheetOptions): Promise<SheetText> {
  const { dialect, temp_folder, most_bytes } = options
  const zip = await Zip.open(file, most_bytes)
  let book: Workbook | null = null
  try {
    book = await (isOds(file) ? openOds(file, zip) : openXlsx(file, zip))
    const { sheet, found } = chosen(file, book, dialect)
    await mkdir(temp_folder, { recursive: true, mode: 0o700 })
    const real = path.join(temp_folder, `${randomUUID()}.csv`)
    const table = new SheetTable(file, sheet, await book.merged(sheet), dialect)
    const out = new CsvFile(
      real,
      most_bytes,
      () =>
        new NoRoom(
          `${JSON.stringify(file.path)} cannot be read: its sheet ${JSON.stringify(sheet.name)} has more than ${most_bytes} bytes as text, which is all that this run may still write to disk.`,
        ),
    )
    try {
      for await (const rows of book.rows(sheet)) {
        for (const row of rows) table.take(row, out)
        await out.drain()
      }
      table.end(out)
    } finally {
      await out.end()
    }
    const { size: bytes } = await stat(real)
    return {
      file: { ...file, real, bytes, modified_ns: null, format: 'csv' },
      found: { ...found, ...table.found },
    }
  } catch (error) {
    if (error instanceof SourceError) throw error
    throw unreadable(
      file,
      `it is not a whole workbook (${error instanceof Error ? error.message : String(error)})`,
    )
  } finally {
    if (book) book.close()
    else zip.close()
  }
}

const isOds = ({ path: name, format }: SourceFile): boolean => format === 'ods' || /\.ods$/i.test(name)

function chosen(file: SourceFile, { sheets }: Workbook, { sheet: asked, range }: Dialect) {
  const open = sheets.filter(({ hidden }) => !hidden)
  const names = sheets.map(({ name }) => name)
  const sheet =
    asked === undefined
      ? (open[0] ?? sheets[0])
      : (sheets.find(({ name }) => name === asked) ??
        sheets.find(({ name }) => name.toLowerCase() === asked.toLowerCase()))
  if (!sheet)
    throw unreadable(
      file,
      asked === undefined
        ? 'it has no sheet with cells'
        : `it has no sheet ${JSON.stringify(asked)}. ${suggest(asked, names).replace(/\.$/, '')}`,
    )
  const others = sheets.filter((one) => one !== sheet)
  const found: FoundSheet = {
    is: sheet.name,
    sure: asked !== undefined ? 'declared' : open.length > 1 ? 'likely' : 'settled',
    others: others.filter(({ hidden }) => !hidden).map(({ name }) => name),
    hidden: others.filter(({ hidden }) => hidden).map(({ name }) => name),
    ...(range === undefined ? {} : { range }),
  }
  return { sheet, found }
}

const WHOLE: Area = { top: 0, left: 0, bottom: ROWS_MOST - 1, right: COLUMNS_MOST - 1 }

/** The part of a sheet that is its table: where it begins, how wide it is, and what merged cells stand for. */
class SheetTable {
  readonly #file: SourceFile
  readonly #sheet: SheetInfo
  readonly #dialect: Dialect
  readonly #area: Area
  /** Merged cells over several rows, by their first row. */
  readonly #merged: readonly Area[]
  readonly #tall: Map<number, Area[]>
  #filling: { area: Area; text: string }[] = []
  #head: SheetRow[] | null = []
  #left = 0
  #right = 0
  #line = 0
  found: Pick<FoundSheet, 'joined' | 'filled'> = {}

  constructor(file: SourceFile, sheet: SheetInfo, merged: readonly Area[], dialect: Dialect) {
    this.#file = file
    this.#sheet = sheet
    this.#dialect = dialect
    this.#merged = merged
    this.#tall = Map.groupBy(
      merged.filter(({ top, bottom, left, right }) => bottom > top && left === right),
      ({ top }) => top,
    )
    const { range } = dialect
    const area = range === undefined ? WHOLE : areaOf(range)
    if (!area)
      throw unreadable(
        file,
        `${JSON.stringify(range)} is not a range of cells: write it as B3:F20, B3:F or B:F`,
      )
    this.#area = area
  }

  take(given: SheetRow, out: CsvFile): void {
    const { top, bottom, right } = this.#area
    if (given.at < top || given.at > bottom) return
    const row = {
      at: given.at,
      values: given.values.slice(0, right + 1).map((text, at) => (at < this.#area.left ? '' : text)),
    }
    this.#refuseUncomputed(row)
    if (row.values.every((text) => text.trim() === '')) return
    if (this.#head === null) this.#write(row, out)
    else if (this.#head.push(row) >= HEAD_ROWS) this.#begin(out)
  }

  end(out: CsvFile): void {
    if (this.#head !== null) this.#begin(out)
  }

  #refuseUncomputed({ at, values }: SheetRow): void {
    const column = values.indexOf(NO_VALUE)
    if (column >= 0)
      throw unreadable(
        this.#file,
        `the formula in ${JSON.stringify(this.#sheet.name)}!${cellName(at, column)} has no stored value: open the workbook in a spreadsheet program and save it`,
      )
  }

  #begin(out: CsvFile): void {
    const head = this.#head!
    this.#head = null
    if (head.length === 0)
      throw unreadable(this.#file, `its sheet ${JSON.stringify(this.#sheet.name)} is empty`)
    const first = this.#firstOf(head)
    const table = head.slice(first)
    const joined = this.#dialect.header === false ? null : joinedNames(table, this.#merged)
    const declared = this.#dialect.range !== undefined
    const filled = (row: SheetRow): number => row.values.findIndex((text) => text.trim() !== '')
    this.#left = declared ? this.#area.left : Math.min(...table.map(filled))
    const widest = Math.max(...table.map(({ values }) => values.length), joined?.names.length ?? 0) - 1
    this.#right = declared && this.#area.right < COLUMNS_MOST - 1 ? this.#area.right : widest
    for (const [index, row] of head.entries()) {
      // A title is written in the first column of the table, wherever its cell is.
      if (index < first) this.#writeLine(row.at, [row.values.find((text) => text !== '') ?? ''], out)
      else if (joined && row.at <= joined.to) {
        if (row.at === joined.to) this.#write({ at: row.at, values: joined.names }, out)
      } else this.#write(row, out)
    }
    if (joined) this.found = { ...this.found, joined: joined.to - joined.from + 1 }
  }

  /** Returns the index of the first row that is no title. Titles have one cell and stand above rows of several. */
  #firstOf(head: readonly SheetRow[]): number {
    const { skip } = this.#dialect
    if (skip !== undefined)
      return Math.max(
        0,
        head.findIndex(({ at }) => at >= skip),
      )
    const cells = ({ values }: SheetRow): number => values.filter((text) => text.trim() !== '').length
    if (!head.some((row) => cells(row) > 1)) return 0
    return head.findIndex((row) => cells(row) > 1)
  }

  #write({ at, values }: SheetRow, out: CsvFile): void {
    const row = this.#filled(at, values)
    for (let column = 0; column < this.#left; column += 1)
      if (row[column] !== undefined && row[column]!.trim() !== '')
        throw unreadable(
          this.#file,
          `row ${at + 1} of its sheet ${JSON.stringify(this.#sheet.name)} begins left of the table, which begins in column ${columnName(this.#left)}: write the "range" of the source`,
        )
    const cells = row.slice(this.#left)
    while (cells.length < this.#right - this.#left + 1) cells.push('')
    this.#writeLine(at, cells, out)
  }

  /**
   * Repeats a label that is merged over several rows in each of them. Numbers are not repeated, since sums would count
   * them again.
   */
  #filled(at: number, values: string[]): string[] {
    this.#filling = this.#filling.filter(({ area }) => area.bottom >= at)
    const row = this.#filling.length > 0 ? [...values] : values
    for (const { area, text } of this.#filling) {
      while (row.length < area.left) row.push('')
      if ((row[area.left] ?? '') === '') {
        row[area.left] = text
        this.found.filled = (this.found.filled ?? 0) + 1
      }
    }
    for (const area of this.#tall.get(at) ?? []) {
      const text = values[area.left] ?? ''
      if (text !== '' && readingOf(text.trim()).kind !== 'number') this.#filling.push({ area, text })
    }
    return row
  }

  /** Writes a line. A table of one column gets no blank lines, because it would read them as rows. */
  #writeLine(at: number, cells: readonly string[], out: CsvFile): void {
    if (this.#right > this.#left) out.blank(at - this.#line)
    this.#line = at + 1
    out.row(cells)
  }
}

const NEEDS_QUOTES = /[",\n\r]|^\s|\s$/

class CsvFile {
  readonly #stream: WriteStream
  readonly #most: number
  readonly #tooLarge: () => Error
  #text = ''
  #bytes = 0

  constructor(real: string, most: number, tooLarge: () => Error) {
    this.#stream = createWriteStream(real, { mode: 0o600 })
    this.#stream.on('error', () => undefined)
    this.#most = most
    this.#tooLarge = tooLarge
  }

  blank(lines: number): void {
    this.#text += '\n'.repeat(Math.max(0, lines))
  }

  row(cells: readonly string[]): void {
    this.#text += cells
      .map((cell) => (NEEDS_QUOTES.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
      .join(',')
    this.#text += '\n'
    if (this.#text.length > PIECE_CHARACTERS) this.#flush()
  }

  #flush(): void {
    this.#bytes += Buffer.byteLength(this.#text)
    if (this.#bytes > this.#most) throw this.#tooLarge()
    this.#stream.write(this.#text)
    this.#text = ''
  }

  async drain(): Promise<void> {
    if (this.#stream.writableNeedDrain) await once(this.#stream, 'drain')
  }

  async end(): Promise<void> {
    if (this.#bytes <= this.#most) this.#stream.write(this.#text)
    this.#stream.end()
    await finished(this.#stream)
  }
}
