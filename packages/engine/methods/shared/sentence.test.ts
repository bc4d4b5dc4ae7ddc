import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { count, enumeration, figure, label, percent, probability, range, signed } from './sentence.ts'

test('shows numbers as people read them', () => {
  assert.equal(figure(0), '0')
  assert.equal(figure(1234567.8), '1,234,568')
  assert.equal(figure(-1234), '-1,234')
  assert.equal(figure(8.4237), '8.42')
  assert.equal(figure(123.45), '123.5')
  assert.equal(figure(0.00001234), '1.23e-5')
  assert.equal(figure(1e20), '1.00e20')
  assert.equal(figure(null), 'unknown')
  assert.equal(figure(Number.NaN), 'unknown')
})

test('the ends of an interval are told apart, or are about one number', () => {
  assert.equal(range(0.12, 3.4), '0.12 to 3.4')
  assert.equal(range(0.99999, 1.00003), '0.99999 to 1.00003')
  assert.equal(range(1, 1 + 1e-14), 'about 1')
  assert.equal(range(0.99981, 0.99987, percent), 'over 99.9 %')
})

test('shows as many decimals as a difference needs', () => {
  assert.equal(figure(2.001856, 0.00012), '2.00186')
  assert.equal(figure(10000000.2, 0.0062), '10,000,000.2')
  assert.equal(figure(1234.5, 100), '1,235')
  assert.equal(signed(0.0001, 1), '0')
  assert.equal(signed(3.14, 0.1), '+3.14')
})

test('shows shares, chances, counts and lists', () => {
  assert.equal(percent(0.1234), '12.3 %')
  assert.equal(percent(0.99999), 'over 99.9 %')
  assert.equal(percent(1), '100.0 %')
  assert.equal(percent(0.00008), '0.008 %')
  assert.equal(percent(25), '2,500 %')
  assert.equal(probability(0.0341), 'p = 0.034')
  assert.equal(probability(1e-9), 'p below 0.001')
  assert.equal(probability(null), 'p unknown')
  assert.equal(count(1, 'row'), '1 row')
  assert.equal(count(1234, 'entry', 'entries'), '1,234 entries')
  assert.equal(enumeration(['a', 'b', 'c']), 'a, b and c')
  assert.equal(enumeration([]), 'none')
})

test('keeps names on one line and short', () => {
  assert.equal(label('a\n b\t c'), 'a b c')
  assert.equal(label(null), '(none)')
  assert.equal(label('  '), '(empty)')
  assert.equal(Array.from(label('é😀'.repeat(60))).length, 60)
})

test('never shows a number that is none', () => {
  fc.assert(
    fc.property(fc.double(), fc.double(), (value, resolution) => {
      for (const text of [figure(value, resolution), signed(value), percent(value), probability(value)]) {
        assert.doesNotMatch(text, /NaN|Infinity|undefined/)
        assert.ok(text.length > 0 && text.length < 40)
      }
    }),
  )
})
