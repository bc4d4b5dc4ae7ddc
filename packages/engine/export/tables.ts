/** Writes the tables of an insight as files for spreadsheets, from the stored JSON. */
import type { Table } from '@assay/model/insight'
import type { Mark } from '@assay/model/provenance'
import { tableCsv } from './csv.ts'
import { type Exported, workbook } from './workbook.ts'

export interface StoredTables {
  head: Exported['head']
  /** The tables as JSON. */
  tables: string
  provenance: string | null
  /** The name of the wanted block; null for all tables. */
  table: string | null
}

/** The file, or the names of the tables if none has the given name, or if CSV needs a choice of one. */
export type TablesFile = { file: string } | { names: string[] }

/** Returns the file. `file` is base64 of a workbook, or the text of a CSV. */
export function tablesFile(
  form: 'xlsx' | 'csv',
  { head, tables, provenance, table }: StoredTables,
): TablesFile {
  const all = JSON.parse(tables) as Record<string, Table>
  const names = Object.keys(all)
  const wanted = table === null ? names : names.filter((name) => name === table)
  if (wanted.length === 0 || (form === 'csv' && wanted.length > 1)) return { names }
  if (form === 'csv') return { file: tableCsv(all[wanted[0]!]!) }
  const marks = provenance === null ? [] : (JSON.parse(provenance) as Mark[])
  const chosen = Object.fromEntries(wanted.map((name) => [name, all[name]!]))
  return { file: Buffer.from(workbook({ head, tables: chosen, provenance: marks })).toString('base64') }
}
