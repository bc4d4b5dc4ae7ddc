/**
 * Reads workbooks in OpenDocument (ISO/IEC 26300): .ods. Cells hold their value beside the text that is shown; the
 * value counts. Rows and cells that repeat are written once in the file.
 */
import type { SourceFile } from '../files/source-file.ts'
import { clockOf, plainNumber } from './number-format.ts'
import {
  type Area,
  COLUMNS_MOST,
  MERGED_MOST,
  NO_VALUE,
  REPEATED_MOST,
  ROWS_MOST,
  type SheetInfo,
  type SheetRow,
  type Workbook,
} from './workbook.ts'
import { type Element, hear, type Listener, listen } from './xml.ts'
import { unreadable, type Zip } from './zip.ts'

const CONTENT = 'content.xml'
/** The number of rows that a batch may repeat. */
const BATCH = 10_000

export async function openOds(file: SourceFile, zip: Zip): Promise<Workbook> {
  if (!zip.has(CONTENT)) throw unreadable(file, 'it is not an .ods workbook')
  const manifest: { encrypted: boolean } = { encrypted: false }
  if (zip.has('META-INF/manifest.xml'))
    await hear(zip.read('META-INF/manifest.xml'), {
      open: ({ name }) => {
        if (name === 'encryption-data') manifest.encrypted = true
      },
    })
  if (manifest.encrypted) throw unreadable(file, 'it has a password: save it without one')
  const { sheets, merged } = await outline(zip)
  return {
    sheets,
    merged: (sheet) => Promise.resolve(merged[sheets.indexOf(sheet)]!),
    async *rows(sheet) {
      const reader = new RowReader(sheets.indexOf(sheet))
      for await (const _ of listen(zip.read(CONTENT), reader)) yield* reader.batches()
    },
    close: () => zip.close(),
  }
}

/** Resolves to the sheets and their merged cells. */
async function outline(zip: Zip): Promise<{ sheets: SheetInfo[]; merged: Area[][] }> {
  const sheets: SheetInfo[] = []
  const merged: Area[][] = []
  const hiddenStyles = new Set<string>()
  let style = ''
  const place = new Place()
  await hear(zip.read(CONTENT), {
    open(element) {
      const { name, attributes } = element
      if (name === 'style') style = attributes.name ?? ''
      if (name === 'table-properties' && attributes.display === 'false') hiddenStyles.add(style)
      if (!place.open(element)) return
      if (name === 'table') {
        sheets.push({ name: attributes.name ?? '', hidden: hiddenStyles.has(attributes['style-name'] ?? '') })
        merged.push([])
      }
      if (name !== 'table-cell') return
      const [rows, columns] = [
        countOf(attributes['number-rows-spanned']),
        countOf(attributes['number-columns-spanned']),
      ]
      const areas = merged.at(-1)!
      if ((rows > 1 || columns > 1) && areas.length < MERGED_MOST)
        areas.push({
          top: place.row,
          left: place.column,
          bottom: place.row + rows - 1,
          right: place.column + columns - 1,
        })
    },
    close: (name) => place.close(name),
  })
  return { sheets, merged }
}

const countOf = (text: string | undefined): number => Math.max(1, Math.trunc(Number(text ?? 1)) || 1)

/** The position of the reader. It skips tables within cells and drawings. */
class Place {
  sheet = -1
  row = -1
  column = -1
  #depth = 0
  #next = 0
  #rows = 0
  #notes = 0

  /** Tells whether the position is within a note or a drawing. */
  get noted(): boolean {
    return this.#notes > 0
  }

