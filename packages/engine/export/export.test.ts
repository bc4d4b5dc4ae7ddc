import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import type { Table } from '@assay/model/insight'
import { strFromU8, unzipSync } from 'fflate'
import { SaxesParser } from 'saxes'
import { FORMULA, fieldsOf, HOSTILE_TEXTS } from '../../../test/hostile/hostile-texts.ts'
import { openEngine, readTable } from '../duckdb/duckdb.ts'
import { HOSTILE_TABLES } from '../rendering/hostile-fixture.ts'
import { attachFile } from '../sources/files/file.ts'
import { resolveFiles } from '../sources/files/files.ts'
import { tableCsv } from './csv.ts'
import { numberFormat } from './number-format.ts'
import { workbook } from './workbook.ts'

const home = await mkdtemp(path.join(tmpdir(), 'assay-export-'))
const engine = await openEngine()
after(async () => {
  engine.close()
  await rm(home, { recursive: true, force: true })
})
await mkdir(path.join(home, 'data'))

const HEAD = {
  insight_id: '0198',
  template_id: 'flights',
  template_version: 'v1',
  title: 'Late flights',
  created_at: '2024-02-03T04:05:06.000Z',
}

const column = (name: string, type: Table['columns'][number]['type']) => ({ name, type, database_type: '' })
const TABLE: Table = {
  columns: [
    column('day', 'date'),
    column('at', 'timestamp'),
    column('n', 'integer'),
    column('share', 'number'),
    column('money', 'decimal'),
    column('word', 'text'),
    column('ok', 'boolean'),
  ],
  rows: [
    ['2024-02-29', '2024-02-29T12:30:00', 7, 0.273, '12.50', '=1+1', true],
    [null, null, null, 'NaN', null, null, null],
    [
      '1899-05-01',
      '2024-02-29T12:30:00Z',
      '9007199254740993',
      -1,
      '12345678901234567.89',
      '@a "b", <c> _x0041_',
      false,
    ],
  ],
  total: 5,
}
const PROVENANCE = [
  {
    start: 0,
    end: 9,
    from: [{ block: 'days' }],
    table: {
      columns: [
        { name: 'share', fmt: 'pct1' },
        { name: 'n', fmt: null },
      ],
      rows: [],
    },
  },
]

/** Reads the first sheet as the engine reads a workbook. */
async function read(bytes: Uint8Array, sheet: string): Promise<unknown[][]> {
  await writeFile(path.join(home, 'data', 'a.xlsx'), bytes)
  const roots = { data: path.join(home, 'data'), sample: {} }
  const files = await resolveFiles('a.xlsx', roots)
  const given = {
    name: 's',
    line: 1,
    file: 'a.xlsx',
    columns: {},
    dialect: { sheet },
    roots,
    readers: 2,
    peek: false,
  }
  await attachFile(engine, { ...given, temp_folder: path.join(home, 'temp'), spill_bytes: 1e8 }, files)
  return (await readTable(engine, 'select columns(*)::varchar from s', {}, 50)).rows
}

const partOf = (bytes: Uint8Array, name: string): string => strFromU8(unzipSync(bytes)[name]!)

test('a workbook holds the values of each table, and no cell of it is a formula', async () => {
  const book = workbook({ head: HEAD, tables: { days: TABLE }, provenance: PROVENANCE })
  const [first, second, third] = await read(book, 'days')
  assert.deepEqual(first, ['2024-02-29', '2024-02-29 12:30:00', '7', '0.273', '12.5', '=1+1', 'true'])
  // The reader turns a column of numbers in text into numbers.
  assert.deepEqual(second, [null, null, null, 'nan', null, null, null])
  assert.deepEqual(third!.slice(0, 3), ['1899-05-01', '2024-02-29T12:30:00Z', '9007199254740993'])
  assert.deepEqual(third!.slice(5), ['@a "b", <c> _x0041_', 'false'])
  const sheet = partOf(book, 'xl/worksheets/sheet1.xml')
  assert.doesNotMatch(sheet, /<f[ >]/)
  assert.match(sheet, />12345678901234567\.89<\/t>/)
  assert.match(sheet, /<c r="C2" s="0"><v>7<\/v><\/c><c r="D2" s="5"><v>0\.273<\/v>/)
  assert.match(partOf(book, 'xl/styles.xml'), /formatCode="#,##0\.0%"/)
  assert.match(partOf(book, 'xl/worksheets/sheet2.xml'), /the first 3 of 5 rows/)
  assert.deepEqual(
    workbook({ head: HEAD, tables: { days: TABLE }, provenance: PROVENANCE }),
    book,
    'the same bytes',
  )
})

