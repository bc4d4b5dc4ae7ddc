/** Makes workbooks for tests, part by part, as the formats describe them. */
import { crc32, deflateRawSync } from 'node:zlib'

/** Makes a zip of parts. `lie`: the size that its directory gives for each part, in place of the true one. */
export function zipOf(parts: Record<string, string | Buffer>, lie?: number): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(parts)) {
    const data = Buffer.from(content)
    const packed = deflateRawSync(data)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(crc32(data), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(lie ?? data.length, 18)
    common.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), common, Buffer.from(name), packed])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    directory.push(
      Buffer.concat([Buffer.from('PK\u0001\u0002'), Buffer.from([20, 0]), common, rest, Buffer.from(name)]),
    )
    files.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 0, 'latin1')
  end.writeUInt16LE(directory.length, 8)
  end.writeUInt16LE(directory.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...files, central, end])
}

export interface BookSheet {
  name: string
  /** The elements within `sheetData`. `below`: those after it. */
  rows: string
  below?: string
  state?: string
}

export interface Book {
  sheets: BookSheet[]
  texts?: string[]
  from1904?: boolean
  /** The codes of number formats, or their ids as numbers. The style 1 has the first, and so on. */
  formats?: (string | number)[]
  /** The prefix of all elements. */
  prefix?: string
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const LINKS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

const relations = (all: readonly [id: string, type: string, target: string][]): string =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${all
    .map(([id, type, target]) => `<Relationship Id="${id}" Type="${LINKS}/${type}" Target="${target}"/>`)
    .join('')}</Relationships>`

export function xlsxParts({ sheets, texts = [], from1904 = false, formats = [], prefix = '' }: Book) {
  const p = prefix === '' ? '' : `${prefix}:`
  const root = (name: string, inside: string): string =>
    `<?xml version="1.0" encoding="UTF-8"?><${p}${name} xmlns${prefix === '' ? '' : `:${prefix}`}="${MAIN}" xmlns:r="${LINKS}">${inside}</${p}${name}>`
  const prefixed = (xml: string): string => xml.replace(/<(\/?)(\w)/g, `<$1${p}$2`)
  const own = formats.map((format, index) =>
    typeof format === 'string' ? `<numFmt numFmtId="${200 + index}" formatCode="${format}"/>` : '',
  )
  const styles = formats.map(
    (format, index) => `<xf numFmtId="${typeof format === 'string' ? 200 + index : format}"/>`,
  )
  const listed = sheets.map(
    ({ name, state }, index) =>
      `<sheet name="${name}" sheetId="${index + 1}"${state === undefined ? '' : ` state="${state}"`} r:id="rId${index + 1}"/>`,
  )
  return {
    '_rels/.rels': relations([['rId1', 'officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': root(
      'workbook',
      prefixed(`<workbookPr${from1904 ? ' date1904="1"' : ''}/><sheets>${listed.join('')}</sheets>`),
    ),
    'xl/_rels/workbook.xml.rels': relations([
      ...sheets.map(
        (_, index) =>
          [`rId${index + 1}`, 'worksheet', `worksheets/sheet${index + 1}.xml`] as [string, string, string],
      ),
      ['rIdS', 'sharedStrings', 'sharedStrings.xml'],
      ['rIdT', 'styles', 'styles.xml'],
    ]),
    'xl/sharedStrings.xml': root('sst', prefixed(texts.map((text) => `<si>${text}</si>`).join(''))),
    'xl/styles.xml': root(
      'styleSheet',
      prefixed(
        `<numFmts>${own.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${styles.join('')}</cellXfs>`,
      ),
    ),
    ...Object.fromEntries(
      sheets.map(({ rows, below = '' }, index) => [
        `xl/worksheets/sheet${index + 1}.xml`,
        root('worksheet', prefixed(`<sheetData>${rows}</sheetData>${below}`)),
      ]),
    ),
  } as Record<string, string>
}

export const xlsx = (book: Book): Buffer => zipOf(xlsxParts(book))

/**
 * Makes rows of cells. A number is stored as such, a text in the cell itself, null gives no cell, and `=` a formula
 * with the stored value behind it.
 */
export function rowsOf(rows: readonly (readonly (string | number | boolean | null)[])[], from = 1): string {
  return rows
    .map((cells, at) => {
      const inside = cells.map((cell, column) => {
        if (cell === null) return ''
        const place = `r="${String.fromCharCode(65 + column)}${from + at}"`
        if (typeof cell === 'number') return `<c ${place}><v>${cell}</v></c>`
        if (typeof cell === 'boolean') return `<c ${place} t="b"><v>${cell ? 1 : 0}</v></c>`
        return `<c ${place} t="inlineStr"><is><t>${cell}</t></is></c>`
      })
      return cells.length === 0 ? '' : `<row r="${from + at}">${inside.join('')}</row>`
    })
    .join('')
}

/** Makes an .ods file. `tables`: the elements within `office:spreadsheet`. */
export function ods(tables: string, styles = ''): Buffer {
  const names = ['office', 'table', 'text', 'style']
    .map((name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
    .join(' ')
  const content = `<office:document-content ${names} xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:spreadsheet>${tables}</office:spreadsheet></office:body></office:document-content>`
  return zipOf({ mimetype: 'application/vnd.oasis.opendocument.spreadsheet', 'content.xml': content })
}
