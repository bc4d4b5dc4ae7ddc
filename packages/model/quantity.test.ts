import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes, milliseconds } from './quantity.ts'

test('reads durations and sizes in each of their units, and refuses what is none', () => {
  assert.deepEqual(
    ['500ms', '60s', '5m', '1.5h', '30d', '2 s'].map((text) => milliseconds(text)),
    [500, 60_000, 300_000, 5_400_000, 2_592_000_000, 2000],
  )
  assert.deepEqual(
    ['7B', '1kB', '1KB', '2MB', '1GB', '3TB', '1KiB', '1MiB', '2GiB', '1TiB'].map((text) => bytes(text)),
    [7, 1e3, 1e3, 2e6, 1e9, 3e12, 2 ** 10, 2 ** 20, 2 ** 31, 2 ** 40],
  )
  for (const text of ['', 'GB', '-1s', '1e3s', '1.s', '5 minutes', '1gb', '1GB2', 'NaN']) {
    assert.equal(milliseconds(text), null, text)
    assert.equal(bytes(text), null, text)
  }
})

test('a number alone has the unit that its reader says, or none', () => {
  assert.equal(milliseconds('60'), null)
  assert.equal(milliseconds('60', 's'), 60_000)
  assert.equal(bytes('60', 'B'), 60)
  assert.equal(bytes('60MB', 'B'), 60e6)
})
