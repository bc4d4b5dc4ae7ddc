import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { startCollector } from '../../../test/servers/collector.ts'
import { modes } from '../../../test/servers/receiver.ts'
import { createLog } from './log.ts'
import { openTraces } from './open-traces.ts'
import type { Traces } from './traces.ts'

async function traced(mode?: Parameters<typeof startCollector>[0]) {
  const collector = await startCollector(mode)
  const lines: string[] = []
  const log = createLog({
    level: 'info',
    format: 'json',
    stream: { write: (line) => lines.push(line) },
  })
  const given = { headers: {}, node_id: uuidv7(), version: '1', clock: systemClock, log }
  const traces = (await openTraces({ url: `${collector.url}/v1/traces`, ...given })) as Traces
  return { collector, lines, traces }
}

test('what waits is bounded while a collector hangs, and what is dropped is told once', async () => {
  const { collector, lines, traces } = await traced(modes.hang())
  for (let count = 0; count < 6000; count += 1) traces.start({ name: 'one', kind: 'internal' }).end()
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /more spans than could be sent/)
  const began = performance.now()
  await traces.close(100)
  assert.ok(performance.now() - began < 4500, 'sooner than a request is given up')
  await collector.close()
})

test('spans of one job from nodes that know nothing of each other are one trace below its creation', async () => {
  const { collector, traces, lines } = await traced()
  const assignment_id = uuidv7()
  traces
    .start({ name: 'late', kind: 'client', of: { job: assignment_id }, attributes: { none: null } })
    .end('timeout')
  traces.start({ name: 'first', kind: 'producer', of: { creates: assignment_id }, at: Date.now() - 50 }).end()
  await traces.close(5000)
  const [late, first] = collector.spans()
  assert.deepEqual([late?.traceId, late?.parentSpanId], [first?.traceId, first?.spanId])
  assert.equal(first?.traceId, assignment_id.replaceAll('-', ''))
  assert.notEqual(late?.spanId, first?.spanId)
  assert.deepEqual([late?.error, late?.attributes], ['timeout', { 'error.type': 'timeout' }])
  assert.equal(first?.parentSpanId, '')
  assert.deepEqual(lines, [])
  await collector.close()
})
