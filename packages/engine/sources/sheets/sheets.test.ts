import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import type { Dialect, FoundDialect } from '@assay/model/dialect'
import { openEngine, readTable } from '../../duckdb/duckdb.ts'
import { attachFile } from '../files/file.ts'
import { resolveFiles } from '../files/files.ts'
import { SourceError } from '../source.ts'
import { ods, rowsOf, xlsx, xlsxParts, zipOf } from './book-fixture.ts'
import { kindOfCode, kindOfId, textOfNumber } from './number-format.ts'

const home = await mkdtemp(path.join(tmpdir(), 'assay-sheets-'))
const engine = await openEngine()
after(async () => {
  engine.close()
  await rm(home, { recursive: true, force: true })
})
await mkdir(path.join(home, 'data'))
const roots = { data: path.join(home, 'data'), sample: {} }

interface Read {
  types: string[]
  rows: unknown[][]
  dialect: FoundDialect
}

/** Counts the reads. Each has a folder of its own, as each job has. */
let runs = 0

async function read(bytes: Buffer, dialect: Dialect = {}, name = 'a.xlsx', spill_bytes = 1e8): Promise<Read> {
  await writeFile(path.join(roots.data, name), bytes)
  const files = await resolveFiles(name, roots)
  const given = { name: 's', line: 1, file: name, columns: {}, dialect, roots, readers: 2, peek: false }
  const attached = await attachFile(
    engine,
    { ...given, temp_folder: path.join(home, `temp-${(runs += 1)}`), spill_bytes },
    files,
  )
  const { rows } = await readTable(engine, 'select columns(*)::varchar from s', {}, 50)
  const types = attached.columns.map((column) => `${column.name} ${column.database_type}`)
  return { types, rows, dialect: attached.lineage.dialect! }
}

async function refusal(...given: Parameters<typeof read>): Promise<string> {
  return read(...given).then(
    ({ types }) => assert.fail(`read as ${types.join(', ')}`),
    (error: unknown) => {
      assert.ok(error instanceof SourceError, String(error))
      assert.ok(!error.message.includes(home), error.message)
      return error.message
    },
  )
}

const one = (rows: string, more = {}) => xlsx({ sheets: [{ name: 'Data', rows }], ...more })

test('numbers, texts, truth values, errors and stored values of formulas are read by their cells', async () => {
  const { types, rows, dialect } = await read(
    one(
      rowsOf([['n', 'whole', 'word', 'ok', 'rate', 'sum']]) +
        '<row r="2"><c r="A2"><v>1.234</v></c><c r="B2"><v>7</v></c><c r="C2" t="s"><v>0</v></c><c r="D2" t="b"><v>1</v></c><c r="E2" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="F2"><f>A2*2</f><v>2.4680000000000001</v></c></row>' +
        '<row r="3"><c r="A3"><v>273998.63000000001</v></c><c r="C3" t="s"><v>1</v></c><c r="D3" t="b"><v>0</v></c><c r="E3"><v>0.5</v></c><c r="F3" t="str"><f>""</f><v></v></c></row>',
      {
        texts: [
          '<t>a, "b"</t>',
          '<r><t>two</t></r><r><t xml:space="preserve"> parts_x000A_</t></r><rPh sb="0" eb="1"><t>no</t></rPh>',
        ],
      },
    ),
  )
  assert.deepEqual(types, [
    'n DOUBLE',
    'whole BIGINT',
    'word VARCHAR',
    'ok BOOLEAN',
    'rate DOUBLE',
    'sum DOUBLE',
  ])
  assert.deepEqual(rows, [
    ['1.234', '7', 'a, "b"', 'true', null, '2.468'],
    ['273998.63', null, 'two parts\n', 'false', '0.5', null],
  ])
  assert.deepEqual(dialect.columns, [{ name: 'rate', missing: [{ mark: '#DIV/0!', n: 1 }] }])
  assert.deepEqual(dialect.sheet, { is: 'Data', sure: 'settled', others: [], hidden: [] })
})

