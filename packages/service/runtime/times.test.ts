import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Histogram, Registry } from 'prom-client'
import { createTimes } from './times.ts'

const BUCKETS = [0.01, 0.1, 1]

/** The lines of the text format, in the order of the alphabet, labels too. */
function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) =>
      line.replace(/\{(.*)\}/, (_, labels: string) => `{${labels.split(',').toSorted().join(',')}}`),
    )
    .toSorted()
}

test('times are told as by the histogram of prom-client', async () => {
  const observation = fc.record({
    route: fc.constantFrom('/a', '/b "quoted"'),
    status: fc.constantFrom(200, 404),
    seconds: fc.oneof(fc.constantFrom(0, ...BUCKETS), fc.double({ min: 0, max: 3, noNaN: true })),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(observation), async (observations) => {
      const [ours, theirs] = [new Registry(), new Registry()]
      const shape = { name: 'times', help: 'Times', buckets: BUCKETS }
      const times = createTimes<'route' | 'status'>({ ...shape, registers: [ours] })
      const kept = new Map<string, (seconds: number) => void>()
      const histogram = new Histogram({
        ...shape,
        labelNames: ['route', 'status'] as const,
        registers: [theirs],
      })
      times.series({ route: '/never', status: 500 })
      for (const { route, status, seconds } of observations) {
        const key = `${route} ${status}`
        if (!kept.has(key)) kept.set(key, times.series({ route, status }))
        kept.get(key)!(seconds)
        histogram.observe({ route, status }, seconds)
      }
      assert.deepEqual(linesOf(await ours.metrics()), linesOf(await theirs.metrics()))
    }),
    { numRuns: 100 },
  )
})
