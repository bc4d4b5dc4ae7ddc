/**
 * Writes the tables of an insight as a workbook (.xlsx, ECMA-376): a sheet for each block, and one about their
 * origin. The same insight gives the same bytes.
 */
import type { InsightHead, Table } from '@assay/model/insight'
import type { Mark } from '@assay/model/provenance'
import { strToU8, type Zippable, zipSync } from 'fflate'
import { Styles, sheetXml, xmlText } from './sheet.ts'

export interface Exported {
  head: Pick<InsightHead, 'insight_id' | 'template_id' | 'template_version' | 'title' | 'created_at'>
  tables: Record<string, Table>
  provenance: readonly Mark[]
}

/** The earliest time that a ZIP can hold. */
const ZIP_TIME = '1980-01-01T00:00:00'
const NAME_MOST = 31
const ABOUT = 'About'
const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

export function workbook({ head, tables, provenance }: Exported): Uint8Array {
  const styles = new Styles()
  const blocks = Object.entries(tables)
  const names = sheetNames([...blocks.map(([name]) => name), ABOUT])
  const sheets = blocks.map(([name, table]) => sheetXml(table, formatsOf(name, provenance), styles))
  sheets.push(sheetXml(aboutTable(head, blocks), new Map(), styles))
  const files: Zippable = {
    '[Content_Types].xml': strToU8(contentTypes(sheets.length)),
    '_rels/.rels': strToU8(
      `${XML}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    ),
    'xl/workbook.xml': strToU8(workbookXml(names)),
    'xl/_rels/workbook.xml.rels': strToU8(relations(sheets.length)),
    'xl/styles.xml': strToU8(stylesXml(styles)),
  }
  for (const [index, parts] of sheets.entries())
    files[`xl/worksheets/sheet${index + 1}.xml`] = strToU8(parts.join(''))
  return zipSync(files, { mtime: ZIP_TIME, level: 6 })
}

/** Returns the formats with which the text prints the columns of a block. */
function formatsOf(block: string, provenance: readonly Mark[]): Map<string, string> {
  const columns = provenance
    .filter(({ table, from }) => table && from[0]?.block === block)
    .flatMap(({ table }) => table!.columns)
  return new Map(columns.flatMap(({ name, fmt }) => (fmt === null ? [] : [[name, fmt]])))
}

/**
 * Returns the names of the sheets: at most 31 characters, none that a sheet's name cannot have, and each once
 * whatever its case.
 */
function sheetNames(wanted: readonly string[]): string[] {
  const taken = new Set<string>()
  return wanted.map((name) => {
    const plain = name.replace(/[\\/?*[\]:']/g, '_').slice(0, NAME_MOST) || 'sheet'
    let unique = plain
    for (let count = 2; taken.has(unique.toLowerCase()); count += 1) {
      const end = `_${count}`
      unique = `${plain.slice(0, NAME_MOST - end.length)}${end}`
    }
    taken.add(unique.toLowerCase())
    return unique
  })
}

function aboutTable(head: Exported['head'], blocks: readonly [string, Table][]): Table {
  const column = (name: string) => ({ name, type: 'text' as const, database_type: 'VARCHAR' })
  const kept = ({ rows, total }: Table): string =>
    rows.length === total ? `${total} rows` : `the first ${rows.length} of ${total} rows`
  const rows = [
    ['Insight', head.title],
    ['Id', head.insight_id],
    ['Template', head.template_id],
    ['Version', head.template_version],
    ['Made at', head.created_at],
    ...blocks.map(([name, table]) => [name, kept(table)]),
  ]
  return { columns: [column('what'), column('value')], rows, total: rows.length }
}

function contentTypes(sheets: number): string {
  const part = (name: string, type: string): string =>
    `<Override PartName="/xl/${name}.xml" ContentType="${TYPE}.${type}+xml"/>`
  const all = Array.from({ length: sheets }, (_, at) => part(`worksheets/sheet${at + 1}`, 'worksheet'))
  return `${XML}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${part('workbook', 'sheet.main')}${part('styles', 'styles')}${all.join('')}</Types>`
}

function workbookXml(names: readonly string[]): string {
  const sheets = names.map(
    (name, at) => `<sheet name="${xmlText(name)}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`,
  )
  return `${XML}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>${sheets.join('')}</sheets></workbook>`
}

function relations(sheets: number): string {
  const one = (id: number, type: string, target: string): string =>
    `<Relationship Id="rId${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`
  const all = Array.from({ length: sheets }, (_, at) =>
    one(at + 1, 'worksheet', `worksheets/sheet${at + 1}.xml`),
  )
  return `${XML}<Relationships xmlns="${PACKAGE}/relationships">${all.join('')}${one(sheets + 1, 'styles', 'styles.xml')}</Relationships>`
}

/** Returns the styles in the order of `STYLE`. A text is marked as one, so that an edit does not make it a formula. */
function stylesXml({ formats }: Styles): string {
  const own = ['yyyy\\-mm\\-dd', 'yyyy\\-mm\\-dd\\ hh:mm:ss', ...formats]
  const numFmts = own.map((code, at) => `<numFmt numFmtId="${164 + at}" formatCode="${xmlText(code)}"/>`)
  const format = (id: number): string =>
    `<xf numFmtId="${id}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`
  const xfs = [
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>',
    '<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1" quotePrefix="1"/>',
    '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1"/>',
    ...own.map((_, at) => format(164 + at)),
  ]
  return `${XML}<styleSheet xmlns="${MAIN}"><numFmts count="${numFmts.length}">${numFmts.join('')}</numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="${xfs.length}">${xfs.join('')}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`
}