test('a formula without a stored value is refused by its cell', async () => {
  const rows = rowsOf([['a', 'b']]) + '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><f>A2*2</f></c></row>'
  assert.equal(
    await refusal(one(rows)),
    '"a.xlsx" cannot be read: the formula in "Data"!B2 has no stored value: open the workbook in a spreadsheet program and save it.',
  )
  assert.deepEqual((await read(one(rows), { range: 'A:A' })).rows, [['1']])
})

test('numbers in formats of dates are dates, in the systems of 1900 and of 1904', async () => {
  const cells =
    '<row r="2"><c r="A2" s="1"><v>45292</v></c><c r="B2" s="2"><v>0.75</v></c><c r="C2" s="3"><v>45292.5</v></c><c r="D2" s="4"><v>1.25</v></c><c r="E2" t="d"><v>2024-02-01T00:00:00</v></c></row>'
  const book = { formats: [14, 'h:mm AM/PM', 'dd/mm/yyyy\\ hh:mm', '[h]:mm:ss'] }
  const head = rowsOf([['day', 'at', 'moment', 'took', 'iso']])
  const found = await read(one(head + cells, book))
  assert.deepEqual(found.types, ['day DATE', 'at TIME', 'moment TIMESTAMP', 'took VARCHAR', 'iso DATE'])
  assert.deepEqual(found.rows, [['2024-01-01', '18:00:00', '2024-01-01 12:00:00', '30:00:00', '2024-02-01']])
  const from1904 = await read(one(head + cells, { ...book, from1904: true }))
  assert.deepEqual(from1904.rows[0]!.slice(0, 3), ['2028-01-02', '18:00:00', '2028-01-02 12:00:00'])
})

test('days of 1900 count as Excel counts them, and kinds follow the codes of formats', () => {
  // These are Excel's own examples: 1 is 1 January 1900, 60 is the day that did not exist, 61 is 1 March 1900, 39448
  // is 1 January 2008.
  for (const [serial, day] of [
    [1, '1900-01-01'],
    [59, '1900-02-28'],
    [60, '1900-02-29'],
    [61, '1900-03-01'],
    [39448, '2008-01-01'],
    [2958465, '9999-12-31'],
  ] as const)
    assert.equal(textOfNumber(serial, 'date', false), day)
  assert.equal(textOfNumber(0, 'date', true), '1904-01-01')
  assert.equal(textOfNumber(45292.5, 'date', false), '2024-01-01 12:00:00', 'a time behind a date is kept')
  assert.equal(textOfNumber(45292.00001157407, 'date_time', false), '2024-01-01 00:00:01')
  assert.equal(textOfNumber(-3, 'date', false), '-3')
  assert.equal(textOfNumber(1.234, 'number', false), '1.2340')
  for (const [code, kind] of [
    ['General', 'number'],
    ['0.00%', 'number'],
    ['#,##0 "days"', 'number'],
    ['[Red]-#,##0;[Blue]d', 'number'],
    ['[$-409]d\\-mmm\\-yy;@', 'date'],
    ['mmm', 'date'],
    ['yyyy"-"mm"-"dd\\Thh:mm', 'date_time'],
    ['mm:ss.0', 'time'],
    ['[mm]:ss', 'length'],
  ] as const)
    assert.equal(kindOfCode(code), kind, code)
  assert.deepEqual([14, 20, 22, 46, 4].map(kindOfId), ['date', 'time', 'date_time', 'length', 'number'])
})

test('dates that are texts follow the rules of all texts', async () => {
  const { types, dialect } = await read(
    one(
      rowsOf([
        ['due', 'n'],
        ['01/02/2023', 1],
        ['03/02/2023', 2],
      ]),
    ),
  )
  assert.deepEqual(types, ['due VARCHAR', 'n BIGINT'])
  assert.equal(dialect.columns[0]!.doubt?.kind, 'two_readings')
  const declared = await read(
    one(
      rowsOf([
        ['due', 'n'],
        ['01/02/2023', 1],
      ]),
    ),
    { dates: 'dmy' },
  )
  assert.deepEqual(declared.rows, [['2023-02-01', '1']])
})

