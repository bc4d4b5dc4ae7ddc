import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { FakeClock } from '@assay/model/clock'
import * as fc from 'fast-check'
import { collectAtRest } from './rest.ts'

const COLLECTING_MS = 100

/** Seconds of a process, each with the milliseconds of the processor that it used: after which it collected. */
async function collectionsOf(seconds: number[]): Promise<number[]> {
  const clock = new FakeClock()
  const stop = new AbortController()
  const collections: number[] = []
  let used = 700
  let second = 0
  const collect = (): void => {
    collections.push(second)
    used += COLLECTING_MS
  }
  const done = collectAtRest({ clock, used: () => used, collect }, stop.signal)
  for (const ms of seconds) {
    used += ms
    second += 1
    clock.advance(1000)
    await turn()
  }
  stop.abort()
  await done
  assert.equal(clock.sleeping, 0)
  return collections
}

const times = (count: number, ms: number): number[] => Array.from({ length: count }, () => ms)

test('collects once after the start, and not again while nobody comes', async () => {
  assert.deepEqual(await collectionsOf(times(600, 20)), [5])
})

test('collects once after each spell of work, five quiet seconds after its end', async () => {
  const spell = [...times(10, 900), ...times(20, 3)]
  assert.deepEqual(await collectionsOf([...spell, ...spell]), [15, 45])
})

test('never collects under load, not in a pause of four seconds either', async () => {
  assert.deepEqual(await collectionsOf(times(300, 60)), [])
  assert.deepEqual(await collectionsOf(times(50, 0).flatMap(() => [...times(6, 1000), ...times(4, 0)])), [])
})

test('does not collect for work that is less than twenty collections', async () => {
  const little = [...times(10, 190), ...times(10, 0)]
  assert.deepEqual(await collectionsOf([...times(10, 0), ...little]), [5])
  assert.deepEqual(await collectionsOf([...times(10, 0), ...little, ...little]), [5, 45])
})

test('in any course of work, collects after five quiet seconds only, and takes a twentieth of the work at most', async () => {
  const seconds = fc.array(
    fc.record({ ms: fc.constantFrom(0, 10, 50, 51, 400, 1000), length: fc.integer({ min: 1, max: 8 }) }),
    { maxLength: 40 },
  )
  await fc.assert(
    fc.asyncProperty(seconds, async (spells) => {
      const course = spells.flatMap(({ ms, length }) => times(length, ms))
      const collections = await collectionsOf(course)
      for (const [index, at] of collections.entries()) {
        assert.ok(course.slice(at - 5, at).every((ms) => ms <= 50))
        const since = course.slice(collections[index - 1] ?? 0, at).reduce((sum, ms) => sum + ms, 0)
        assert.ok(index === 0 || since >= 20 * COLLECTING_MS)
      }
    }),
    { numRuns: 50 },
  )
})

test('what is collected goes back to the system, where V8 offers it; else there is no collector', async () => {
  const file = JSON.stringify(path.join(import.meta.dirname, 'rest.ts'))
  const program = `
    import { collector } from ${file}
    const found = collector()
    if (!found) { console.log('none'); process.exit() }
    let kept = Array.from({ length: 300_000 }, (_, at) => ({ at, text: [at] }))
    const before = process.memoryUsage.rss()
    kept = null
    const used = found.used()
    found.collect()
    console.log(before - process.memoryUsage.rss(), found.used() - used)`
  const run = async (...flags: string[]): Promise<string> => {
    const args = [...flags, '--input-type=module-typescript', '--eval', program]
    return (await promisify(execFile)(process.execPath, args)).stdout.trim()
  }
  assert.equal(await run(), 'none')
  const [freed, spent] = (await run('--expose-gc')).split(' ').map(Number)
  assert.ok(freed! > 10_000_000, `${freed} bytes`)
  assert.ok(spent! > 0)
})
