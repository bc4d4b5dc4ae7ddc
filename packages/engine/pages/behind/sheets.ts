/**
 * Selects the data behind a page: a sheet for each table and each list of an outcome that its text, a chart or a
 * finding comes from, and no other. A sheet shows its first rows and each row that the text prints.
 */
import type { Cell, Outcome, PageInsight, Table } from '@assay/model/insight'
import { pathIn, valueAt, whereText } from '@assay/model/places'
import type { Mark, Origin } from '@assay/model/provenance'

/** The parts of an insight that hold the data. */
export interface Behind {
  tables: Record<string, Table>
  analyses: Record<string, Outcome>
  provenance: readonly Mark[]
}

export interface Sheet {
  /** The anchor of the sheet in the page. */
  id: string
  /** The name, such as "late" or "points of trend". */
  name: string
  columns: string[]
  /** The rows, each with its index. */
  rows: [index: number, cells: Cell[]][]
  total: number
}

/** A value of an outcome that the text prints. */
export interface Field {
  id: string
  says: string
  value: unknown
}

export interface BehindPage {
  marks: readonly Mark[]
  sheets: readonly Sheet[]
  /** The values of outcomes, by block. */
  fields: ReadonlyMap<string, Field[]>
  /** Returns the sheet that an analysis was computed from, if the page shows it. */
  sourceOf(block: string): Sheet | undefined
  /** Returns where the page shows an origin, or null if no sheet has it. */
  placeOf(origin: Origin): { anchor: string; says: string } | null
}

/** The number of first rows of each sheet. Rows that the text prints are added to them. */
const FIRST_ROWS = 200
/** The most rows of one sheet, and the most cells of all sheets. */
const MOST_ROWS = 1000
const MOST_CELLS = 50_000

export const rowId = (sheet: string, row: number): string => `${sheet}-${row + 1}`

function sheetId({ block = '', field }: Origin): string {
  return field === undefined || field === 'size' ? `rows-${block}` : `rows-${block}-${field}`
}

/** Returns the origins of a mark. A mark of a table in the text stands for the first rows of its block. */
function originsOf({ from, table }: Mark): Origin[] {
  if (!table) return from
  return table.rows.flatMap(([first, last]) => [
    { ...from[0], row: first },
    { ...from[0], row: last },
  ])
}

/** Returns the rows that the text prints, by sheet. A sheet that is named without a row is shown too. */
function askedRows(origins: readonly Origin[]): Map<string, { origin: Origin; rows: Set<number> }> {
  const asked = new Map<string, { origin: Origin; rows: Set<number> }>()
  for (const origin of origins) {
    const id = sheetId(origin)
    const known = asked.get(id) ?? { origin, rows: new Set<number>() }
    for (const row of [origin.row, ...(origin.rows ?? [])]) if (row !== undefined) known.rows.add(row)
    asked.set(id, known)
  }
  return asked
}

type Records = Record<string, Cell>[]

function isRecords(value: unknown): value is Records {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'object' && one)
}

/** Returns the table of a sheet, or null for a single value of an outcome. */
function tableAt({ tables, analyses }: Behind, { block = '', field }: Origin): Table | null {
  if (Object.hasOwn(tables, block)) return tables[block]!
  const list = field === undefined ? undefined : pathIn(analyses[block], field)
  if (!isRecords(list)) return null
  const names = [...new Set(list.flatMap((one) => Object.keys(one)))]
  const columns = names.map((name) => ({ name, type: 'other' as const, database_type: '' }))
  const rows = list.map((one) => names.map((name) => one[name] ?? null))
  return { columns, rows, total: rows.length }
}

/** Returns `tableAt` with one look-up for each sheet, because a thousand numbers may come from one list of many rows. */
function tablesOf(behind: Behind): (origin: Origin) => Table | null {
  const known = new Map<string, Table | null>()
  return (origin) => {
    const id = sheetId(origin)
    const table = known.get(id)
    if (table !== undefined) return table
    const found = tableAt(behind, origin)
    known.set(id, found)
    return found
  }
}