test('titles, empty rows and empty columns around a table are passed over, and ranges choose cells', async () => {
  const rows = rowsOf([
    ['Sales report'],
    [],
    [null, 'day', 'n', null, 'note'],
    [null, 'mon', 1, null, 'x'],
    [],
    [null, 'tue', 2],
  ])
  const { types, rows: found, dialect } = await read(one(rows))
  assert.deepEqual(types, ['day VARCHAR', 'n BIGINT', 'column2 VARCHAR', 'note VARCHAR'])
  assert.deepEqual(found, [
    ['mon', '1', null, 'x'],
    ['tue', '2', null, null],
  ])
  assert.equal(dialect.skipped, 2)
  for (const range of ['B3:C6', 'B3:C', '$B$3:$C$6'])
    assert.deepEqual((await read(one(rows), { range })).rows, [
      ['mon', '1'],
      ['tue', '2'],
    ])
  assert.match(
    await refusal(one(rows), { range: 'B6:A1' }),
    /"B6:A1" is not a range of cells: write it as B3:F20/,
  )
  assert.match(await refusal(one(rows), { range: 'H1:J9' }), /its sheet "Data" is empty/)
})

test('rows that leave the table are told, not cut', async () => {
  const many = Array.from({ length: 300 }, (_, at) => [null, 'a', at])
  const stray = rowsOf([[null, 'k', 'n'], ...many, [null, 'a', 1, 'stray']])
  assert.match(await refusal(one(stray)), /line 302 has more than 2 values: "a,1,stray"/)
  assert.equal((await read(one(stray), { bad_rows: 'skip' })).dialect.bad_rows, 1)
  const left = rowsOf([[null, 'k', 'n'], ...many, ['stray', 'a', 1]])
  assert.match(
    await refusal(one(left)),
    /row 302 .* begins left of the table, which begins in column B: write the "range"/,
  )
})

test('names under merged cells are joined, and merged labels fill down while merged numbers do not', async () => {
  const rows = rowsOf([
    ['region', '2023', null, '2024', null],
    [null, 'north', 'south', 'north', 'south'],
    ['a', 1, 2, 3, 4],
    [null, 5, 6, null, 8],
  ])
  const below =
    '<mergeCells count="5"><mergeCell ref="A1:A2"/><mergeCell ref="B1:C1"/><mergeCell ref="D1:E1"/><mergeCell ref="A3:A4"/><mergeCell ref="D3:D4"/></mergeCells>'
  const found = await read(xlsx({ sheets: [{ name: 'Data', rows, below }] }))
  assert.deepEqual(
    found.types.map((type) => type.replace(/ [A-Z]+$/, '')),
    ['region', '2023 north', '2023 south', '2024 north', '2024 south'],
  )
  assert.deepEqual(found.rows, [
    ['a', '1', '2', '3', '4'],
    ['a', '5', '6', null, '8'],
  ])
  assert.deepEqual([found.dialect.sheet!.joined, found.dialect.sheet!.filled], [2, 1])
  // A wide name above data is a name in a single row.
  const plain = await read(
    xlsx({
      sheets: [
        {
          name: 'Data',
          rows: rowsOf([
            ['name', null, 'n'],
            ['Ada', 'Byron', 1],
            ['Alan', 'Turing', 2],
          ]),
          below: '<mergeCells><mergeCell ref="A1:B1"/></mergeCells>',
        },
      ],
    }),
  )
  assert.deepEqual(plain.rows, [
    ['Ada', 'Byron', '1'],
    ['Alan', 'Turing', '2'],
  ])
})

test('a row of totals below a sheet is refused, whether the workbook has more bytes than its text or fewer', async () => {
  const sizes = { few: 10, many: 30_000 }
  for (const [size, n] of Object.entries(sizes)) {
    const above = Array.from({ length: n }, (_, at) => [`row ${at}`, at + 1])
    const book = one(rowsOf([['name', 'n'], ...above, ['Total', (n * (n + 1)) / 2]]))
    assert.match(await refusal(book), /seems to hold the totals.*"totals: skip"/, size)
    await read(book, { totals: 'skip' })
    const { rows } = await readTable(engine, 'select count(*)::int, sum(n)::int from s', {}, 1)
    assert.deepEqual(rows, [[n, (n * (n + 1)) / 2]], size)
  }
})

