/** Reads texts in tests as the source of a template does. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after } from 'node:test'
import type { Dialect, FoundColumn, FoundDialect } from '@assay/model/dialect'
import { openEngine, readTable } from '../../../duckdb/duckdb.ts'
import { attachFile } from '../../files/file.ts'
import { resolveFiles } from '../../files/files.ts'
import { SourceError } from '../../source.ts'

const home = await mkdtemp(path.join(tmpdir(), 'assay-text-'))
after(() => rm(home, { recursive: true, force: true }))
await mkdir(path.join(home, 'data'))
export const roots = { data: path.join(home, 'data'), sample: {} }

interface Read {
  types: string[]
  rows: unknown[][]
  total: number
  dialect: FoundDialect
  /** The list that holds the rows of JSON. */
  list: string | undefined
  readings: readonly FoundColumn[]
}

export interface Declared {
  dialect?: Dialect
  columns?: Record<string, string>
  name?: string
}

/** Reads a text as the source of a template does. Resolves to its first rows. */
export async function read(
  text: string | Buffer,
  { dialect = {}, columns = {}, name = 'a.csv' }: Declared = {},
): Promise<Read> {
  await writeFile(path.join(roots.data, name), text)
  const engine = await openEngine()
  try {
    const files = await resolveFiles(name.replace(/\d(?=\.csv)/, '*'), roots)
    const given = { name: 's', line: 1, file: name, columns, dialect, roots, readers: 2, peek: false }
    const temp_folder = path.join(home, 'temp')
    const attached = await attachFile(engine, { ...given, temp_folder, spill_bytes: 1e8 }, files)
    const { rows, total } = await readTable(engine, 'select * from s', {}, 5)
    const types = attached.columns.map((column) => `${column.name} ${column.database_type}`)
    const { dialect: found, list } = attached.lineage
    return { types, rows, total, dialect: found!, list, readings: attached.readings ?? [] }
  } finally {
    engine.close()
  }
}

export async function refusal(text: string | Buffer, given: Declared = {}): Promise<string> {
  return read(text, given).then(
    ({ types }) => assert.fail(`read as ${types.join(', ')}`),
    (error: unknown) => {
      assert.ok(error instanceof SourceError, String(error))
      assert.ok(!error.message.includes(home), error.message)
      return error.message
    },
  )
}

export const columnOf = ({ readings }: Read, name: string) => readings.find((one) => one.name === name)
