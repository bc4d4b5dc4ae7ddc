import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import type { Dialect } from '@assay/model/dialect'
import { columnOf, type Declared, read, refusal, roots } from './polluted/read-fixture.ts'
import { pollutedResults, rowOf } from './polluted/results-fixture.ts'

test('dates that one value settles are read in that order, whatever the month', async () => {
  const us = await read('day,n\n10/1/2016,1\n9/30/2017,2\n')
  assert.deepEqual(us.types, ['day DATE', 'n BIGINT'])
  assert.deepEqual(us.rows, [
    ['2016-10-01', 1],
    ['2017-09-30', 2],
  ])
  assert.deepEqual(columnOf(us, 'day')?.dates, { is: 'mdy', sure: 'settled' })
  const german = await read('day\n01.02.2023\n13.02.2023\n')
  assert.deepEqual(german.rows, [['2023-02-01'], ['2023-02-13']])
  const clock = await read('at\n10/1/2016 3:05\n9/30/2017 13:05\n')
  assert.deepEqual(clock.rows, [['2016-10-01T03:05:00'], ['2017-09-30T13:05:00']])
  const noon = await read('at\n12/31/2016 3:05 PM\n')
  assert.deepEqual(noon.rows, [['2016-12-31T15:05:00']])
  const short = await read('at\n25/12/99\n')
  assert.deepEqual(short.rows, [['1999-12-25']])
})

test('dates and numbers of two readings stay text, with both readings and the lines that settle them', async () => {
  const dates = await read('day\n01/02/2023\n03/02/2023\n')
  assert.deepEqual(dates.types, ['day VARCHAR'])
  assert.equal(
    columnOf(dates, 'day')?.doubt?.says,
    'Every date fits two readings (day first or month first): "01/02/2023" is 1 February 2023 (write dates: dmy), or 2 January 2023 (write dates: mdy).',
  )
  const numbers = await read('a;x\n1;1.234\n2;5.678\n')
  assert.deepEqual(numbers.types, ['a BIGINT', 'x VARCHAR'])
  assert.equal(
    columnOf(numbers, 'x')?.doubt?.says,
    'Every number fits two readings (a decimal mark or thousands): "1.234" is 1.234 (write decimal: "."), or 1,234 (write decimal: ",").',
  )
  assert.deepEqual((await read('x\n1.234\n', { dialect: { decimal: '.' } })).rows, [[1.234]])
  assert.deepEqual((await read('x\n1.234\n', { dialect: { decimal: ',' } })).rows, [[1234]])
  assert.deepEqual((await read('d\n01/02/2023\n', { dialect: { dates: 'dmy' } })).rows, [['2023-02-01']])
  assert.deepEqual((await read('d\n01/02/2023\n', { columns: { d: 'date' } })).types, ['d VARCHAR'])
  const own = { columns: { d: { dates: 'mdy' }, e: { dates: '%d %b %Y' } } }
  assert.deepEqual((await read('d,e\n01/02/2023,4 Mar 2021\n', { dialect: own })).rows, [
    ['2023-01-02', '2021-03-04'],
  ])
  assert.deepEqual((await read('day\n05/05/2023\n')).rows, [['2023-05-05']], 'both readings are one day')
})

test('a form of dates that is declared for the whole source is that of columns that hold such dates alone', async () => {
  const text = 'd,region,n\n13 Feb 2024,north,4\n14 Feb 2024,south,5\n'
  const form = '%d %b %Y'
  const { types } = await read(text, { dialect: { dates: form } })
  assert.deepEqual(types, ['d DATE', 'region VARCHAR', 'n BIGINT'])
  assert.match(
    await refusal(`${text}soon,east,6\n`, { dialect: { dates: form } }),
    /column "d": "soon" does not fit/,
  )
  assert.match(
    await refusal(text, { dialect: { columns: { region: { dates: form } } } }),
    /"north" does not fit/,
  )
})

