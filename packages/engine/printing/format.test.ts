import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { add, compare, roundTo, toDecimal, toText } from '../values/decimal.ts'
import { ValueError } from '../values/value.ts'
import { FORMAT_CODES, formatValue } from './format.ts'

test('the codes of Evidence print as its documentation shows', () => {
  // The codes and examples of docs.evidence.studio/core-concepts/value-formatting.
  const cases: [number | string, string, string][] = [
    [11.23168, 'num0', '11'],
    [11.23168, 'num1', '11.2'],
    [11.23168, 'num3', '11.232'],
    [11.23168, 'num4', '11.2317'],
    [64_201, 'num0k', '64k'],
    [64_201, 'num1k', '64.2k'],
    [64_201, 'num2k', '64.20k'],
    [42_539_483, 'num0m', '43M'],
    [42_539_483, 'num2m', '42.54M'],
    [1_384_937_584, 'num1b', '1.4B'],
    [412.12, 'usd', '$412'],
    [412.12, 'usd1', '$412.1'],
    [412.12, 'usd2', '$412.12'],
    [412_120, 'usd1k', '$412.1k'],
    [5.32, 'mult', '5.3x'],
    [5.32, 'mult0', '5x'],
    [16_546.1561, 'sci', '1.65e+4'],
    [921_594_675, 'id', '921594675'],
    [-0.0491, 'pts2', '-4.91 points'],
    [0.1423, 'pts', '14 points'],
    [0.01, 'pts0', '1 point'],
    [0.731, 'pct0', '73 %'],
    [0.731, 'pct1', '73.1 %'],
    [0.7314, 'pct2', '73.14 %'],
    ['2022-01-09', 'ddd', 'Sun'],
    ['2022-01-09', 'dddd', 'Sunday'],
    ['2022-01-09', 'mmm', 'Jan'],
    ['2022-01-09', 'mmmm', 'January'],
    ['2022-01-09', 'yyyy', '2022'],
    ['2022-01-09', 'shortdate', 'Jan 9/22'],
    ['2022-01-09', 'longdate', 'January 9, 2022'],
    ['2022-01-09', 'fulldate', 'Sunday January 9, 2022'],
    ['2022-01-09', 'mdy', '1/9/22'],
    ['2022-01-09', 'dmy', '9/1/22'],
    ['2022-01-09T11:45:03', 'hms', '11:45:03 AM'],
  ]
  for (const [value, code, wanted] of cases) assert.equal(formatValue(value, code), wanted, code)
})

test('dates print by any pattern, minutes apart from months', () => {
  assert.equal(formatValue('2001-04-03', 'mmm-yy'), 'Apr-01')
  assert.equal(formatValue('2001-04-03', 'd mmm yyyy'), '3 Apr 2001')
  assert.equal(formatValue('2001-04-03T13:05:00Z', 'yyyy-mm-dd hh:mm'), '2001-04-03 13:05')
  assert.equal(formatValue('2001-04-03T00:00:00', 'date'), '2001-04-03')
})

test('halves go away from zero, by the digits that the reader sees', () => {
  assert.equal(formatValue(2.675, 'num2'), '2.68')
  assert.equal(formatValue(-2.675, 'num2'), '-2.68')
  assert.equal(formatValue(0.5, 'num0'), '1')
  assert.equal(formatValue(-0.4, 'num0'), '0')
})

test('decimals and big integers keep every digit', () => {
  assert.equal(formatValue('12345678901234567890.125', 'num2'), '12,345,678,901,234,567,890.13')
  assert.equal(formatValue('9007199254740993', 'num0'), '9,007,199,254,740,993')
  assert.equal(formatValue('-0.005', 'usd2'), '-$0.01')
})

test('nothing prints for null, and the words for what is no number', () => {
  assert.equal(formatValue(null, 'num0'), '')
  assert.equal(formatValue('NaN', 'num2'), 'NaN')
  assert.equal(formatValue('-Infinity', 'pct1'), '-Infinity')
})

test('an unknown code names a near one, and a wrong value is refused', () => {
  assert.throws(() => formatValue(1, 'num9'), /There is no format "num9"/)
  assert.throws(
    () => formatValue(1, 'percent1'),
    (error: ValueError) => /pct1|Known/.test(error.remedy),
  )
  assert.throws(() => formatValue('abc', 'num0'), ValueError)
  assert.throws(() => formatValue(5, 'mmm-yy'), ValueError)
})

test('every code of the list can be used', () => {
  for (const code of FORMAT_CODES) {
    const date = (() => {
      try {
        return formatValue(1234.5, code)
      } catch {
        return formatValue('2024-02-29', code)
      }
    })()
    assert.notEqual(date, '', code)
  }
})

test('num formats read back as the rounded number', () => {
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer({ min: 0, max: 4 }),
      (value, places) => {
        const printed = formatValue(value, `num${places}`).replaceAll(',', '')
        const wanted = roundTo(toDecimal(value)!, places)
        assert.equal(compare(toDecimal(printed)!, wanted), 0)
      },
    ),
  )
})

test('decimals add exactly and print back', () => {
  const decimal = fc
    .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.integer({ min: 0, max: 12 }))
    .map(([digits, scale]) => ({ digits, scale }))
  fc.assert(
    fc.property(decimal, decimal, (a, b) => {
      assert.deepEqual(toDecimal(toText(a)), a)
      assert.equal(compare(add(a, b), add(b, a)), 0)
      assert.equal(compare(add(add(a, b), { digits: -b.digits, scale: b.scale }), a), 0)
    }),
  )
})
