/**
 * Reads workbooks in Office Open XML (ECMA-376): .xlsx and .xlsm, also those of the strict form. A formula counts by
 * its stored value. A number in a date format is a date, by the system of 1900 or 1904 that the workbook names.
 */
import type { SourceFile } from '../files/source-file.ts'
import { kindOfCode, kindOfId, type NumberKind, textOfNumber } from './number-format.ts'
import {
  type Area,
  COLUMNS_MOST,
  columnIndex,
  MERGED_MOST,
  NO_VALUE,
  SHEETS_MOST,
  type SheetInfo,
  type SheetRow,
  type Workbook,
} from './workbook.ts'
import { type Element, hear, type Listener, listen } from './xml.ts'
import { unreadable, type Zip } from './zip.ts'

/** The most characters of the shared texts of a workbook, which are kept in memory. */
const TEXTS_CHARACTERS = 100_000_000

interface Relation {
  id: string
  type: string
  part: string
}

interface XlsxSheet extends SheetInfo {
  part: string
}

export async function openXlsx(file: SourceFile, zip: Zip): Promise<Workbook> {
  const [root] = (await relationsOf(zip, '')).filter(({ type }) => type === 'officeDocument')
  const main = root?.part ?? 'xl/workbook.xml'
  if (!zip.has(main)) throw unreadable(file, 'it is not an .xlsx workbook')
  const relations = await relationsOf(zip, main)
  const { sheets, from1904 } = await readMain(zip, main, relations)
  const partOf = (type: string): string | undefined => relations.find((one) => one.type === type)?.part
  const styles = partOf('styles')
  const kinds = styles !== undefined && zip.has(styles) ? await readKinds(zip, styles) : []
  const shared = partOf('sharedStrings')
  let texts: string[] | null = null
  return {
    sheets,
    merged: (sheet) => readMerged(zip, (sheet as XlsxSheet).part),
    async *rows(sheet) {
      texts ??= shared !== undefined && zip.has(shared) ? await readTexts(file, zip, shared) : []
      yield* readRows(zip, (sheet as XlsxSheet).part, { texts, kinds, from1904 })
    },
    close: () => zip.close(),
  }
}

/**
 * Resolves to the relations of a part; `''` for the package. Types come without their address, which differs in the
 * strict form.
 */
async function relationsOf(zip: Zip, part: string): Promise<Relation[]> {
  const at = part.lastIndexOf('/') + 1
  const name = `${part.slice(0, at)}_rels/${part.slice(at)}.rels`
  if (!zip.has(name)) return []
  const found: Relation[] = []
  await hear(zip.read(name), {
    open({ name: element, attributes: { Id = '', Type = '', Target = '', TargetMode = '' } }) {
      if (element !== 'Relationship' || TargetMode === 'External') return
      const target = new URL(Target, `zip:///${part}`).pathname.slice(1)
      found.push({ id: Id, type: Type.slice(Type.lastIndexOf('/') + 1), part: decodeURIComponent(target) })
    },
  })
  return found
}

async function readMain(
  zip: Zip,
  part: string,
  relations: readonly Relation[],
): Promise<{ sheets: XlsxSheet[]; from1904: boolean }> {
  const sheets: XlsxSheet[] = []
  const byId = new Map(relations.map((relation) => [relation.id, relation]))
  let from1904 = false
  await hear(zip.read(part), {
    open({ name, attributes }) {
      if (name === 'workbookPr') from1904 = isTrue(attributes.date1904)
      if (name !== 'sheet') return
      const relation = byId.get(attributes.id ?? '')
      if (relation?.type !== 'worksheet') return
      if (sheets.length === SHEETS_MOST) throw new Error(`it has more than ${SHEETS_MOST} sheets`)
      const hidden = (attributes.state ?? 'visible') !== 'visible'
      sheets.push({ name: attributes.name ?? '', hidden, part: relation.part })
    },
  })
  return { sheets, from1904 }
}

const isTrue = (value: string | undefined): boolean => value === '1' || value === 'true'

/** Reads the meaning of numbers for each style of cells. */
async function readKinds(zip: Zip, part: string): Promise<NumberKind[]> {
  const codes = new Map<number, string>()
  const kinds: NumberKind[] = []
  let inCells = false
  await hear(zip.read(part), {
    open({ name, attributes }) {
      if (name === 'numFmt') codes.set(Number(attributes.numFmtId), attributes.formatCode ?? '')
      if (name === 'cellXfs') inCells = true
      if (name !== 'xf' || !inCells) return
      const id = Number(attributes.numFmtId ?? 0)
      const code = codes.get(id)
      kinds.push(code === undefined ? kindOfId(id) : kindOfCode(code))
    },
    close(name) {
      if (name === 'cellXfs') inCells = false
    },
  })
  return kinds
}

/** Puts the characters that XML cannot hold in place of their codes, such as `_x000D_`. */
const unescaped = (text: string): string =>
  text.includes('_x')
    ? text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 16)),
      )
    : text

