/**
 * Tests that the line which a draft offers reads each form of a time that the draft asks about, and that no other
 * column is asked.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import type { Findings } from '@assay/model/insight'
import { openEngine, readTable } from '../duckdb/duckdb.ts'
import { readDialect } from '../reading/dialect-schema.ts'
import { attachFile } from '../sources/files/file.ts'
import { resolveFiles } from '../sources/files/files.ts'
import { draftFrom, fileToDraft, readLines } from './draft.ts'
import { rolesOf } from './roles.ts'

const home = await mkdtemp(path.join(tmpdir(), 'assay-forms-'))
after(() => rm(home, { recursive: true, force: true }))

/** Reads the columns of a CSV with the lines of a source. */
async function read(columns: readonly (readonly string[])[], lines: readonly string[]): Promise<unknown[][]> {
  const rows = columns[0]!.map((_, row) => columns.map((values) => values[row]).join(';'))
  const names = columns.map((_, at) => `c${at}`)
  await writeFile(path.join(home, 'a.csv'), `${names.join(';')}\n${rows.join('\n')}\n`)
  const roots = { data: home, sample: {} }
  const declared = readDialect(readLines(lines) as Record<string, unknown>)
  const engine = await openEngine()
  try {
    const given = { name: 's', line: 1, file: 'a.csv', ...declared, roots, readers: 2, peek: false }
    const files = await resolveFiles('a.csv', roots)
    await attachFile(engine, { ...given, temp_folder: path.join(home, 'temp'), spill_bytes: 1e8 }, files)
    const texts = names.map((name) => `${name}::varchar`)
    const found = await readTable(engine, `select ${texts.join(', ')} from s`, {}, 9)
    return names.map((_, at) => found.rows.map((row) => row[at]))
  } finally {
    engine.close()
  }
}

/** Returns the question of a draft about a column with these values. */
function questionOf(name: string, values: readonly (string | number)[], typed?: 'file' | 'database') {
  const numbers = typeof values[0] === 'number'
  const top = values.map((value) => ({ value, n: 1 }))
  const range = numbers
    ? [Math.min(...(values as number[])), Math.max(...(values as number[]))]
    : [null, null]
  const shape = { nulls: 0, distinct: values.length, min: range[0]!, max: range[1]!, question: null, typed }
  const [decided] = rolesOf([{ ...shape, name, type: numbers ? 'integer' : 'text', top }], values.length)
  return decided!.question
}

const FORMS: [name: string, values: (string | number)[], form: string, read: string[]][] = [
  ['ts', [1672531200, 1672617600], 'epoch', ['2023-01-01 00:00:00+00', '2023-01-02 00:00:00+00']],
  [
    'created_at',
    [1672531200500, 1672617600000],
    'epoch_ms',
    ['2023-01-01 00:00:00.5+00', '2023-01-02 00:00:00+00'],
  ],
  ['date', [44927, 45292], 'excel', ['2023-01-01', '2024-01-01']],
  ['day', [20230131, 20240229], '"%Y%m%d"', ['2023-01-31', '2024-02-29']],
  ['month', [202012, 202101], '"%Y%m"', ['2020-12-01', '2021-01-01']],
  ['week', ['2020-W53', '2024-W01'], 'week', ['2020-12-28', '2024-01-01']],
  ['q', ['2018-Q1', '2023-Q4'], 'quarter', ['2018-01-01', '2023-10-01']],
  ['q', ['Q2 2018', 'Q3 2018'], 'quarter', ['2018-04-01', '2018-07-01']],
  ['m', ['2018-01', '2018-12'], '"%Y-%m"', ['2018-01-01', '2018-12-01']],
  ['m', ['Jan 2020', 'May 2020'], '"%b %Y"', ['2020-01-01', '2020-05-01']],
  ['tag', ['1. Januar 2023', '31. März 2023'], '"%d. %B %Y"', ['2023-01-01', '2023-03-31']],
  ['jour', ['14 juillet 2023', '1 août 2023'], '"%d %B %Y"', ['2023-07-14', '2023-08-01']],
  ['fecha', ['02-ene-23', '03-dic-23'], '"%d-%b-%y"', ['2023-01-02', '2023-12-03']],
  ['d', ['January 5, 2023', 'February 6, 2023'], '"%B %d, %Y"', ['2023-01-05', '2023-02-06']],
]

test('a draft asks about times in forms of their own with the line that reads them', async () => {
  const lines = FORMS.map(([name, values, form], at) => {
    const question = questionOf(name, values)
    const line = (column: string) => `columns: { ${JSON.stringify(column)}: { dates: ${form} } }`
    assert.equal(question?.readings[0]?.write, line(name), `${name}: ${values[0]}`)
    return line(`c${at}`)
  })
  const found = await read(
    FORMS.map(([, values]) => values.map(String)),
    lines,
  )
  assert.deepEqual(
    found,
    FORMS.map((form) => form[3]),
  )
})

test('numbers and texts that only resemble times are asked of no one', () => {
  for (const [name, values] of [
    ['amount', [20230131, 20249999]],
    ['price', [44927, 45292]],
    ['revenue', [1672531200, 1672617600]],
    ['month', [1, 12]],
    ['size', ['May', 'Mar']],
    ['name', ['June 12 b', 'May 13 c']],
    ['product', ['Mars 2', 'Mars 3']],
  ] as [string, (string | number)[]][])
    assert.equal(questionOf(name, values), null, `${name}: ${values[0]}`)
})

test('a time that a file or a database types as a number gets no line that would not work', () => {
  assert.deepEqual(questionOf('ts', [1672531200], 'file')?.readings, [])
  assert.match(questionOf('ts', [1672531200], 'database')!.says, /Give it a type in a view of the database/)
})

test('a column of numbers but for a few texts is asked with a line that is its own', () => {
  const column = { name: 'amount', type: 'text', nulls: 0, distinct: 60, min: '1', max: 'x', top: [] }
  const readings = [{ as: 'a missing value', write: 'missing: [NA, x]' }]
  const doubt = { kind: 'mixed', sample: 'x', readings, says: '59 of 60 values are numbers.' }
  const found = {
    analyses: { columns: { n: 60, columns: [column] } },
    lineage: { sources: [{ dialect: { columns: [{ name: 'amount', doubt }] } }] },
  } as unknown as Findings
  const { questions, decisions } = draftFrom(found, fileToDraft('a.csv', {}))
  assert.equal(decisions[0]!.role, 'unclear')
  const write = 'columns: { "amount": { missing: [NA, x] } }'
  assert.deepEqual(questions, [
    { column: 'amount', says: doubt.says, readings: [{ as: 'a missing value', write }] },
  ])
})
