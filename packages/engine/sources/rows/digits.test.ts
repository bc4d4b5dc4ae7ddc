import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { scaledFrom } from './digits.ts'
import { daysFromText, decimalReader, microsFromText } from './text-values.ts'

type Reader = (bytes: Uint8Array, from: number, end: number) => number

/** Reads a number that stands in the middle of other bytes. */
const readBy = (read: Reader, text: string): number => {
  const bytes = Buffer.from(`9${text}9`)
  return read(bytes, 1, bytes.length - 1)
}

/**
 * Asserts that the fast reading is NaN or equals the slow one, and that it is NaN if the slow one refuses the text.
 */
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
      agrees(readBy(read, text), () => decimalReader(38, scale)(text).value)
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
  }
  assert.throws(() => microsFromText('2024-01-01 ab:cd:ef', false), RangeError)
})
