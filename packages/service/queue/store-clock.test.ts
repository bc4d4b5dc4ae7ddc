/** Checks that a node whose machine shows another time follows the store's clock and reports the difference. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock, iso } from '@assay/model/clock'
import { type Logger, silentLog } from '../runtime/log.ts'
import { createStoreClock } from './store-clock.ts'

const HOUR = 3_600_000

/** A machine whose wall clock is set independently of the time that passes. */
class Machine extends FakeClock {
  apart = 0

  override now(): number {
    return super.now() + this.apart
  }
}

test('a node whose machine is an hour behind has the time of the store, also when its clock is set in between', () => {
  const machine = new Machine()
  const told: string[] = []
  const warn = (_: unknown, text: string): void => void told.push(text)
  const clock = createStoreClock(machine, { ...silentLog, warn } as unknown as Logger)
  assert.equal(clock.now(), machine.now(), 'nothing was told: it is the machine')

  machine.apart = -HOUR
  const asked = machine.monotonic()
  machine.advance(40)
  const store = machine.now() + HOUR - 20
  clock.follow(iso(store), asked)
  assert.equal(clock.now(), store + 20, 'the answer is as old as half the way there and back')
  assert.equal(clock.skewMs(), -HOUR)
  assert.deepEqual(told, ['the clock of this machine is 60 min behind that of the store, whose time counts'])

  machine.apart = HOUR
  machine.advance(500)
  assert.equal(clock.now(), store + 520)
  assert.equal(clock.skewMs(), HOUR)
})

test('an answer that was long under way does not set a clock that is known', () => {
  const machine = new Machine()
  const clock = createStoreClock(machine, silentLog)
  clock.follow(iso(machine.now()), machine.monotonic())
  const asked = machine.monotonic()
  machine.advance(5000)
  clock.follow(iso(machine.now()), asked)
  assert.equal(clock.skewMs(), 0)
})
