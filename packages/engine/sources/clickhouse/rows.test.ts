import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { PackedColumn, ValueColumn } from '../rows/columns.ts'
import { PackedText } from '../rows/packed-text.ts'
import { printed } from '../rows/printed-rows.ts'
import { Lines, Rows } from './rows.ts'
import { mapType, type Raw } from './types.ts'

const quoted = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  value.map((text) => JSON.stringify(text))
const whole = (most: bigint): fc.Arbitrary<string> => fc.bigInt({ min: -most - 1n, max: most }).map(String)
const day = fc
  .date({ min: new Date('1900-01-01'), max: new Date('2299-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString())

/** By type, values as a server writes them in JSON, also as it could. */
const VALUES: Record<string, fc.Arbitrary<string>> = {
  Int8: whole(127n),
  Int64: fc.oneof(quoted(whole(2n ** 63n - 1n)), whole(2n ** 40n)),
  Int128: quoted(whole(2n ** 127n - 1n)),
  UInt64: quoted(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String)),
  Float64: fc.oneof(
    fc.double().map((value) => JSON.stringify(value)),
    fc.constantFrom('"nan"', '"-inf"', '1e+30', '-0'),
  ),
  Float32: fc.oneof(fc.float({ noNaN: true, noDefaultInfinity: true }).map(String), fc.constantFrom('"inf"')),
  Bool: fc.constantFrom('true', 'false'),
  'Decimal(9, 2)': fc.integer({ min: -999_999_999, max: 999_999_999 }).map((units) => `"${units / 100}"`),
  'Decimal(38, 10)': quoted(whole(10n ** 27n)),
  String: quoted(fc.string({ unit: 'grapheme', maxLength: 60 })),
  "Enum8('a' = 1)": fc.constant('"a"'),
  Date: day.map((text) => `"${text.slice(0, 10)}"`),
  'DateTime64(6)': day.map((text) => `"${text}"`),
  UUID: quoted(fc.uuid()),
  'Array(Nullable(Int64))': fc.constantFrom('[]', '["1",null]', '["-9223372036854775808"]'),
  'Tuple(UInt8, String)': fc.tuple(fc.nat(255), fc.string()).map((pair) => JSON.stringify(pair)),
}

const types = fc.array(fc.constantFrom(...Object.keys(VALUES)), { minLength: 1, maxLength: 5 })
const rowsOf = types.chain((chosen) => {
  const values = chosen.map((type) =>
    fc.oneof({ weight: 1, arbitrary: fc.constant('null') }, { weight: 6, arbitrary: VALUES[type]! }),
  )
  return fc.record({
    chosen: fc.constant(chosen),
    rows: fc.array(fc.tuple(...values), { maxLength: 30 }),
    separator: fc.constantFrom(',', ', ', ' , '),
    cuts: fc.array(fc.nat(200), { minLength: 1, maxLength: 20 }),
  })
})

/** In pieces of these lengths, one after the other and again from the first. */
async function* cut(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const length = lengths[turn % lengths.length]! + 1
    yield bytes.subarray(at, at + length)
    at += length
  }
}

test('rows read from bytes, in whatever pieces they come, have the values that their JSON has', async () => {
  await fc.assert(
    fc.asyncProperty(rowsOf, fc.boolean(), async ({ chosen, rows, separator, cuts }, last) => {
      const text = rows.map((values) => `[${values.join(separator)}]`).join('\n') + (last ? '\n' : '')
      const columns = chosen.map((type, index) => mapType(`c${index}`, type, 30))
      const lines = new Lines(cut(Buffer.from(text), cuts))
      const taken = new Rows(columns)
      do while (lines.step()) assert.ok(taken.take(lines.bytes, lines.from, lines.end), text)
      while (await lines.more())
      assert.equal(taken.rows, rows.length)
      const expected = columns.map(({ read }, index) => {
        const plain = new ValueColumn()
        for (const [row, values] of rows.entries()) {
          const value = JSON.parse(values[index]!) as Raw | null
          plain.set(row, value === null ? null : read(value))
        }
        return plain
      })
      const found = await printed(
        rows.length,
        ...columns.map(({ type, data }) => [type, data] as [typeof type, typeof data]),
        ...columns.map(({ type }, index) => [type, expected[index]!] as [typeof type, ValueColumn]),
      )
      assert.deepEqual(found.slice(0, columns.length), found.slice(columns.length), text)
    }),
    { numRuns: 40 },
  )
})

test('plain values are packed, and what is missing in a row is null', () => {
  const columns = ['Int64', 'String', 'Array(Int8)'].map((type, index) => mapType(`c${index}`, type, 2))
  assert.ok(columns[0]!.data instanceof PackedColumn)
  assert.ok(columns[1]!.data instanceof PackedText)
  const line = Buffer.from('["7"]')
  assert.ok(new Rows(columns).take(line, 0, line.length))
})

test('what is no row is not taken for one', () => {
  const columns = [mapType('n', 'UInt8', 8), mapType('t', 'String', 8)]
  for (const text of [
    'Code: 60. DB::Exception',
    '__exception__',
    '{"n":1}',
    '[1,"a"',
    '[1,"a"]x',
    '[1 "a"]',
    '"[1]"',
    '[,]',
  ]) {
    const line = Buffer.from(text)
    assert.equal(new Rows(columns).take(line, 0, line.length), false, text)
  }
})
