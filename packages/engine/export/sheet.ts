/**
 * Writes a table as a sheet of a workbook (ECMA-376 part 1, 18.3). No cell is ever a formula: text is text, whatever
 * it begins with, and numbers that a spreadsheet would round are text too.
 */
import { dayNumber } from '@assay/model/dates'
import type { Cell, Column, Table } from '@assay/model/insight'
import { escapeHtml } from '../pages/html.ts'
import { COLUMNS_MOST, columnName, ROWS_MOST } from '../sources/sheets/workbook.ts'
import { numberFormat } from './number-format.ts'

/** The most characters of a cell. */
const LETTERS_MOST = 32_767
/** The most digits of a number that a spreadsheet keeps. */
const DIGITS_MOST = 15
const WIDTH_LEAST = 9
const WIDTH_MOST = 60
const WIDTH_ROWS = 1000

/** The indexes of styles.xml. These are fixed; formats of numbers follow. */
export const STYLE = { plain: 0, head: 1, text: 2, date: 3, time: 4 } as const
const FIRST_FORMAT = 5

/** The number formats of a workbook, each once. */
export class Styles {
  readonly formats: string[] = []

  /** Returns the index of the style for a format. */
  of(format: string): number {
    const known = this.formats.indexOf(format)
    if (known >= 0) return FIRST_FORMAT + known
    this.formats.push(format)
    return FIRST_FORMAT + this.formats.length - 1
  }
}

/** Escapes text for XML. Characters that XML cannot hold are left out, and "_x0041_" keeps its meaning as text. */
export function xmlText(text: string): string {
  const plain = text
    .toWellFormed()
    .slice(0, LETTERS_MOST)
    .toWellFormed()
    .replace(/(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/gu, '')
    .replace(/_(?=x[0-9a-f]{4}_)/gi, '_x005F_')
  return escapeHtml(plain)
}

function textCell(at: string, text: string, style: number): string {
  return `<c r="${at}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${xmlText(text)}</t></is></c>`
}

/**
 * Returns days since the last day of 1899, as spreadsheets count them; null before March 1900, because they count a day
 * that never existed.
 */
function serialOf(text: string): number | null {
  const match = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}):(\d{2}):(\d{2}(?:\.\d+)?))?$/.exec(text)
  if (!match) return null
  const day = dayNumber(match[1]!) - dayNumber('1899-12-30')
  const seconds = Number(match[2] ?? 0) * 3600 + Number(match[3] ?? 0) * 60 + Number(match[4] ?? 0)
  return Number.isNaN(day) || day < 61 ? null : day + seconds / 86_400
}

/** Returns the text of a number. Null if it is not one, or has more digits than a spreadsheet keeps. */
function exactNumber(text: string): string | null {
  if (!/^-?\d+(\.\d+)?$/.test(text)) return null
  const digits = text.replace(/[-.]/g, '').replace(/^0+/, '')
  return digits.length <= DIGITS_MOST ? text : null
}

function cellXml(at: string, cell: Cell, { type }: Column, style: number): string {
  if (cell === null) return ''
  if (typeof cell === 'boolean') return `<c r="${at}" t="b"><v>${cell ? 1 : 0}</v></c>`
  if (typeof cell === 'number') return `<c r="${at}" s="${style}"><v>${cell}</v></c>`
  if (typeof cell !== 'string') return textCell(at, JSON.stringify(cell), STYLE.text)
  if (type === 'date' || type === 'timestamp') {
    const serial = serialOf(cell)
    const shown = type === 'date' ? STYLE.date : STYLE.time
    return serial === null ? textCell(at, cell, STYLE.text) : `<c r="${at}" s="${shown}"><v>${serial}</v></c>`
  }
  const number = type === 'integer' || type === 'decimal' ? exactNumber(cell) : null
  return number === null ? textCell(at, cell, STYLE.text) : `<c r="${at}" s="${style}"><v>${number}</v></c>`
}

const lengthOf = (cell: Cell): number =>
  cell === null ? 0 : typeof cell === 'object' ? JSON.stringify(cell).length : String(cell).length

function widthOf({ rows }: Table, index: number, name: string): number {
  let most = name.length
  for (const row of rows.slice(0, WIDTH_ROWS)) most = Math.max(most, lengthOf(row[index] ?? null))
  return Math.min(WIDTH_MOST, Math.max(WIDTH_LEAST, most + 2))
}

const OPEN = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">`
const FROZEN =
  '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'

/** Returns the XML of a sheet in pieces. `formats`: the `fmt` code of a column, by its name. */
export function sheetXml(table: Table, formats: ReadonlyMap<string, string>, styles: Styles): string[] {
  const columns = table.columns.slice(0, COLUMNS_MOST)
  const names = columns.map((_, index) => columnName(index))
  const shown = columns.map(({ name }) => {
    const format = formats.has(name) ? numberFormat(formats.get(name)!) : null
    return format === null ? STYLE.plain : styles.of(format)
  })
  const widths = columns.map(
    ({ name }, at) =>
      `<col min="${at + 1}" max="${at + 1}" width="${widthOf(table, at, name)}" customWidth="1"/>`,
  )
  const head = columns.map(({ name }, at) => textCell(`${names[at]}1`, name, STYLE.head)).join('')
  const cols = widths.length === 0 ? '' : `<cols>${widths.join('')}</cols>`
  const parts = [`${OPEN}${FROZEN}${cols}<sheetData><row r="1">${head}</row>`]
  for (const [index, row] of table.rows.slice(0, ROWS_MOST - 1).entries()) {
    const number = index + 2
    const cells = columns.map((column, at) =>
      cellXml(`${names[at]}${number}`, row[at] ?? null, column, shown[at]!),
    )
    parts.push(`<row r="${number}">${cells.join('')}</row>`)
  }
  parts.push('</sheetData></worksheet>')
  return parts
}