test('marks of decimals and thousands are those that the values allow', async () => {
  const rows = async (text: string): Promise<unknown[]> => (await read(text)).rows.map(([value]) => value)
  assert.deepEqual(await rows('x;y\n1.234,5;a\n2;b\n'), [1234.5, 2])
  assert.deepEqual(await rows('x,y\n"5,350,380",a\n"12,000",b\n'), [5350380, 12000])
  assert.deepEqual(await rows("x\n1'234.5\n2\n"), [1234.5, 2])
  assert.deepEqual(await rows('x;y\n1 234,5;a\n2;b\n'), [1234.5, 2])
  assert.deepEqual(
    await rows('x,y\n1.234,1.5\n5.678,2.25\n'),
    [1.234, 5.678],
    'another column settles the mark',
  )
  assert.deepEqual(await rows('x\n0.123\n0.456\n'), [0.123, 0.456])
  assert.deepEqual(await rows('x\n007\n8\n'), ['007', '8'])
  assert.deepEqual(await rows('x\n12345678901234567890\n1\n'), ['12345678901234567890', 1])
  const contrary = columnOf(await read('x;y\n1,5;a\n2.5;b\n3;c\n'), 'x')?.doubt
  assert.match(contrary?.says ?? '', /^No one decimal mark, .* fits all of its numbers, so they stay text\./)
  const plain = columnOf(await read('x;y\n1,5;1\n2,25;2\n'), 'x')
  assert.deepEqual(plain, { name: 'x', decimal: { is: ',', sure: 'settled' } }, 'no value has thousands')
  const large = columnOf(await read('x;y\n1.234,5;1\n2,25;2\n'), 'x')
  assert.deepEqual(large?.thousands, { is: '.', sure: 'settled' })
})

test('a doubt of a long column shows a value of it as it is written, whatever digits its values have', async () => {
  const long = await read(`x,t\n${'2.125,a\n'.repeat(3_000)}`)
  assert.equal(columnOf(long, 'x')?.doubt?.sample, '2.125')
  const mixed = await read(`x\n${'25\n'.repeat(3_000)}12 boxes\n`)
  assert.match(columnOf(mixed, 'x')!.doubt!.says, /such as "12 boxes"/)
})

test('missing marks count as missing among numbers and dates, and are counted; in texts they stay', async () => {
  const found = await read('n,d,t\nNA,null,NA\n5,2024-01-05,DE\n-,#N/A,null\n')
  assert.deepEqual(found.types, ['n BIGINT', 'd DATE', 't VARCHAR'])
  assert.deepEqual(found.rows, [
    [null, null, 'NA'],
    [5, '2024-01-05', 'DE'],
    [null, null, 'null'],
  ])
  assert.deepEqual(columnOf(found, 'n')?.missing, [
    { mark: 'NA', n: 1 },
    { mark: '-', n: 1 },
  ])
  const declared = await read('n,t\nunknown,unknown\n5,x\n', { dialect: { missing: ['unknown'] } })
  assert.deepEqual(declared.rows, [
    [null, null],
    [5, 'x'],
  ])
  const almost = await read(`n\n${'7\n'.repeat(99)}unknown\n`)
  assert.match(
    columnOf(almost, 'n')!.doubt!.says,
    /99 of 100 values are numbers.* write missing: \[unknown\] below the column/,
  )
  const marked = await read(`n\nNA\n${'7\n'.repeat(99)}see note\n`)
  const line = { as: 'a missing value', write: 'missing: [NA, see note]' }
  assert.deepEqual(columnOf(marked, 'n')!.doubt!.readings, [line])
  const zero = await read('day\n2023-01-02\n0000-00-00\n')
  assert.deepEqual(zero.rows, [['2023-01-02'], [null]])
})

test('a value far below the sample changes the reading of its whole column and is never rounded', async () => {
  const body = Array.from(
    { length: 30_000 },
    (_, row) => `${row + 1},0${1 + (row % 9)}/0${1 + (row % 8)}/2023`,
  )
  const typesOf = async (last: string): Promise<string[]> =>
    (await read(`n,d\n${body.join('\n')}\n${last}\n`)).types
  assert.deepEqual(await typesOf('1,01/01/2023'), ['n BIGINT', 'd VARCHAR'])
  assert.deepEqual(await typesOf('1.5,25/12/2023'), ['n DOUBLE', 'd DATE'])
  assert.deepEqual(await typesOf('4000000000.5,25/12/2023'), ['n DOUBLE', 'd DATE'])
  assert.deepEqual(await typesOf('4000000000,25/12/2023'), ['n BIGINT', 'd DATE'])
  assert.deepEqual(await typesOf('007,12/25/2023'), ['n VARCHAR', 'd DATE'])
  assert.deepEqual(await typesOf('NA,yesterday'), ['n BIGINT', 'd VARCHAR'])
})