function sheetOf(id: string, origin: Origin, table: Table, asked: ReadonlySet<number>): Sheet {
  const { block = '', field } = origin
  const first = Array.from({ length: Math.min(FIRST_ROWS, table.rows.length) }, (_, index) => index)
  const printed = [...asked].filter((row) => row < table.rows.length)
  const indexes = [...new Set([...first, ...printed])].slice(0, MOST_ROWS).toSorted((a, b) => a - b)
  return {
    id,
    name: field === undefined || field === 'size' ? block : `${field} of ${block}`,
    columns: table.columns.map(({ name }) => name),
    rows: indexes.map((row) => [row, table.rows[row]!]),
    total: table.total,
  }
}

/** Returns the blocks whose rows a chart draws, or from which a finding was computed. */
function blocksAround({ charts, reading }: Pick<PageInsight, 'charts' | 'reading'>): Origin[] {
  const named = [...charts.map(({ block }) => block), ...(reading?.proofs ?? []).map(({ of }) => of)]
  return [...new Set(named)].map((block) => ({ block }))
}

export function behindPage(behind: Behind, insight: Pick<PageInsight, 'charts' | 'reading'>): BehindPage {
  const marks = behind.provenance.filter(({ by }) => by === undefined)
  const printed = marks.flatMap(originsOf).filter(({ block }) => block !== undefined)
  const sheets: Sheet[] = []
  const tableOf = tablesOf(behind)
  let left = MOST_CELLS
  for (const [id, { origin, rows }] of askedRows([...printed, ...blocksAround(insight)])) {
    const table = tableOf(origin)
    const sheet = table && sheetOf(id, origin, table, rows)
    if (!sheet || left <= 0) continue
    const most = Math.ceil(left / Math.max(1, sheet.columns.length))
    sheets.push({ ...sheet, rows: sheet.rows.slice(0, most) })
    left -= sheet.rows.length * sheet.columns.length
  }
  const fields = fieldsOf(behind, printed, tableOf)
  const sourceOf = (block: string): Sheet | undefined => {
    const headline = behind.analyses[block]?.headline
    const proof = insight.reading?.proofs.find(({ says }) => says === headline)
    return proof && sheets.find(({ id }) => id === `rows-${proof.of}`)
  }
  return { marks, sheets, fields, sourceOf, placeOf: placesOf(behind, sheets, fields) }
}

function fieldsOf(
  behind: Behind,
  printed: readonly Origin[],
  tableOf: (origin: Origin) => Table | null,
): Map<string, Field[]> {
  const fields = new Map<string, Field[]>()
  for (const origin of printed) {
    const { block = '' } = origin
    if (!Object.hasOwn(behind.analyses, block) || tableOf(origin)) continue
    const known = fields.get(block) ?? []
    const says = whereText(origin)
    const id = `rows-${block}-value-${known.length + 1}`
    if (!known.some((one) => one.says === says)) known.push({ id, says, value: valueAt(behind, origin) })
    fields.set(block, known)
  }
  return fields
}

function placesOf(
  behind: Behind,
  sheets: readonly Sheet[],
  fields: ReadonlyMap<string, Field[]>,
): BehindPage['placeOf'] {
  const rowsOf = new Map(sheets.map(({ id, rows }) => [id, new Set(rows.map(([row]) => row))]))
  return (origin) => {
    const { block } = origin
    if (block === undefined) return null
    const value = valueAt(behind, origin)
    const where = whereText(origin)
    const text = cellText(value)
    const exact = text === '' || text.length > LONGEST_SAID ? '' : `: ${text}`
    const says = `${where === '' ? '' : `${where} in `}${block}${exact}`
    const field = fields.get(block)?.find((one) => one.says === where)
    if (field) return { anchor: field.id, says }
    const id = sheetId(origin)
    const rows = rowsOf.get(id)
    if (!rows) return null
    const row = origin.row ?? origin.rows?.[0]
    return { anchor: row !== undefined && rows.has(row) ? rowId(id, row) : id, says }
  }
}

/** The most characters of a value that is repeated beside its place. */
const LONGEST_SAID = 60
/** The most characters of a cell that are shown. */
const MOST_CHARACTERS = 300

export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  const all = typeof value === 'string' ? value : JSON.stringify(value)
  const text = all.replaceAll('\u2063', '')
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text
}
