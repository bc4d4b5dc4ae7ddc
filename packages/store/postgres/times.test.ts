import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { toIso } from './servers/client.ts'

/**
 * Prints a time as PostgreSQL prints a timestamptz(3): without trailing zeros, and the zone without minutes if it has
 * none.
 */
function printed(ms: number, zone: number): string {
  const local = new Date(ms + zone * 60_000).toISOString()
  const fraction = local.slice(19, 23).replace(/\.?0+$/, '')
  const [hours, minutes] = [Math.floor(Math.abs(zone) / 60), Math.abs(zone) % 60]
  const pad = (number: number): string => String(number).padStart(2, '0')
  const offset = `${zone < 0 ? '-' : '+'}${pad(hours)}${minutes === 0 ? '' : `:${pad(minutes)}`}`
  return `${local.slice(0, 10)} ${local.slice(11, 19)}${fraction}${offset}`
}

test('a time is read as it was written, whatever the time zone of the session', () => {
  const ms = fc.integer({ min: 0, max: Date.UTC(9998, 0, 1) })
  const zone = fc.constantFrom(0, 60, -300, 330, -570, 765)
  fc.assert(
    fc.property(ms, zone, (at, minutes) => {
      assert.equal(toIso(printed(at, minutes)), new Date(at).toISOString())
    }),
  )
  assert.equal(toIso('2026-01-01 09:30:00+00'), '2026-01-01T09:30:00.000Z')
  assert.equal(toIso('2026-01-01 09:30:00.1+02'), '2026-01-01T07:30:00.100Z')
})
