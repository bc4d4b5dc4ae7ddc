import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '@assay/model/errors'
import { createLog } from './log.ts'

async function lines(format: 'json' | 'text', write: (log: ReturnType<typeof createLog>) => void) {
  const written: string[] = []
  write(createLog({ level: 'info', format, stream: { write: (line) => written.push(line) } }))
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  return written.join('')
}

test('writes one JSON object a line with its time, and nothing below its level', async () => {
  const text = await lines('json', (log) => {
    log.info({ assignment_id: 'a-1' }, 'a job ended')
    log.debug('not shown')
    log.warn('slow')
  })
  const rows = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    rows.map(({ level, msg, assignment_id }) => [level, msg, assignment_id]),
    [
      ['info', 'a job ended', 'a-1'],
      ['warn', 'slow', undefined],
    ],
  )
  assert.match(String(rows[0]?.time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

test('writes short text for a terminal, an error with its stack', async () => {
  const text = await lines('text', (log) => {
    log.info({ assignment_id: 'a-1', count: 2 }, 'a job ended')
    log.error({ err: new Error('broken') }, 'a service failed')
  })
  assert.match(text, /^\d\d:\d\d:\d\d info {2}a job ended assignment_id=a-1 count=2\n/)
  assert.match(text, /ERROR a service failed\n?.*Error: broken\n/s)
})

test('hides tokens, passwords and headers', async () => {
  const text = await lines('json', (log) => {
    log.info({ token: 'assay_x', headers: { a: 'hidden-1' }, user: { password: 'hidden-2' } }, 'm')
    log.info({ request: { authorization: 'Bearer hidden-3' } }, 'm')
  })
  assert.doesNotMatch(text, /assay_x|hidden-/)
  assert.match(text, /••••/)
})

test('quotes text that could forge a line or steer the terminal', async () => {
  const text = await lines('text', (log) => {
    log.info({ detail: 'x\n12:00:00 info  ready', colour: '\u001b[31m', name: 'Zoë 東京' }, 'm')
  })
  assert.equal(text.split('\n').length, 2)
  assert.ok(!text.includes('\u001b'))
  assert.match(text, /name=Zoë 東京/)
})

test('a store that is away is told of at once, and then every half minute with how often it was not', () => {
  let now = 0
  const written: { msg: string; unsaid?: number }[] = []
  const stream = { write: (line: string) => written.push(JSON.parse(line) as { msg: string }) }
  const log = createLog({ level: 'info', format: 'json', stream, now: () => now })
  const child = log.child({ of: 'a child' })
  const away = (): AppError => new AppError('store_unavailable', 'It is away.')
  for (; now < 70_000; now += 250) {
    log.warn({ err: away() }, 'jobs could not be claimed')
    child.warn({ err: away() }, 'deliveries could not be claimed')
    if (now % 35_000 === 0) log.warn({ err: new Error('broken') }, 'jobs could not be claimed')
    if (now % 35_000 === 0) log.info('a job ended')
  }
  const told = (text: string) => written.filter(({ msg }) => msg === text).map(({ unsaid }) => unsaid)
  assert.deepEqual(told('deliveries could not be claimed'), [undefined, 119, 119])
  assert.deepEqual(told('jobs could not be claimed'), [undefined, undefined, 119, undefined, 119])
  assert.equal(told('a job ended').length, 2)
})
