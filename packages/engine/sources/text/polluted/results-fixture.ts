/**
 * Reads each polluted file as the source of a template does, and judges the result, for tests and the table in
 * docs/files.md.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Dialect } from '@assay/model/dialect'
import { type Engine, openEngine, readTable } from '../../../duckdb/duckdb.ts'
import { attachFile } from '../../files/file.ts'
import { resolveFiles } from '../../files/files.ts'
import { SourceError } from '../../source.ts'
import { type Polluted, pollutedFiles, type Right } from './kinds-fixture.ts'

export interface KindResult {
  corpus: Polluted['corpus']
  kind: string
  files: number
  right: number
  /** The first reason for which a file is refused; empty if none is. */
  reason: string
  refused: number
  /** The number of refused files whose rows with `bad_rows: skip` are all rows of the table. */
  skipped: number
  /** The number of refused files that are also refused with `bad_rows: skip`. */
  refusedTwice: number
  /** The results that are neither correct nor refused. */
  wrong: { text: string; names: string[]; rows: unknown[][] }[]
}

/** Reads the files of all kinds. `lines`: the lines of which one is changed, for kinds that change one line. */
export async function pollutedResults(lines?: readonly number[]): Promise<KindResult[]> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-polluted-'))
  const engine = await openEngine()
  try {
    const results: KindResult[] = []
    const all = pollutedFiles(lines)
    const table = all.find(({ kind }) => kind === 'standard file')?.files[0]?.right ?? null
    for (const polluted of all) results.push(await judged(engine, home, polluted, table))
    return results
  } finally {
    engine.close()
    await rm(home, { recursive: true, force: true })
  }
}

async function judged(
  engine: Engine,
  home: string,
  { corpus, kind, files }: Polluted,
  table: Right | null,
): Promise<KindResult> {
  const result: KindResult = {
    corpus,
    kind,
    files: files.length,
    right: 0,
    reason: '',
    refused: 0,
    skipped: 0,
    refusedTwice: 0,
    wrong: [],
  }
  for (const { text, right } of files) {
    const found = await read(engine, home, text)
    if (typeof found === 'string') {
      result.refused += 1
      result.reason ||= found
      const left = await read(engine, home, text, { bad_rows: 'skip' })
      if (typeof left === 'string') result.refusedTwice += 1
      else if (isPartOf(left, right ?? table)) result.skipped += 1
    } else if (right && isDeepStrictEqual(found, right)) result.right += 1
    else result.wrong.push({ text, ...found })
  }
  return result
}

/** Tells whether the names are those of the table, and every row is one of its rows. */
function isPartOf({ names, rows }: Right, whole: Right | null): boolean {
  if (!whole || rows.length === 0 || !isDeepStrictEqual(names, whole.names)) return false
  return rows.every((row) => whole.rows.some((one) => isDeepStrictEqual(row, one)))
}

/** Resolves to the table, or to the reason for which it is refused. */
async function read(
  engine: Engine,
  home: string,
  text: string,
  dialect: Dialect = {},
): Promise<Right | string> {
  const roots = { data: home, sample: {} }
  await writeFile(path.join(home, 'table.csv'), text)
  try {
    const files = await resolveFiles('table.csv', roots)
    const given = {
      name: 's',
      line: 1,
      file: 'table.csv',
      columns: {},
      dialect,
      roots,
      readers: 2,
      peek: false,
    }
    const { columns } = await attachFile(
      engine,
      { ...given, temp_folder: path.join(home, 'temp'), spill_bytes: 1e8 },
      files,
    )
    const { rows } = await readTable(engine, 'select * from s', {}, 1_000)
    return { names: columns.map(({ name }) => name), rows: rows as Right['rows'] }
  } catch (error) {
    if (error instanceof SourceError) return error.message
    throw error
  }
}

/** Returns a reason as a cell of a table, without the name of the file. */
function cell(reason: string): string {
  const text = reason.replace(/^"table\.csv" cannot be read: /, '').replaceAll('`', "'")
  return text === '' ? '' : `\`${text.replaceAll('|', '\\|').replaceAll('\n', ' ')}\``
}

/** Returns the line of the table in docs/files.md. */
export function rowOf({ corpus, kind, files, right, refused, skipped, wrong, reason }: KindResult): string {
  return `| ${corpus} | ${kind} | ${files} | ${right} | ${refused} | ${skipped} | ${wrong.length} | ${cell(reason)} |`
}

/** Returns the section of docs/files.md about them. */
export async function pollutedSection(): Promise<string> {
  const results = await pollutedResults()
  const sum = (of: (result: KindResult) => number): number => results.reduce((all, one) => all + of(one), 0)
  const counted = [
    `Of ${sum(({ files }) => files)} files **${sum(({ right }) => right)} are read rightly**`,
    `${sum(({ refused }) => refused)} are refused with the reason (of these ${sum(({ skipped }) => skipped)} are read rightly with \`bad_rows: skip\`, but for the rows that it leaves out and counts, and ${sum(({ refusedTwice }) => refusedTwice)} are refused with it, too, because rows of names, or none, are at fault)`,
    `and ${sum(({ wrong }) => wrong.length)} are read wrongly.`,
  ]
  return [
    counted.join(', '),
    '',
    '| list | kind | files | read rightly | refused | the rest rightly with `skip` | read wrongly | the first reason |',
    '|---|---|--:|--:|--:|--:|--:|---|',
    ...results.map(rowOf),
  ].join('\n')
}