test('late values of many columns change the reading of each column by its own values', async () => {
  const width = 130
  const row = (value: (column: number) => string): string =>
    Array.from({ length: width }, (_, column) => value(column)).join(',')
  const body = Array.from({ length: 2_100 }, (_, at) => row((column) => String((at + column) % 9)))
  const last = row((column) => ['NA', '1.5', '7'][column % 3]!)
  const found = await read([row((column) => `c${column}`), ...body, last].join('\n'))
  assert.deepEqual(
    found.types,
    Array.from({ length: width }, (_, column) => `c${column} ${column % 3 === 1 ? 'DOUBLE' : 'BIGINT'}`),
  )
  for (const column of [0, 63, 64, 127, 128, 129])
    assert.deepEqual(
      columnOf(found, `c${column}`)?.missing,
      column % 3 === 0 ? [{ mark: 'NA', n: 1 }] : undefined,
    )
})

test('a table of very many columns is read in slices whose rows stay together', async () => {
  const columns = 2_100
  const value = (row: number, column: number): string => {
    if (column % 3 === 1) return `text ${row} ${column}`
    if (row === 290 && column === 1_500) return '0.25'
    if (row === 250 && column === 2_001) return '007'
    return String(row * 10_000 + column)
  }
  const rows = Array.from({ length: 300 }, (_, row) =>
    Array.from({ length: columns }, (_, column) => value(row, column)).join(','),
  )
  const text = [Array.from({ length: columns }, (_, column) => `c${column}`).join(','), ...rows].join('\n')
  const { types, rows: first, total } = await read(text)
  assert.equal(total, 300)
  assert.equal(types.length, columns)
  assert.deepEqual(
    [0, 1, 1_002, 1_500, 1_503, 2_001, 2_099].map((column) => types[column]),
    [
      'c0 BIGINT',
      'c1 VARCHAR',
      'c1002 BIGINT',
      'c1500 DOUBLE',
      'c1503 BIGINT',
      'c2001 VARCHAR',
      'c2099 BIGINT',
    ],
  )
  for (const [row, values] of first.entries())
    assert.deepEqual(
      values.map(String),
      Array.from({ length: columns }, (_, column) => value(row, column)),
    )
})

test('slices of a table with bad rows leave out the same rows, whatever marks its columns have', async () => {
  const line = (of: (column: number) => number | string): string =>
    Array.from({ length: 1_010 }, (_, column) => of(column)).join(',')
  const rows = [line((at) => at), '1,2,3', line(() => 'NA'), '4', line((at) => at + 0.5)]
  const text = [line((at) => `c${at}`), ...rows].join('\n')
  const { total, dialect, types, rows: left } = await read(text, { dialect: { bad_rows: 'skip' } })
  assert.deepEqual([total, dialect.bad_rows, types.at(-1)], [3, 2, 'c1009 DOUBLE'])
  assert.deepEqual(
    left.map((row) => [row[0], row[1_009]]),
    [
      [0, 1_009],
      [null, null],
      [0.5, 1_009.5],
    ],
  )
})

test('encodings and packings are found', async () => {
  const text = 'name;n\nZoë;1\n'
  const utf16 = Buffer.from(`\uFEFF${text}`, 'utf16le')
  for (const [bytes, encoding, name] of [
    [Buffer.from(text), 'utf-8', 'a.csv'],
    [Buffer.from(`\uFEFF${text}`), 'utf-8', 'a.csv'],
    [Buffer.from(text, 'latin1'), 'windows-1252', 'a.csv'],
    [utf16, 'utf-16le', 'a.csv'],
    [Buffer.from(utf16).swap16(), 'utf-16be', 'a.csv'],
    [gzipSync(Buffer.from(text, 'latin1')), 'windows-1252', 'b.csv.gz'],
    [zstdCompressSync(text), 'utf-8', 'b.csv.zst'],
    [zstdCompressSync(text.replaceAll(';', '\t')), 'utf-8', 'b.tsv.zst'],
  ] as const) {
    const found = await read(bytes, { name })
    assert.equal(found.dialect.encoding!.is, encoding)
    assert.deepEqual([found.types, found.rows], [['name VARCHAR', 'n BIGINT'], [['Zoë', 1]]], encoding)
  }
  const late = Buffer.from(`name,n\n${'abc,1\n'.repeat(60_000)}Zo\u00eb,2\n`, 'latin1')
  assert.equal((await read(late)).dialect.encoding!.is, 'windows-1252')
  const polish = await read(Buffer.from([0x61, 0x0a, 0xb1, 0x0a]), { dialect: { encoding: 'iso-8859-2' } })
  assert.deepEqual(polish.rows, [['ą']])
  assert.match(
    await refusal('a\n1\n', { dialect: { encoding: 'ebcdic' } }),
    /no encoding "ebcdic": write a name/,
  )
})

