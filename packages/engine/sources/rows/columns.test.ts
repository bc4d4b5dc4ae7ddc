import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { BIGINT, BLOB, DECIMAL, DuckDBBlobValue, VARCHAR } from '@duckdb/node-api'
import * as fc from 'fast-check'
import { decimalBytes, PackedColumn, ValueColumn } from './columns.ts'
import { PackedText } from './packed-text.ts'
import { printed } from './printed-rows.ts'

/**
 * Texts of around 12 bytes, of around 40 characters, and long ones, with letters of one to four bytes and halves of
 * them.
 */
const TEXTS = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom(
    '',
    'twelve bytes',
    'eleven byteé',
    'thirteen bytes',
    '\0',
    'a\0b',
    '\ud800',
    'é'.repeat(40),
    '😀',
  ),
  fc.nat(3000).map((length) => 'x'.repeat(length)),
)

/** Makes rows of several chunks, each taken from a few values, so that a case is quick to make. */
function rowsOf<T>(value: fc.Arbitrary<T>) {
  return fc
    .tuple(fc.array(fc.option(value), { minLength: 1, maxLength: 50 }), fc.nat(5000))
    .map(([some, count]) => Array.from({ length: count }, (_, row) => some[row % some.length]!))
}

test('packed texts are the texts, in every chunk and after the column was used before', async () => {
  await fc.assert(
    fc.asyncProperty(rowsOf(TEXTS), rowsOf(TEXTS), fc.boolean(), async (before, rows, asBytes) => {
      const column = new PackedText(5000)
      for (const texts of [before, rows]) {
        column.clear()
        for (const [row, text] of texts.entries()) {
          if (text === null) column.setNull(row)
          else if (asBytes) {
            const bytes = Buffer.from(`.${text}`)
            assert.ok(column.setUtf8(row, bytes, 1, bytes.length - 1))
          } else column.setText(row, text)
        }
      }
      assert.deepEqual(await printed(rows.length, [VARCHAR, column]), [
        rows.map((text) => text && Buffer.from(text).toString()),
      ])
    }),
    { numRuns: 30 },
  )
})

test('packed bytes are the bytes, whatever they are', async () => {
  await fc.assert(
    fc.asyncProperty(rowsOf(fc.uint8Array({ maxLength: 60 })), async (rows) => {
      const packed = new PackedText(5000)
      const plain = new ValueColumn()
      for (const [row, bytes] of rows.entries()) {
        if (bytes === null) packed.setNull(row)
        else packed.setBytes(row, bytes, 0, bytes.length)
        plain.set(row, bytes && new DuckDBBlobValue(bytes))
      }
      const [found, expected] = await printed(rows.length, [BLOB, packed], [BLOB, plain])
      assert.deepEqual(found, expected)
    }),
    { numRuns: 20 },
  )
})

test('bytes that are not UTF-8 are refused, or come as U+FFFD', async () => {
  const column = new PackedText(3)
  const bytes = Buffer.from('long enough to lie elsewhere \xff', 'latin1')
  assert.equal(column.setUtf8(0, bytes, 0, bytes.length), false)
  column.setDecoded(0, bytes, 0, bytes.length)
  column.setDecoded(1, bytes, bytes.length - 1, 1)
  column.setDecoded(2, bytes, 0, 4)
  assert.deepEqual(await printed(3, [VARCHAR, column]), [[bytes.toString('utf8'), '\ufffd', 'long']])
})

test('whole numbers of every width come as they are, as numbers and as bigints', async () => {
  await fc.assert(
    fc.asyncProperty(rowsOf(fc.maxSafeInteger()), async (rows) => {
      const numbers = new PackedColumn(8, 5000)
      const bigs = new PackedColumn(8, 5000)
      for (const [row, value] of rows.entries()) {
        if (value === null) numbers.setNull(row)
        else numbers.setWhole(row, value)
        if (value === null) bigs.setNull(row)
        else bigs.setWhole(row, BigInt(value))
      }
      const expected = rows.map((value) => (value === null ? null : String(value)))
      const found = await printed(rows.length, [BIGINT, numbers], [BIGINT, bigs])
      assert.deepEqual(found, [expected, expected])
    }),
    { numRuns: 20 },
  )
  for (const width of [4, 9, 18, 38]) {
    const most = 10n ** BigInt(width) - 1n
    const column = new PackedColumn(decimalBytes(width), 3)
    for (const [row, value] of [most, -most, 0n].entries()) column.setWhole(row, value)
    assert.deepEqual(await printed(3, [DECIMAL(width, 0), column]), [[String(most), String(-most), '0']])
  }
})