async function readTexts(file: SourceFile, zip: Zip, part: string): Promise<string[]> {
  const texts: string[] = []
  let characters = 0
  let text = ''
  let [inText, phonetic] = [false, false]
  const listener: Listener = {
    open({ name }) {
      if (name === 'si') text = ''
      else if (name === 't') inText = !phonetic
      else if (name === 'rPh') phonetic = true
    },
    text(piece) {
      if (inText) text += piece
    },
    close(name) {
      if (name === 't') inText = false
      else if (name === 'rPh') phonetic = false
      else if (name === 'si') {
        texts.push(unescaped(text))
        characters += text.length
      }
    },
  }
  for await (const _ of listen(zip.read(part), listener))
    if (characters > TEXTS_CHARACTERS)
      throw unreadable(
        file,
        `its different texts have more than ${TEXTS_CHARACTERS} characters: save the sheet as CSV`,
      )
  return texts
}

/**
 * Resolves to the merged cells, which stand below the rows. A text cannot hold `<`, so they are found without reading
 * the rows.
 */
async function readMerged(zip: Zip, part: string): Promise<Area[]> {
  const areas: Area[] = []
  let rest = ''
  for await (const piece of zip.read(part)) {
    const text = rest + piece.toString('latin1')
    const from = text.search(/<(?:\w+:)?mergeCell[\s>]/)
    if (from >= 0)
      for (const [, a, b, c, d] of text.matchAll(
        /<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"/g,
      ))
        if (areas.length < MERGED_MOST)
          areas.push({
            top: Number(b) - 1,
            left: columnIndex(a!),
            bottom: Number(d) - 1,
            right: columnIndex(c!),
          })
    const last = text.lastIndexOf('<')
    rest = last >= 0 && text.indexOf('>', last) < 0 ? text.slice(last).slice(0, 200) : ''
  }
  return areas
}

interface Context {
  texts: readonly string[]
  kinds: readonly NumberKind[]
  from1904: boolean
}

async function* readRows(zip: Zip, part: string, context: Context): AsyncGenerator<SheetRow[]> {
  const reader = new RowReader(context)
  for await (const _ of listen(zip.read(part), reader)) {
    const rows = reader.rows.splice(0)
    if (rows.length > 0) yield rows
  }
}

class RowReader implements Listener {
  readonly rows: SheetRow[] = []
  readonly #context: Context
  #at = -1
  #column = -1
  #row: SheetRow | null = null
  #inCell = false
  #cell = { type: '', style: 0, formula: false }
  #value: string | null = null
  #hears = false
  #phonetic = false

  constructor(context: Context) {
    this.#context = context
  }

  open({ name, attributes }: Element): void {
    switch (name) {
      case 'row':
        this.#at = attributes.r === undefined ? this.#at + 1 : Number(attributes.r) - 1
        this.#column = -1
        this.#row = { at: this.#at, values: [] }
        return
      case 'c':
        this.#column = placeOf(attributes.r) ?? this.#column + 1
        this.#inCell = this.#row !== null && this.#column < COLUMNS_MOST
        this.#cell = { type: attributes.t ?? 'n', style: Number(attributes.s ?? 0), formula: false }
        this.#value = null
        return
      case 'f':
        this.#cell.formula = true
        return
      case 'rPh':
        this.#phonetic = true
        return
      case 'v':
      case 't':
        this.#hears = this.#inCell && !this.#phonetic
        if (this.#hears) this.#value ??= ''
        return
      default:
    }
  }

  text(piece: string): void {
    if (this.#hears) this.#value += piece
  }

  close(name: string): void {
    if (name === 'v' || name === 't') this.#hears = false
    else if (name === 'rPh') this.#phonetic = false
    else if (name === 'c') this.#endCell()
    else if (name === 'row') {
      if (this.#row && this.#row.values.length > 0) this.rows.push(this.#row)
      this.#row = null
    }
  }

  #endCell(): void {
    if (!this.#inCell) return
    this.#inCell = false
    const text = this.#textOfCell()
    if (text === '') return
    const { values } = this.#row!
    while (values.length < this.#column) values.push('')
    values[this.#column] = text
  }

  #textOfCell(): string {
    const { type, style, formula } = this.#cell
    const value = this.#value
    // An empty text is stored as a text. A cell of another type without a value is a formula that was never computed.
    if (value === null || (value === '' && type === 'n')) return formula && type === 'n' ? NO_VALUE : ''
    switch (type) {
      case 's':
        return this.#context.texts[Number(value)] ?? ''
      case 'b':
        return isTrue(value) ? 'true' : 'false'
      case 'd':
        return value.replace('T', ' ').replace(/ 00:00:00(\.0+)?$/, '')
      case 'e':
        return value
      case 'n':
        return textOfNumber(Number(value), this.#context.kinds[style] ?? 'number', this.#context.from1904)
      default:
        return unescaped(value)
    }
  }
}

function placeOf(reference: string | undefined): number | null {
  const [letters] = /^[A-Za-z]+/.exec(reference ?? '') ?? []
  return letters === undefined ? null : columnIndex(letters)
}