test('lines that end in several ways are read, wherever another end stands, and values in quotes keep their lines', async () => {
  const rows = async (text: string, dialect: Dialect = {}) => (await read(text, { dialect })).rows
  const three = [
    [1, 'x'],
    [3, 'y'],
    [5, 'z'],
  ]
  for (const ends of ['\r\n \n \r\n', '\n \r\n \n', '\r \n \r', '\r\n \r \n']) {
    const [a, b, c] = ends.split(' ')
    assert.deepEqual(await rows(`n,t${a}1,x${b}3,y${c}5,z${a}`), three, JSON.stringify(ends))
  }
  assert.deepEqual(await rows('n,t\r\n1,"x\r\ny"\n3,z\r\n'), [
    [1, 'x\ny'],
    [3, 'z'],
  ])
  assert.deepEqual(await rows('n,t\r\n1,x\n2,y,more\r\n3,y\n5,z\r\n', { bad_rows: 'skip' }), three)
  const far = await read(`n,t\n${'1,x\n'.repeat(30_000)}${'2,y\r\n'.repeat(3)}`)
  assert.equal(far.total, 30_003)
})

test('separators, quotes, titles and missing headers are found', async () => {
  const shape = async (text: string, given: Declared = {}) => {
    const { types, rows, dialect } = await read(text, given)
    return [dialect.separator!.is, dialect.quote!.is, dialect.header.is, dialect.skipped, types, rows]
  }
  const plain = (separator: string, quote = '"') => [
    separator,
    quote,
    true,
    0,
    ['a BIGINT', 'b VARCHAR'],
    [
      [1, 'x y'],
      [2, 'z'],
    ],
  ]
  for (const separator of [',', ';', '\t', '|', '~', '^'])
    assert.deepEqual(await shape(`a${separator}b\n1${separator}x y\n2${separator}z\n`), plain(separator))
  assert.deepEqual(await shape("a|b\n1|'x y'\n2|'z'\n"), plain('|', "'"))
  assert.deepEqual((await shape('Sales of 2023\n\nregion,n\nnorth,1\nsouth,2\n')).slice(2, 5), [
    true,
    2,
    ['region VARCHAR', 'n BIGINT'],
  ])
  assert.deepEqual((await shape('Alice,30\nBob,25\n')).slice(2, 5), [
    false,
    0,
    ['column0 VARCHAR', 'column1 BIGINT'],
  ])
  assert.deepEqual((await shape('1,2\n3,4\n', { dialect: { header: false } })).at(-1), [
    [1, 2],
    [3, 4],
  ])
  assert.match(await refusal('1,2\n3,4\n'), /holds numbers only\. If it holds values write "header: false"/)
  assert.deepEqual((await shape('x\ny z\na,b\n1,2\n', { dialect: { skip: 2 } })).slice(2, 5), [
    true,
    2,
    ['a BIGINT', 'b BIGINT'],
  ])
})

test('a bad row is reported with its line, column and text, or left out and counted', async () => {
  const text = 'a,b\n1,2\n3,4,5\n6,7\n8\n'
  assert.equal(
    await refusal(text),
    '"a.csv" cannot be read: line 3, column 5 has more than 2 values: "3,4,5". Correct it, or write "bad_rows: skip" in the source to leave such rows out and count them.',
  )
  const { rows, dialect } = await read(text, { dialect: { bad_rows: 'skip' } })
  assert.deepEqual(rows, [
    [1, 2],
    [6, 7],
  ])
  assert.equal(dialect.bad_rows, 2)
  const breaks = 'a;b\r\n1;"x\r\n""y"";\r\n"\r\n\r\n2;"z\n"\r\n3;4;5\r\n'
  assert.match(
    await refusal(breaks),
    /^"a\.csv" cannot be read: line 8, column 5 has more than 2 values: "3;4;5"/,
  )
  await writeFile(path.join(roots.data, 'wide1.csv'), 'a;b\n1;x\n')
  assert.match(
    await refusal(breaks, { name: 'wide2.csv' }),
    /cannot be read: in "wide2\.csv", line 8, column 5 has/,
  )
  assert.match(await refusal('a,b\n1,2\n3\n4,5\n'), /line 3, column 2 has 1 value where 2 are expected: "3"/)
  assert.match(await refusal('a,b\n1,"x\n2,y\n'), /line 2, column 3: a quote is not closed/)
  assert.match(await refusal('"a"x,b\n1,2\n'), /line 1, column 1: a quote is not closed, or text follows/)
  assert.match(
    await refusal('a,b\n1,2\nx,3\n', { columns: { a: 'integer' } }),
    /line 3, column "a": "x" is not of the type INTEGER/,
  )
  assert.match(
    await refusal('day\n01/02/2023\n', { dialect: { columns: { day: { dates: '%Y-%m' } } } }),
    /cannot be read: column "day": "01\/02\/2023" does not fit the way in which the column is read\./,
  )
  assert.match(await refusal('a\n1\n', { columns: { b: 'integer' } }), /names "b", which it does not have/)
})