test('names of sheets are short, plain and each once', () => {
  const table = { columns: [column('a', 'text')], rows: [['\u0000x\ud800']], total: 1 }
  const long = 'a'.repeat(40)
  const tables = { [long]: table, [`${long}b`]: table, About: table, 'x/y': table }
  const book = workbook({ head: HEAD, tables, provenance: [] })
  const names = [...partOf(book, 'xl/workbook.xml').matchAll(/name="([^"]*)"/g)].map(([, name]) => name)
  assert.deepEqual(names, ['a'.repeat(31), `${'a'.repeat(29)}_2`, 'About', 'x_y', 'About_2'])
  assert.match(partOf(book, 'xl/worksheets/sheet1.xml'), />x\ufffd<\/t>/)
})

test('formats are those of the text', () => {
  const known = {
    num0: '#,##0',
    num2: '#,##0.00',
    num1k: '#,##0.0,"k"',
    pct1: '#,##0.0%',
    mult: '#,##0.0"x"',
    id: '0',
  }
  for (const [code, format] of Object.entries(known)) assert.equal(numberFormat(code), format)
  assert.equal(numberFormat('usd0'), '"$"#,##0;-"$"#,##0')
  assert.deepEqual(['yyyy-mm-dd', 'shortdate', ''].map(numberFormat), [null, null, null])
})

test('CSV has the values as they are, and text that a spreadsheet would run is text', () => {
  assert.equal(
    tableCsv(TABLE),
    "\ufeffday,at,n,share,money,word,ok\r\n2024-02-29,2024-02-29T12:30:00,7,0.273,12.50,'=1+1,true\r\n,,,NaN,,,\r\n" +
      '1899-05-01,2024-02-29T12:30:00Z,9007199254740993,-1,12345678901234567.89,"\'@a ""b"", <c> _x0041_",false\r\n',
  )
})

test('no hostile text is a formula, a cell or a row of its own in CSV', () => {
  const { columns, rows } = HOSTILE_TABLES.cells!
  for (const text of HOSTILE_TEXTS) {
    const csv = tableCsv({ columns: [{ ...columns[0]!, name: text }], rows: [[text]], total: 1 })
    const fields = fieldsOf(csv.slice(1).replace(/\r\n$/, ''))
    assert.equal(fields.length, 2, csv)
    for (const field of fields) {
      assert.ok(field === text || field === `'${text}`)
      assert.doesNotMatch(field, FORMULA)
    }
  }
  assert.equal(
    fieldsOf(tableCsv({ columns, rows, total: 1 }).slice(1)).length,
    2 * (HOSTILE_TEXTS.length + 1) + 1,
  )
})

test('no hostile text is more than the text of its cell in a workbook', () => {
  const head = { ...HEAD, title: HOSTILE_TEXTS.join(' ') }
  const parts = unzipSync(workbook({ head, tables: HOSTILE_TABLES, provenance: [] }))
  const found: string[][] = []
  for (const [name, bytes] of Object.entries(parts)) {
    const texts: string[] = []
    let within = ''
    const parser = new SaxesParser()
    parser.on('error', (error) => assert.fail(`${name}: ${error.message}`))
    parser.on('opentag', ({ name: tag, attributes }) => {
      assert.ok(!/^(?:f|hyperlink|oleObject|drawing)$/.test(tag), tag)
      within = tag
      if (tag === 't') texts.push('')
      if (tag === 'c') assert.ok(['inlineStr', 'b', undefined].includes(attributes.t))
    })
    parser.on('text', (text) => {
      if (within === 't') texts[texts.length - 1] += text
    })
    parser.write(strFromU8(bytes)).close()
    if (name.startsWith('xl/worksheets/')) found.push(texts)
  }
  // The texts as a spreadsheet reads them: without characters that XML cannot hold, and with "_x005F_" as an
  // underscore.
  const held = HOSTILE_TEXTS.map((text) =>
    text
      .toWellFormed()
      .replaceAll(/(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/gu, '')
      .replaceAll(/\r\n?/g, '\n'),
  )
  const [cells, heads] = found.map((texts) => texts.map((text) => text.replaceAll('_x005F_', '_')))
  assert.deepEqual(cells!.slice(2), held)
  assert.deepEqual(heads, [...held, ...held])
})
