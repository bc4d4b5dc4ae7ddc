import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import type { DuckDBDecimalValue } from '@duckdb/node-api'
import * as fc from 'fast-check'
import { daysOfDate, doubleFrom, microsOfMoment, scaledFrom } from './digits.ts'
import { daysFromText, decimalReader, microsFromText } from './text-values.ts'

type Reader = (bytes: Uint8Array, from: number, end: number) => number

/** In the middle of other bytes. */
const readBy = (read: Reader, text: string): number => {
  const bytes = Buffer.from(`9${text}9`)
  return read(bytes, 1, bytes.length - 1)
}

/** What it says is what the text says; it says nothing of what the text is refused for. */
function agrees(fast: number, slow: () => number | bigint): void {
  if (Number.isNaN(fast)) return
  assert.equal(BigInt(fast), BigInt(slow()))
}

const digits = fc.stringMatching(/^\d{0,20}$/)
const numbers = fc.oneof(
  fc
    .tuple(fc.constantFrom('', '-', '+'), digits, fc.constantFrom('', '.'), digits)
    .map((parts) => parts.join('')),
  fc.double().map(String),
  fc.stringMatching(/^[-+0-9.eE]{0,8}$/),
)

test('decimals read from bytes are those read from text', () => {
  fc.assert(
    fc.property(numbers, fc.nat(12), (text, scale) => {
      const read = (bytes: Uint8Array, from: number, end: number): number =>
        scaledFrom(bytes, from, end, scale)
      agrees(readBy(read, text), () => (decimalReader(38, scale)(text) as DuckDBDecimalValue).value)
    }),
    { numRuns: 2000 },
  )
  assert.equal(
    readBy((bytes, from, end) => scaledFrom(bytes, from, end, 2), '-12.3'),
    -1230,
  )
  assert.equal(
    readBy((bytes, from, end) => scaledFrom(bytes, from, end, 0), '9007199254740991'),
    9007199254740991,
  )
})

test('doubles read from bytes are those read from text', () => {
  fc.assert(
    fc.property(numbers, (text) => {
      const found = readBy(doubleFrom, text)
      if (!Number.isNaN(found)) assert.ok(Object.is(found, Number(text)), text)
    }),
    { numRuns: 5000 },
  )
  for (const plain of [0, 0.1, -1.5, 123456.789, -0, 1e15])
    assert.ok(Object.is(readBy(doubleFrom, Object.is(plain, -0) ? '-0' : String(plain)), plain))
})

const two = (most: number): fc.Arbitrary<string> => fc.nat(most).map((n) => String(n).padStart(2, '0'))
const date = fc
  .tuple(fc.nat(9999), two(13), two(32))
  .map(([year, month, day]) => `${String(year).padStart(4, '0')}-${month}-${day}`)
const moment = fc
  .tuple(date, two(23), two(59), two(59), fc.stringMatching(/^(\.\d{1,9})?$/))
  .map(([day, hours, minutes, seconds, rest]) => `${day}T${hours}:${minutes}:${seconds}${rest}Z`)
const broken = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(text, fc.nat(30), fc.constantFrom('', 'x', '-', ':', ' ', '0'))
    .map(([given, at, other]) => given.slice(0, at) + other + given.slice(at + 1))

test('dates and moments read from bytes are those read from text', () => {
  fc.assert(
    fc.property(fc.oneof(date, broken(date)), (text) =>
      agrees(readBy(daysOfDate, text), () => daysFromText(text)),
    ),
    { numRuns: 3000 },
  )
  fc.assert(
    fc.property(fc.oneof(moment, broken(moment)), (text) =>
      agrees(readBy(microsOfMoment, text), () => microsFromText(text, true)),
    ),
    { numRuns: 3000 },
  )
  assert.equal(readBy(microsOfMoment, '1970-01-02T00:00:00.000001Z'), 86_400_000_001)
  assert.equal(readBy(microsOfMoment, '1970-01-02T00:00:00.000001999Z'), 86_400_000_001)
  assert.equal(readBy(microsOfMoment, '1970-01-02T00:00:00.000001-Z'), Number.NaN)
  assert.equal(readBy(daysOfDate, '2024-02-29'), Date.UTC(2024, 1, 29) / 86_400_000)
})

test('a day that no calendar has is refused', () => {
  for (const text of [
    '0000-00-00',
    '2024-00-15',
    '2024-01-00',
    '2023-02-29',
    '2024-13-01',
    '2024-04-31',
    'abcd-ef-gh',
  ]) {
    assert.throws(() => daysFromText(text), RangeError)
    assert.throws(() => microsFromText(`${text} 10:00:00`, false), RangeError)
    assert.equal(readBy(daysOfDate, text), Number.NaN)
  }
  assert.throws(() => microsFromText('2024-01-01 ab:cd:ef', false), RangeError)
})
