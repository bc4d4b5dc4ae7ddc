/** The file formats and how DuckDB reads each. */
import { type FormatName, fileFormat } from '@assay/model/file'
import { literal } from '../../duckdb/duckdb.ts'
import { NO_DATES } from '../text/json-dates.ts'
import type { OpenTyped } from '../typed/typed-text.ts'
import { partitionOptions } from './partition-names.ts'
import type { SourceFile } from './source-file.ts'

export interface Format {
  name: FormatName
  text: boolean
  /** Returns the call that reads `files`. */
  call(files: Files): string
  /** True for a table in text, with a row of names. */
  table: boolean
  /** True for a workbook, whose sheet is read as a table in text. */
  sheets?: boolean
  /** True for JSON, whose rows may stand in a list within an object. */
  lists?: boolean
  /**
   * Opens a file of a format that the engine does not read. Its rows are first written as text with their types
   * (typed/typed-text.ts).
   */
  typed?: () => Promise<OpenTyped>
  /** Returns a query for the number of rows that is cheaper than counting. */
  count?(files: Files): string
}

/** The size up to which types are inferred from the whole text. Above it the first 20,480 rows decide. */
const SNIFF_WHOLE_BYTES = 16_000_000

type Files = Pick<SourceFile, 'real' | 'bytes' | 'partition_types'>[]

function list(files: Files): string {
  return `[${files.map((file) => literal(file.real)).join(', ')}]`
}

function several(files: Files): string {
  return files.length > 1 ? ', union_by_name = true' : ''
}

function bytesOf(files: Files): number {
  return files.reduce((sum, file) => sum + file.bytes, 0)
}

/** Returns the format of a table in text, which is parsed as text/text-table.ts says. */
function tableIn(name: 'csv' | 'tsv'): Format {
  return { name, text: true, table: true, call: () => '' }
}

function json(name: 'json' | 'ndjson', options: string): Format {
  return {
    name,
    text: true,
    table: false,
    lists: true,
    call(files) {
      const largest = Math.max(16_777_216, ...files.map((file) => file.bytes))
      const sniff = bytesOf(files) <= SNIFF_WHOLE_BYTES ? ', sample_size = -1' : ''
      return `read_json(${list(files)}${options}${NO_DATES}, maximum_object_size = ${Math.min(largest, 2_000_000_000)}${sniff}${several(files)})`
    },
  }
}

const workbook = (name: 'xlsx' | 'ods'): Format => ({
  name,
  text: true,
  table: true,
  sheets: true,
  call: () => '',
})

/** Returns a format whose reader is loaded on demand, because most jobs read none of them. */
const typed = (name: 'avro' | 'arrow', reader: () => Promise<OpenTyped>): Format => ({
  name,
  text: true,
  table: false,
  typed: reader,
  call: () => '',
})

export const FORMATS: readonly Format[] = [
  tableIn('csv'),
  tableIn('tsv'),
  json('json', ''),
  json('ndjson', ", format = 'newline_delimited'"),
  {
    name: 'parquet',
    text: false,
    table: false,
    call: (files) =>
      `read_parquet(${list(files)}${several(files)}${partitionOptions(files[0]?.partition_types ?? null)})`,
    count: (files) => `select sum(num_rows)::bigint from parquet_file_metadata(${list(files)})`,
  },
  typed('avro', async () => (await import('../typed/avro.ts')).openAvro),
  typed('arrow', async () => (await import('../typed/arrow.ts')).openArrow),
  workbook('xlsx'),
  workbook('ods'),
]

export function formatOf(file: string): Format | undefined {
  const name = fileFormat(file)?.name
  return name && formatNamed(name)
}

export function formatNamed(name: FormatName): Format | undefined {
  return FORMATS.find((format) => format.name === name)
}