test('the first sheet that is not hidden is read, and the others are told', async () => {
  const sheet = (name: string, n: number, state?: string) => ({
    name,
    rows: rowsOf([
      ['n', 'm'],
      [n, n],
    ]),
    ...(state === undefined ? {} : { state }),
  })
  const book = xlsx({
    sheets: [sheet('Old', 1, 'hidden'), sheet('Now', 2), sheet('R&amp;D', 3), sheet('x', 4, 'veryHidden')],
  })
  const found = await read(book)
  assert.deepEqual(found.rows, [['2', '2']])
  assert.deepEqual(found.dialect.sheet, { is: 'Now', sure: 'likely', others: ['R&D'], hidden: ['Old', 'x'] })
  assert.deepEqual((await read(book, { sheet: 'r&d' })).rows, [['3', '3']])
  assert.deepEqual((await read(book, { sheet: 'Old' })).rows, [['1', '1']])
  assert.match(await refusal(book, { sheet: 'Nou' }), /it has no sheet "Nou"\. .*"?Now"?/)
  assert.match(
    await refusal(book, { separator: ';' }),
    /"separator" is for tables in text, and the file is \.xlsx\. Leave it out/,
  )
})

test('workbooks of other programs are read: prefixed elements, cells without places, parts elsewhere', async () => {
  const book = {
    sheets: [
      {
        name: 'S',
        rows: '<row><c t="inlineStr"><is><t>a</t></is></c><c t="inlineStr"><is><t>b</t></is></c></row><row><c><v>1</v></c><c><v>2</v></c></row>',
      },
    ],
  }
  assert.deepEqual((await read(xlsx({ ...book, prefix: 'x' }))).rows, [['1', '2']])
  const { 'xl/worksheets/sheet1.xml': part = '', ...parts } = xlsxParts(book)
  parts['xl/_rels/workbook.xml.rels'] = parts['xl/_rels/workbook.xml.rels']!.replace(
    'worksheets/sheet1.xml',
    '/other/my%20part.xml',
  )
  assert.deepEqual((await read(zipOf({ ...parts, 'other/my part.xml': part }))).rows, [['1', '2']])
})

test('OpenDocument sheets give values, repeated and covered cells, dates, errors and hidden sheets', async () => {
  const cell = (type: string, value: string, shown: string, more = '') =>
    `<table:table-cell office:value-type="${type}" ${value}${more}><text:p>${shown}</text:p></table:table-cell>`
  const text = (shown: string, more = '') => cell('string', '', shown, more)
  const tables = `<table:table table:name="Hidden" table:style-name="ta2"><table:table-row>${text('x')}</table:table-row></table:table>
    <table:table table:name="Data" table:style-name="ta1">
    <table:table-header-rows><table:table-row>${['kind', 'n', 'day', 'at', 'ok', 'rate', 'share'].map((name) => text(name)).join('')}</table:table-row></table:table-header-rows>
    <table:table-row table:number-rows-repeated="2"><table:table-cell table:number-rows-spanned="2" office:value-type="string"><office:annotation><text:p>a note</text:p></office:annotation><text:p>a<text:s text:c="2"/>b</text:p><text:p>c</text:p></table:table-cell>${cell('float', 'office:value="1234.5"', '1.234,50')}${cell('date', 'office:date-value="2024-01-31"', '31.01.24')}${cell('time', 'office:time-value="PT08H30M00S"', '08:30')}${cell('boolean', 'office:boolean-value="true"', 'WAHR')}${cell('string', 'office:string-value=""', '#N/A', ' calcext:value-type="error"')}${cell('percentage', 'office:value="0.25"', '25 %')}</table:table-row>
    <table:table-row><table:covered-table-cell/>${cell('currency', 'office:value="2"', '2 €')}<table:table-cell table:number-columns-repeated="3"/>${cell('float', 'office:value="0.5"', '0,5')}</table:table-row>
    <table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="1024"/></table:table-row></table:table>`
  const styles =
    '<style:style style:name="ta2" style:family="table"><style:table-properties table:display="false"/></style:style>'
  const { types, rows, dialect } = await read(ods(tables, styles), {}, 'a.ods')
  assert.deepEqual(types, [
    'kind VARCHAR',
    'n DOUBLE',
    'day DATE',
    'at TIME',
    'ok BOOLEAN',
    'rate DOUBLE',
    'share DOUBLE',
  ])
  const whole = ['a  b\nc', '1234.5', '2024-01-31', '08:30:00', 'true', null, '0.25']
  assert.deepEqual(rows, [whole, whole, [null, '2.0', null, null, null, '0.5', null]])
  assert.deepEqual(dialect.sheet, { is: 'Data', sure: 'settled', others: [], hidden: ['Hidden'] })
})

