import assert from 'node:assert/strict'
import test from 'node:test'
import { dayInZone, daysBetween, isDay } from '@assay/model/dates'
import * as fc from 'fast-check'
import { isPeriod, resolvePeriod } from './period.ts'

const at = (started_at: string, time_zone = 'UTC', latest: string | null = null) => ({
  started_at,
  time_zone,
  latest,
})
const span = (text: string, context = at('2024-03-15T12:00:00.000Z')): string => {
  const { start, end } = resolvePeriod(text, context)
  return `${start} ${end}`
}

test('both days of an absolute period belong to it', () => {
  const period = resolvePeriod('2001-04-01..2001-06-30', at('2024-01-01T00:00:00Z'))
  assert.deepEqual(period, {
    start: '2001-04-01',
    end: '2001-07-01',
    label: 'April to June 2001',
    unit: 'quarter',
    previous: { start: '2000-12-31', end: '2001-04-01', label: '31 December 2000 to 31 March 2001' },
  })
})

test('days, months, quarters and years are periods of their own', () => {
  assert.equal(span('2024-02-29'), '2024-02-29 2024-03-01')
  assert.equal(span('2024-02'), '2024-02-01 2024-03-01')
  assert.equal(span('2024-Q4'), '2024-10-01 2025-01-01')
  assert.equal(span('2023'), '2023-01-01 2024-01-01')
  assert.equal(span('2023-11..2024-Q1'), '2023-11-01 2024-04-01')
})

test('a period is labelled as a reader says it', () => {
  const label = (text: string): string => resolvePeriod(text, at('2024-01-01T00:00:00Z')).label
  assert.equal(label('2024-02-29'), '29 February 2024')
  assert.equal(label('2001-06-18..2001-06-24'), '18 to 24 June 2001')
  assert.equal(label('2001-06-18..2001-07-04'), '18 June to 4 July 2001')
  assert.equal(label('2001-06-18..2002-01-02'), '18 June 2001 to 2 January 2002')
  assert.equal(label('2024-02'), 'February 2024')
  assert.equal(label('2024-02-01..2024-02-29'), 'February 2024')
  assert.equal(label('2024-Q4'), 'October to December 2024')
  assert.equal(label('2023-11..2024-Q1'), 'November 2023 to March 2024')
  assert.equal(label('2023'), '2023')
  assert.equal(label('2001-01-01..2003-12-31'), '2001 to 2003')
})

test('last_N units are complete ones: today and this month are left out', () => {
  assert.equal(span('last_30_days'), '2024-02-14 2024-03-15')
  assert.equal(span('last_2_weeks'), '2024-02-26 2024-03-11')
  assert.equal(span('last_month'), '2024-02-01 2024-03-01')
  assert.equal(span('last_12_months'), '2023-03-01 2024-03-01')
  assert.equal(span('last_quarter'), '2023-10-01 2024-01-01')
  assert.equal(span('last_year'), '2023-01-01 2024-01-01')
  assert.equal(span('yesterday'), '2024-03-14 2024-03-15')
})

test('this unit is whole, to date ends with today', () => {
  assert.equal(span('today'), '2024-03-15 2024-03-16')
  assert.equal(span('this_week'), '2024-03-11 2024-03-18')
  assert.equal(span('this_quarter'), '2024-01-01 2024-04-01')
  assert.equal(span('month_to_date'), '2024-03-01 2024-03-16')
  assert.equal(span('year_to_date'), '2024-01-01 2024-03-16')
})

test('with until the latest day counts as complete', () => {
  const ended = at('2024-03-15T12:00:00Z', 'UTC', '2001-06-30T22:47:00')
  assert.equal(span('last_30_days', ended), '2001-06-01 2001-07-01')
  assert.equal(span('last_month', ended), '2001-06-01 2001-07-01')
  assert.equal(span('year_to_date', ended), '2001-01-01 2001-07-01')
  const open = at('2024-03-15T12:00:00Z', 'UTC', '2001-06-29')
  assert.equal(span('last_month', open), '2001-05-01 2001-06-01')
})

test('the day is the one that clocks in the zone show, on both sides of the date line and of daylight saving', () => {
  assert.equal(span('today', at('2024-01-01T09:59:00Z', 'Pacific/Honolulu')), '2023-12-31 2024-01-01')
  assert.equal(span('today', at('2024-01-01T11:00:00Z', 'Pacific/Kiritimati')), '2024-01-02 2024-01-03')
  // New York leaves daylight saving on 2024-11-03 at 06:00 UTC. 04:30 UTC is 00:30 there, and so is 05:30 UTC of the
  // next day.
  assert.equal(dayInZone('2024-11-03T03:59:59Z', 'America/New_York'), '2024-11-02')
  assert.equal(dayInZone('2024-11-03T04:00:00Z', 'America/New_York'), '2024-11-03')
  assert.equal(dayInZone('2024-11-04T04:59:59Z', 'America/New_York'), '2024-11-03')
  assert.equal(dayInZone('2024-11-04T05:00:00Z', 'America/New_York'), '2024-11-04')
  // Samoa skipped 2011-12-30.
  assert.equal(dayInZone('2011-12-30T09:59:00Z', 'Pacific/Apia'), '2011-12-29')
  assert.equal(dayInZone('2011-12-30T10:01:00Z', 'Pacific/Apia'), '2011-12-31')
})

test('what is no period is none', () => {
  for (const text of [
    '',
    'yesterdays',
    '2024-02-30',
    '2024-03-02..2024-03-01',
    '2024..2023',
    'last_0_days',
    'last_99999_days',
    '2024-Q5',
    '2024-13',
    '..',
    'a..b',
    '2024..2025..2026',
  ]) {
    assert.equal(isPeriod(text), false, text)
  }
  assert.throws(() => resolvePeriod('soon', at('2024-01-01T00:00:00Z')), RangeError)
})

test('the period before is as long, and ends where the period begins', () => {
  const text = fc.oneof(
    fc.constantFrom(
      'today',
      'yesterday',
      'this_week',
      'last_month',
      'this_quarter',
      'year_to_date',
      'last_2_years',
    ),
    fc.integer({ min: 1, max: 400 }).map((count) => `last_${count}_days`),
    fc.integer({ min: 1, max: 60 }).map((count) => `last_${count}_months`),
  )
  const instant = fc.date({ min: new Date('1990-01-01'), max: new Date('2090-01-01'), noInvalidDate: true })
  const zone = fc.constantFrom('UTC', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Apia', 'Europe/Berlin')
  fc.assert(
    fc.property(text, instant, zone, (period, date, time_zone) => {
      const found = resolvePeriod(period, { started_at: date.toISOString(), time_zone })
      assert.ok(isDay(found.start) && isDay(found.end) && found.start < found.end)
      assert.equal(found.previous.end, found.start)
      assert.equal(daysBetween(found.previous.start, found.previous.end), daysBetween(found.start, found.end))
      const days = /^last_(\d+)_days$/.exec(period)
      if (days) assert.equal(daysBetween(found.start, found.end), Number(days[1]))
    }),
  )
})
