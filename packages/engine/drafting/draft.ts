/**
 * Drafts metrics and a template from a table: it reads every column by one run of `profile`, decides its role, and
 * writes.
 */
import type { ColumnDoubt } from '@assay/model/dialect'
import { fileFormat } from '@assay/model/file'
import type { Cell, Findings } from '@assay/model/insight'
import type { TemplateSource } from '@assay/model/template'
import { parse, stringify } from 'yaml'
import { dialectOf } from '../dialects/engines.ts'
import { dialectProperties } from '../reading/dialect-schema.ts'
import { templateVersion } from '../reading/partials.ts'
import { readingInWords } from '../run/two-readings.ts'
import { sheetQuestion } from '../sources/sheets/sheet-words.ts'
import { type Decision, type DraftColumn, type Question, rolesOf } from './roles.ts'
import { type Draft, writeDraft } from './write.ts'

export { ROLES } from './roles.ts'

export interface Drafted extends Draft {
  rows: number
  decisions: Decision[]
}

/** The keys that say how a file is read. */
const KEYS = ['columns', ...Object.keys(dialectProperties)]

/** Reads "dates: dmy, decimal: ','" as keys of a source; null for any other text. */
export function readKeys(text: string): Record<string, unknown> | null {
  try {
    const keys = parse(`{ ${text} }`, { logLevel: 'error' }) as Record<string, unknown>
    return Object.entries(keys).every(([key, value]) => KEYS.includes(key) && value !== null) ? keys : null
  } catch {
    return null
  }
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Reads the keys of several lines. A later key replaces an earlier one, and the `columns` of all lines are joined.
 * Returns the index of a line that has no key.
 */
export function readLines(lines: readonly string[]): Record<string, unknown> | number {
  const found: Record<string, unknown> = {}
  for (const [index, line] of lines.entries()) {
    const keys = readKeys(line)
    if (keys === null) return index
    const { columns } = found
    Object.assign(found, keys)
    if (isMapping(columns) && isMapping(keys.columns)) found.columns = { ...columns, ...keys.columns }
  }
  return found
}

/** A table that a draft is made from. */
export interface Draftable {
  /** The name of the table for readers. */
  called: string
  source: object
  rowSource: object
  /** The source that the first run reads. */
  looked: object
  /** The most rows that are read; null for all rows. */
  sample: number | null
}

/** Returns the table of a file as a template names it. `dialect`: further keys of the source, such as `dates: dmy`. */
export function fileToDraft(file: string, dialect: Record<string, unknown>): Draftable {
  const source = { file, ...dialect }
  return { called: file, source, rowSource: source, looked: source, sample: null }
}

/** The most rows of a table that are read. */
const SAMPLE = 10_000

/** Returns the table of a connection. `kind`: the kind of its database. */
export function tableToDraft(connection: string, kind: string, table: string): Draftable {
  const { identifier } = dialectOf(kind)
  const query = `select * from ${table.split('.').map(identifier).join('.')}`
  return {
    called: table.split('.').at(-1)!,
    source: { connection, table },
    rowSource: { connection, query },
    looked: { connection, query: `${query} limit ${SAMPLE}` },
    sample: SAMPLE,
  }
}

/** Splits a name such as `shop.sales.orders` into a connection and a table; null for any other text. */
export function connectedTable(name: string): { connection: string; table: string } | null {
  const [, connection, table] = /^([A-Za-z][\w-]*)\.([^./\\{}\s]+(?:\.[^./\\{}\s]+)?)$/.exec(name) ?? []
  return connection === undefined || table === undefined ? null : { connection, table }
}

/** Returns the template that reads the table. Its block `rows` holds the first `rows` rows. */
export function lookingAt({ looked }: Draftable, rows = 0): TemplateSource {
  const front = stringify({ sources: { data: looked }, lineage: 'none' }, { lineWidth: 0 })
  const first = rows > 0 ? `\n\`\`\`sql rows\nselect * from data limit ${rows}\n\`\`\`\n` : ''
  const source = `---\n${front}---\n${first}\n\`\`\`analysis columns\nmethod: profile\nof: data\n\`\`\`\n\n# Columns\n\n{{ columns.summary }}\n`
  return { template_id: 'draft', version: templateVersion(source, {}), source, partials: {} }
}

interface ProfiledColumn {
  name: string
  type: string
  nulls: number
  distinct: number
  min: Cell
  max: Cell
  top: { value: Cell; n: number }[]
}

/**
 * Makes the question about a doubt. A line for an order of dates or a decimal mark counts for all columns with such
 * values; every other line counts for its own column only.
 */
function questionOf(column: string, { kind, says, readings }: ColumnDoubt): Question {
  const own = ({ as, write }: ColumnDoubt['readings'][number]) => ({
    as,
    write: `columns: { ${JSON.stringify(column)}: { ${write} } }`,
  })
  const alone = kind === 'mixed' || readings.some(({ write }) => write.startsWith('minus:'))
  return { column, says, readings: alone ? readings.map(own) : readings }
}

/**
 * Makes the draft. `found` are the findings of the run of `lookingAt`. With `alone` the template reads no metrics, so
 * that it runs without any.
 */
export function draftFrom(found: Findings, table: Draftable, alone = false): Drafted {
  const profile = found.analyses.columns!
  const read = found.lineage.sources[0]
  const told = new Map((read?.dialect?.columns ?? read?.readings ?? []).map((one) => [one.name, one]))
  const inText = read?.dialect !== undefined
  const inJson = ['json', 'ndjson'].includes(fileFormat(table.called)?.name ?? '')
  const columns = (profile.columns as ProfiledColumn[]).map((column): DraftColumn => {
    const reading = told.get(column.name)
    const { doubt, percent, currency } = reading ?? {}
    const byLine = inText || (inJson && column.type === 'text')
    return {
      ...column,
      typed: table.sample !== null ? 'database' : byLine ? undefined : 'file',
      question: doubt ? questionOf(column.name, doubt) : null,
      percent: percent?.is === 'share',
      currency: currency?.is,
      read: reading ? readingInWords(reading) : [],
    }
  })
  const sheet = read?.dialect?.sheet
  const rows = profile.n
  const decisions = rolesOf(columns, rows)
  const { called, source, rowSource, sample } = table
  const assumed =
    sample !== null && rows >= sample
      ? [`The first ${sample.toLocaleString('en')} rows stand for all of the table.`]
      : []
  const asked = sheetQuestion(sheet)
  const given = { called, source, rowSource, assumed, alone, rows, columns, decisions, asked }
  return { ...writeDraft(given), rows, decisions }
}
