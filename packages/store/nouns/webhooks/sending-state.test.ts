import assert from 'node:assert/strict'
import { test } from 'node:test'
import { breakerAfter } from '@assay/model/webhook'
import * as fc from 'fast-check'
import { afterClaim, afterHold, asOf, claimAt, type SendingState } from './sending-state.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const iso = (ms: number) => new Date(ms).toISOString()

function state(over: Partial<SendingState> = {}): SendingState {
  return {
    status: 'enabled',
    in_flight: 0,
    max_in_flight: null,
    rate_per_second: null,
    due_at: iso(START),
    last_claim_at: null,
    rate_at: null,
    failures: 0,
    open_until: null,
    held_until: null,
    held_reason: null,
    ...over,
  }
}

test('a webhook may be claimed when its first delivery is due', () => {
  assert.equal(claimAt(state()), iso(START))
  assert.equal(claimAt(state({ due_at: null })), null)
  assert.equal(claimAt(state({ status: 'disabled' })), null)
})

test('a webhook at its cap may not be claimed', () => {
  assert.equal(claimAt(state({ in_flight: 7 })), iso(START))
  assert.equal(claimAt(state({ in_flight: 8 })), null)
  assert.equal(claimAt(state({ in_flight: 1, max_in_flight: 1 })), null)
  assert.equal(claimAt(state({ in_flight: 30, max_in_flight: 31 })), iso(START))
})

test('an open breaker holds all back and then lets one through', () => {
  const open = state({ failures: 5, open_until: iso(START + 30_000) })
  assert.equal(claimAt(open), iso(START + 30_000))
  assert.equal(claimAt({ ...open, in_flight: 1 }), null)
  assert.equal(claimAt({ ...open, ...breakerAfter(open, true, START) }), iso(START))
})

test('what the rules of a workspace hold back waits a minute, also where the clock is then set back', () => {
  const held = afterHold(state(), 'stopped', START)
  assert.deepEqual([claimAt(held), held.held_reason], [iso(START + 60_000), 'stopped'])
  const back = START - 3_600_000
  assert.equal(asOf(held, back).held_until, iso(back))
  assert.equal(asOf(held, START).held_until, held.held_until)
})

test('a claim sends the webhook behind those that waited longer', () => {
  const claimed = afterClaim(state(), START + 500)
  assert.equal(claimed.in_flight, 1)
  assert.equal(claimAt(claimed), iso(START + 500))
})

test('a webhook never has more requests than its rate allows, and no fewer where it is asked in time', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.05, max: 500, noNaN: true }),
      fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 50, maxLength: 300 }),
      (rate, gaps) => {
        let webhook = state({ rate_per_second: rate, max_in_flight: 1_000_000 })
        let now = START
        const claims: number[] = []
        for (const gap of gaps) {
          now += gap
          while (claimAt(webhook)! <= iso(now) && claims.length < 5000) {
            claims.push(now)
            webhook = afterClaim(webhook, now)
          }
        }
        // A span may have the requests of its rate, a quarter of a second's more, and the one that begins it.
        for (const [index, begin] of claims.entries()) {
          const end = claims.at(Math.min(claims.length - 1, index + 40))!
          const count = Math.min(40, claims.length - 1 - index) + 1
          assert.ok(
            count <= ((end - begin) / 1000) * rate + rate / 4 + 1.001,
            `${count} in ${end - begin} ms`,
          )
        }
        const elapsed = (now - START) / 1000
        const polledOften = gaps.every((gap) => gap <= 250)
        if (polledOften && claims.length < 5000)
          assert.ok(claims.length >= Math.floor(elapsed * rate * 0.49), `${claims.length} in ${elapsed} s`)
      },
    ),
  )
})

test('no number that a store may hold makes the state of a webhook throw, or come before its due time', () => {
  const number = fc.oneof(fc.double({ noNaN: true }), fc.constantFrom(1e-300, 1e300, Infinity, -Infinity, 0))
  fc.assert(
    fc.property(number, number, (rate_per_second, rate_at) => {
      const held = claimAt(state({ rate_per_second, rate_at }))
      assert.match(held ?? '', /^\d{4}-/)
      assert.ok(held! >= iso(START))
    }),
  )
})

test('a claim from before the clock was set back holds nothing up', () => {
  const year = 365 * 86_400_000
  const ahead = afterClaim(state({ rate_per_second: 2 }), START + year)
  assert.ok(claimAt(ahead)! > iso(START + year - 1000))
  assert.ok(claimAt(asOf(ahead, START))! <= iso(START + 2000))
  const usual = afterClaim(state({ rate_per_second: 0.001 }), START)
  assert.deepEqual(asOf(usual, START), usual, 'what the clock allows stays')
})
