import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { read, refusal } from '../text/polluted/read-fixture.ts'

const PAGE = '<!DOCTYPE html>\n<html><body>\n<p>Sign in, please</p>\n</body></html>\n'
const TABLE = 'a,b\n1,2\n'

test('a file that is something else than its name says is refused with what it is and what to do', async () => {
  const cases: [name: string, bytes: string | Buffer, RegExp][] = [
    ['a.csv', PAGE, /it is a page of a web server \(HTML\)\. It may be a sign-in/],
    ['a.csv', `\u{feff}  <html>${PAGE}`, /a page of a web server/],
    ['a.json', PAGE, /a page of a web server/],
    ['a.xlsx', PAGE, /a page of a web server/],
    ['a.csv.gz', gzipSync(PAGE), /unpacked it is a page of a web server/],
    ['a.csv', '<?xml version="1.0"?>\n<rows/>\n', /it is XML\. Save the table as CSV/],
    ['a.csv', '%PDF-1.7\n%abc\n', /it is a PDF/],
    [
      'a.csv',
      Buffer.from('PK\x03\x04\x14\0\0\0', 'latin1'),
      /it is a zip or a workbook\. Call a workbook \.xlsx/,
    ],
    ['a.csv', Buffer.from('d0cf11e0a1b11ae1', 'hex'), /an old \.xls .*Save it as \.xlsx/],
    ['a.csv', gzipSync(TABLE), /packed by gzip\. Let its name end in \.gz/],
    ['a.csv', zstdCompressSync(TABLE), /packed by Zstandard\. Let its name end in \.zst/],
    ['a.csv', 'PAR1\x15\x04', /it is Parquet/],
    ['a.csv', '[{"a": 1}]', /it is JSON\. Let its name end in \.json/],
    ['a.json', TABLE, /it is no JSON\. If it is a table in text/],
  ]
  for (const [name, bytes, says] of cases) {
    const told = await refusal(bytes, { name })
    assert.match(told, /^"a\.[a-z.]+" cannot be read: /)
    assert.match(told, says, name)
  }
})

test('a file without a byte is refused in every format, and one beside others holds no row', async () => {
  for (const name of [
    'a.csv',
    'a.tsv',
    'a.json',
    'a.ndjson',
    'a.parquet',
    'a.xlsx',
    'a.ods',
    'a.avro',
    'a.arrow',
  ])
    assert.match(await refusal('', { name }), /it is empty/, name)
})

test('a zero byte in a table in text is reported with its place, wherever it stands', async () => {
  assert.match(await refusal('a,b\n1,\u00002\n'), /line 2, column 3 holds a zero byte, which no text has/)
  const rows = '1,2\n'.repeat(100_000)
  assert.match(
    await refusal(`a,b\n${rows}3,\u00004\n`),
    /holds a zero byte, which no text has, at byte 400007/,
  )
  const wide = await read(Buffer.from(`\u{feff}a,b\n1,2\n`, 'utf16le'))
  assert.deepEqual(wide.rows, [[1, 2]], 'UTF-16 has such bytes')
})
