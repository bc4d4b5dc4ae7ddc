import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import {
  addDays,
  dayNumber,
  daysBetween,
  dayText,
  isDay,
  isTimeZone,
  isWeekend,
  monthsAfter,
  periodAfter,
  periodLabel,
  startOf,
  WEEKDAYS,
  weekdayOf,
} from './dates.ts'

test('days are those that exist in the years 0001 to 9999', () => {
  for (const day of ['2024-02-29', '0001-01-01', '9999-12-31']) assert.ok(isDay(day), day)
  for (const text of ['2023-02-29', '2024-13-01', '0000-01-01', '2024-1-1', '2024-01-01T00:00:00', '']) {
    assert.ok(!isDay(text), text)
  }
  assert.throws(() => addDays('9999-12-31', 1), RangeError)
  assert.throws(() => addDays('0001-01-01', -1), RangeError)
  assert.throws(() => startOf('year', '9999-06-01', 1), RangeError)
  assert.throws(() => addDays('2024-01-01', Number.NaN), RangeError)
})

test('days and their numbers go both ways, and weekdays follow', () => {
  assert.equal(dayNumber('1970-01-01'), 0)
  assert.equal(dayNumber('2024-03-05T14:07:09Z'), 19_787)
  assert.equal(WEEKDAYS[weekdayOf(dayNumber('2024-02-29'))], 'Thursday')
  fc.assert(
    fc.property(fc.integer({ min: -719_162, max: 2_932_896 }), (number) => {
      assert.equal(dayNumber(dayText(number)), number)
      assert.equal(weekdayOf(number), new Date(number * 86_400_000).getUTCDay())
      assert.equal(isWeekend(number), ['Sunday', 'Saturday'].includes(WEEKDAYS[weekdayOf(number)]!))
      assert.equal(daysBetween('1970-01-01', dayText(number)), number)
    }),
  )
})

test('months later is the same day, or the last of a shorter month', () => {
  const after = (day: string, months: number): string => dayText(monthsAfter(dayNumber(day), months))
  assert.equal(after('2024-01-31', 1), '2024-02-29')
  assert.equal(after('2024-02-29', 12), '2025-02-28')
  assert.equal(after('2024-03-31', -1), '2024-02-29')
  assert.equal(after('0001-02-28', -1), '0001-01-28')
  assert.equal(dayText(periodAfter(dayNumber('2024-10-01'), 'quarter')), '2025-01-01')
  assert.equal(dayText(periodAfter(dayNumber('2024-12-30'), 'week')), '2025-01-06')
})

test('periods are labelled as readers say them', () => {
  const labels = (['day', 'week', 'month', 'quarter', 'year'] as const).map((unit) =>
    periodLabel(dayNumber('2001-06-25'), unit),
  )
  assert.deepEqual(labels, ['2001-06-25', 'the week of 2001-06-25', 'June 2001', 'Q2 2001', '2001'])
})

test('units hold their days, and begin where the one before ends', () => {
  const day = fc.integer({ min: 0, max: 40_000 }).map((count) => addDays('1970-01-01', count))
  fc.assert(
    fc.property(day, fc.constantFrom('week', 'month', 'quarter', 'year' as const), (date, unit) => {
      const [start, next] = [startOf(unit, date), startOf(unit, date, 1)]
      assert.ok(start <= date && date < next)
      assert.equal(startOf(unit, next, -1), start)
      assert.equal(startOf(unit, addDays(next, -1)), start)
    }),
  )
})

test('time zones are names that exist, not offsets', () => {
  assert.ok(isTimeZone('America/Chicago') && isTimeZone('UTC'))
  assert.ok(!isTimeZone('Mars/Base') && !isTimeZone('+02:00') && !isTimeZone(''))
})