test('an empty value too many moves no other value, however far below it stands', async () => {
  const rows = Array.from({ length: 3_000 }, (_, row) => `r${row},${row},\n`).join('')
  assert.match(
    await refusal('id,n,note\na,1,\nb,,2,\n'),
    /line 3 has 4 values where 3 are expected, and the last is empty: "b \|  \| 2 \| "\. Correct it, or write "bad_rows: skip"/,
  )
  assert.match(
    await refusal(`id,n,note\n${rows}late,,7,\n`),
    /1 of its 3001 rows have 4 values where 3 are expected, and the last is empty; one begins with "late"/,
  )
  assert.equal((await read(`id,n,note\n${rows}`)).total, 3_000)
  assert.match(await refusal(`id,n\n${rows}`), /each row has 3 values, of which the last is empty/)
  const { types, total } = await read(`id,n\n${rows}`, { dialect: { header: true } })
  assert.deepEqual([types, total], [['id VARCHAR', 'n BIGINT'], 3_000])
})

test('rows with an empty value too many are left out and counted as other bad rows are', async () => {
  const skip: Dialect = { bad_rows: 'skip' }
  const text = 'id,n,note\r\na,,1,\r\n"b\r\n,""",2,x\r\nc,3,""\r\nd,,"4",""\r\n5\r\ne,,6,'
  const left = await read(text, { dialect: skip })
  assert.deepEqual(left.rows, [
    ['b\r\n,"', 2, 'x'],
    ['c', 3, null],
  ])
  assert.equal(left.dialect.bad_rows, 4)
  const rows = Array.from({ length: 3_000 }, (_, row) => `r${row},${row},\n`).join('')
  const late = await read(`id,n,note\n${rows}late,,7,\n`, { dialect: skip })
  assert.deepEqual([late.total, late.dialect.bad_rows], [3_000, 1])
  assert.match(await refusal(`id,n\n${rows}`, { dialect: skip }), /each row has 3 values/)
})

test('rows that are left out at the beginning leave the types of the others as they are', async () => {
  const skip: Dialect = { bad_rows: 'skip' }
  const first = await read('"a","b"\r\n""1","x"\r\n"2","y"\r\n"3","z"\r\n', { dialect: skip })
  assert.deepEqual([first.types, first.dialect.bad_rows], [['a BIGINT', 'b VARCHAR'], 1])
  const none = await refusal('a,b,c\n1,2\n', { dialect: skip })
  assert.match(none, /leaves out all of its 1 rows/)
})

test('a row of names with a value too many or too few is refused itself, and what is below can be read without it', async () => {
  const text = 'a,b\n1,2,x\n3,4,y\n'
  assert.match(
    await refusal(text, { dialect: { bad_rows: 'skip' } }),
    /line 1 names 2 columns, and each row has 3 values: "a \| b"\. Correct the row of names, or write "skip: 1, header: false"/,
  )
  const without = await read(text, { dialect: { skip: 1, header: false } })
  assert.deepEqual(without.types, ['column0 BIGINT', 'column1 BIGINT', 'column2 VARCHAR'])
  assert.match(await refusal('a,b\n1,x\\,y\n2,z\\,u\n'), /A backslash before a separator means nothing here/)
})