  /** Enters an element. Tells whether it is part of a sheet. */
  open({ name, attributes }: Element): boolean {
    if (name === 'annotation' || name === 'shapes' || name === 'frame' || name === 'tracked-changes')
      this.#notes += 1
    if (this.#notes > 0) return false
    if (name === 'table') {
      this.#depth += 1
      if (this.#depth > 1) return false
      this.sheet += 1
      this.#rows = 0
    } else if (this.#depth !== 1) return false
    if (name === 'table-row') {
      this.row = this.#rows
      this.#rows += countOf(attributes['number-rows-repeated'])
      this.#next = 0
    } else if (name === 'table-cell' || name === 'covered-table-cell') {
      this.column = this.#next
      this.#next += countOf(attributes['number-columns-repeated'])
    }
    return true
  }

  /** Leaves an element. Tells whether it was part of a sheet. */
  close(name: string): boolean {
    if (name === 'annotation' || name === 'shapes' || name === 'frame' || name === 'tracked-changes') {
      this.#notes -= 1
      return false
    }
    if (this.#notes > 0) return false
    if (name === 'table') this.#depth -= 1
    return true
  }
}

class RowReader implements Listener {
  readonly #wanted: number
  readonly #place = new Place()
  #rows: (SheetRow & { times: number })[] = []
  #row: (SheetRow & { times: number }) | null = null
  #cell: Record<string, string> | null = null
  #paragraphs: string[] = []
  #inText = false
  #repeated = 0

  constructor(wanted: number) {
    this.#wanted = wanted
  }

  *batches(): Generator<SheetRow[]> {
    const rows = this.#rows
    this.#rows = []
    let batch: SheetRow[] = []
    for (const { at, values, times } of rows) {
      // Empty cells count as well, because a row of a million of them is as much work.
      this.#repeat(
        (Math.min(times, ROWS_MOST - at) - 1) * values.reduce((sum, value) => sum + value.length + 1, 0),
      )
      for (let index = 0; index < times && at + index < ROWS_MOST; index += 1) {
        batch.push({ at: at + index, values })
        if (batch.length < BATCH) continue
        yield batch
        batch = []
      }
    }
    if (batch.length > 0) yield batch
  }

  /** Counts repeated rows and cells. Throws if they become too many characters. */
  #repeat(characters: number): void {
    this.#repeated += Math.max(0, characters)
    if (this.#repeated > REPEATED_MOST)
      throw new Error(`its repeated cells have more than ${REPEATED_MOST} characters together`)
  }

  open(element: Element): void {
    const { name, attributes } = element
    const within = this.#place.open(element)
    if (!within || this.#place.sheet !== this.#wanted) return
    if (name === 'table-row')
      this.#row = { at: this.#place.row, values: [], times: countOf(attributes['number-rows-repeated']) }
    else if (name === 'table-cell') {
      this.#cell = attributes
      this.#paragraphs = []
    } else if (!this.#cell) return
    else if (name === 'p') {
      this.#paragraphs.push('')
      this.#inText = true
    } else if (name === 's') this.text(' '.repeat(Math.min(countOf(attributes.c), 1000)))
    else if (name === 'tab') this.text('\t')
    else if (name === 'line-break') this.text('\n')
  }

  text(piece: string): void {
    if (!this.#place.noted && this.#inText && this.#cell && this.#paragraphs.length > 0)
      this.#paragraphs[this.#paragraphs.length - 1] += piece
  }

  close(name: string): void {
    if (!this.#place.close(name) || this.#place.sheet !== this.#wanted) return
    if (name === 'p') this.#inText = false
    else if (name === 'table-cell') this.#endCell()
    else if (name === 'table-row') {
      if (this.#row && this.#row.values.length > 0) this.#rows.push(this.#row)
      this.#row = null
    }
  }

  #endCell(): void {
    const cell = this.#cell
    this.#cell = null
    if (!cell || !this.#row) return
    const text = textOfCell(cell, this.#paragraphs.join('\n'))
    if (text === '') return
    const { values } = this.#row
    const { column } = this.#place
    // A column may be said to repeat without end.
    if (column >= COLUMNS_MOST) return
    const last = Math.min(column + countOf(cell['number-columns-repeated']), COLUMNS_MOST)
    this.#repeat((last - column - 1) * text.length)
    while (values.length < column) values.push('')
    for (let index = column; index < last; index += 1) values[index] = text
  }
}

const LENGTH = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/

function textOfCell(cell: Record<string, string>, shown: string): string {
  const type = cell['value-type']
  if (type === undefined) return cell.formula !== undefined && shown === '' ? NO_VALUE : shown
  if (type === 'string') return shown === '' ? (cell['string-value'] ?? '') : shown
  if (type === 'error') return shown
  if (type === 'boolean') return cell['boolean-value'] ?? ''
  if (type === 'date') return (cell['date-value'] ?? '').replace('T', ' ').replace(/ 00:00:00(\.0+)?$/, '')
  if (type === 'time') {
    const [, hours = '0', minutes = '0', seconds = '0'] = LENGTH.exec(cell['time-value'] ?? '') ?? []
    return clockOf(Math.round((Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000))
  }
  return cell.value === undefined ? '' : plainNumber(Number(cell.value))
}