test('a column that an OpenDocument sheet repeats without end moves what follows out of the table, and costs nothing', async () => {
  const cell = (shown: string): string =>
    `<table:table-cell office:value-type="string"><text:p>${shown}</text:p></table:table-cell>`
  const row = (first: string): string =>
    `<table:table-row>${cell(first)}<table:table-cell table:number-columns-repeated="2000000000"/>${cell('lost')}</table:table-row>`
  const tables = `<table:table table:name="a">${row('name')}${row('x')}${row('y')}</table:table>`
  assert.deepEqual((await read(ods(tables), {}, 'a.ods')).rows, [['x'], ['y']])
})

test('bombs, lies and torn files end with a reason', async () => {
  const rows = `<row r="1"><c r="A1" t="inlineStr"><is><t>${' '.repeat(30_000_000)}</t></is></c></row>`
  assert.match(
    await refusal(one(rows)),
    /more than 250 times as large when it is unpacked, and more than 10000000 bytes: save it as CSV/,
  )
  assert.match(
    await refusal(one(rowsOf([['a'], [1]])), {}, 'a.xlsx', 100),
    /larger than 100 bytes when it is unpacked/,
  )
  const parts = xlsxParts({
    sheets: [
      {
        name: 'S',
        rows: rowsOf([
          ['a', 'b'],
          [1, 2],
        ]),
      },
    ],
  })
  assert.match(await refusal(zipOf(parts, 40)), /it is not a whole workbook/)
  const whole = zipOf(parts)
  assert.match(await refusal(whole.subarray(0, whole.length - 40)), /it is not a whole workbook/)
  assert.match(await refusal(zipOf({ 'word/document.xml': '<a/>' })), /it is not an \.xlsx workbook/)
  const torn = { ...parts, 'xl/worksheets/sheet1.xml': '<worksheet><sheetData><row>' }
  assert.match(await refusal(zipOf(torn)), /it is not a whole workbook/)
  const entity =
    '<!DOCTYPE a [<!ENTITY b "c">]><worksheet><sheetData><row r="1"><c r="A1" t="str"><v>&b;</v></c></row></sheetData></worksheet>'
  assert.match(await refusal(zipOf({ ...parts, 'xl/worksheets/sheet1.xml': entity })), /undefined entity/)
  const deep = `<worksheet><sheetData>${'<a>'.repeat(2000)}`
  assert.match(
    await refusal(zipOf({ ...parts, 'xl/worksheets/sheet1.xml': deep })),
    /more than 1000 elements within/,
  )
  const sheet = (text: string, rows: number, cells: number) =>
    ods(`<table:table table:name="a"><table:table-row table:number-rows-repeated="${rows}">
      <table:table-cell table:number-columns-repeated="${cells}"><text:p>${text}</text:p></table:table-cell>
    </table:table-row></table:table>`)
  for (const bomb of [sheet('x'.repeat(10_000), 1, 2_000_000_000), sheet('x'.repeat(200), 2_000_000_000, 1)])
    assert.match(
      await refusal(bomb, {}, 'a.ods'),
      /its repeated cells have more than 100000000 characters together/,
    )
  const many = Array.from({ length: 1001 }, (_, at) => ({ name: `S${at}`, rows: '' }))
  assert.match(await refusal(xlsx({ sheets: many })), /it has more than 1000 sheets/)
  const long = rowsOf([['a', 'b'], ...Array.from({ length: 3000 }, (_, at) => [at, 'text'])])
  assert.match(
    await refusal(one(long), {}, 'a.xlsx', 20_000),
    /larger than 20000 bytes|more than 20000 bytes as text/,
  )
})