test('names in other rows than the first are refused, unless the template says that they are values', async () => {
  const units = 'day,price,weight\n,euro,kg\n2024-01-01,1.5,2\n2024-01-02,2.5,3\n'
  assert.match(
    await refusal(units),
    /line 2 holds texts above numbers or dates, .* Write "skip: 1" in the source/,
  )
  assert.deepEqual((await read(units, { dialect: { header: true } })).total, 3)
  assert.match(await refusal('a,b\n1,2\na,b\n3,4\n'), /line 3 repeats the names of the columns/)
  // One text among numbers is a value, and a text column keeps its texts.
  assert.equal((await read('town,size\nUlm,many\nBonn,1\nKiel,2\n')).total, 3)
})

/** Four lines of the table are polluted in turn. All lines are polluted by "npm run proof -- polluted". */
test('no file of the published kinds of pollution is read wrongly, and docs/files.md says what becomes of each', async () => {
  const results = await pollutedResults([0, 1, 6, 12])
  for (const { kind, wrong } of results) assert.deepEqual(wrong, [], kind)
  for (const { kind, refused, skipped, refusedTwice } of results)
    assert.equal(skipped + refusedTwice, refused, `${kind}: with skip as well`)
  const right = results.filter((one) => one.right === one.files).map(({ kind }) => kind)
  assert.equal(right.length, 29)
  assert.ok(right.includes('separated by blanks') && right.includes('lines end with CR'))
  const rest = new Map(results.map(({ kind, refused, skipped }) => [kind, `${skipped} of ${refused}`]))
  assert.equal(rest.get('a separator too few (each row and column)'), '24 of 32')
  assert.equal(rest.get('a second table with more columns'), '1 of 1')
  assert.equal(rest.get('nothing before quotes'), '1 of 1')
  const page = readFileSync(path.join(import.meta.dirname, '../../../../docs/files.md'), 'utf8')
  const told = results.filter(({ corpus, kind, files }) =>
    page.includes(`| ${corpus} | ${kind} | ${files} |`),
  )
  assert.deepEqual(results.length - told.length, 4, 'those with a file for each line')
  for (const result of told) assert.ok(page.includes(rowOf(result)), rowOf(result))
})

test('files of several shapes are read together by the names of their columns', async () => {
  await writeFile(path.join(roots.data, 'many1.csv'), 'a,b\n1,x\n')
  const { types, rows } = await read('b;a\ny;2\n', { name: 'many2.csv' })
  assert.deepEqual(types, ['a BIGINT', 'b VARCHAR'])
  assert.deepEqual(rows, [
    [1, 'x'],
    [2, 'y'],
  ])
  assert.equal(await readFile(path.join(roots.data, 'many1.csv'), 'utf8'), 'a,b\n1,x\n')
})

test('each of several files settles the order of its dates by itself, or the template does', async () => {
  await writeFile(path.join(roots.data, 'orders1.csv'), 'day,n\n13/02/2023,1\n')
  const both = await read('day,n\n01/02/2023,2\n', { name: 'orders2.csv' })
  assert.deepEqual(both.types, ['day VARCHAR', 'n BIGINT'])
  const { kind, says } = columnOf(both, 'day')!.doubt!
  assert.equal(kind, 'two_readings')
  assert.match(
    says,
    /^Other files settle .*"orders2\.csv" may come from elsewhere\. Every date fits two readings/,
  )
  const declared = await read('day,n\n01/02/2023,2\n', { name: 'orders2.csv', dialect: { dates: 'dmy' } })
  assert.deepEqual(declared.rows[1], ['2023-02-01', 2])
  assert.deepEqual((await read('day,n\n14/02/2023,2\n', { name: 'orders2.csv' })).types[0], 'day DATE')
})

test('dates in JSON are read by the same decision', async () => {
  const rows = (days: string[]): string => JSON.stringify(days.map((day, n) => ({ day, n, at: { day } })))
  const open = await read(rows(['01-02-2023', '03-02-2023']), { name: 'c.json' })
  assert.deepEqual(open.types, ['day VARCHAR', 'n BIGINT', 'at STRUCT("day" VARCHAR)'])
  const settled = await read(rows(['01-02-2023', '13-02-2023']), { name: 'c.json' })
  assert.deepEqual(
    settled.rows.map(([day]) => day),
    ['2023-02-01', '2023-02-13'],
  )
  assert.deepEqual(
    (await read(rows(['01-02-23']), { name: 'c.json', dialect: { dates: 'mdy' } })).rows[0]![0],
    '2023-01-02',
  )
  const instants = await read(rows(['2023-01-02T10:00:00Z']), { name: 'c.json' })
  assert.equal(instants.types[0], 'day TIMESTAMP')
})
