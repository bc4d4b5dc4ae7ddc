import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { openTestServer, type TestServer } from '../test-server.ts'
import { createChanges } from './changes.ts'
import { liveEvents } from './job-events.ts'

interface Told {
  id: number | null
  name: string
  data: Record<string, unknown>
}

function parse(text: string): Told[] {
  const blocks = text.split('\n\n').filter((block) => block.includes('event: '))
  return blocks.map((block) => ({
    id: /^id: (\d+)$/m.exec(block) ? Number(/^id: (\d+)$/m.exec(block)![1]) : null,
    name: /^event: (\w+)$/m.exec(block)![1]!,
    data: JSON.parse(/^data: (.*)$/m.exec(block)![1]!) as Record<string, unknown>,
  }))
}

async function newJob({ ask }: TestServer): Promise<string> {
  return (
    await ask('POST', '/v1alpha/jobs', { body: { payload: { type: 'template', template_id: 'hello' } } })
  ).json()
}

const run = ({ ask }: TestServer, assignment_id: string) =>
  ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })

/**
 * Reads the stream up to the word. If the stream ended before the word, the loop would never give a time limit its
 * pass of the event loop.
 */
async function readTo(word: string, reader: ReadableStreamDefaultReader<string>): Promise<string> {
  let text = ''
  while (!text.includes(word)) {
    const { done, value } = await reader.read()
    assert.ok(!done, `The stream ended before "${word}": ${text}`)
    text += value
  }
  return text
}

test('tells the present state first, then each change, and ends with the job', async (t) => {
  const opened = await openTestServer(t)
  const address = await opened.api.listen()
  const id = await newJob(opened)
  const response = await fetch(`${address}/v1alpha/jobs/events?assignment_id=%22${id}%22`, {
    headers: { authorization: `Bearer ${opened.tokens.viewer}` },
  })
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.equal(response.headers.get('cache-control'), 'no-store')
  assert.ok(response.headers.get('x-request-id'))
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = await readTo('draft', reader)
  await run(opened, id)
  if (!text.includes('queued')) text += await readTo('queued', reader)
  const insight_id = await opened.complete(id)
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
  const told = parse(text).filter((event) => event.name === 'status')
  assert.deepEqual(
    told.map((event) => [event.id, event.data.job_status]),
    [
      [1, 'draft'],
      [2, 'queued'],
      [3, 'active'],
      [4, 'executing'],
      [5, 'completed'],
    ],
  )
  assert.equal(told.at(-1)?.data.insight_id, insight_id)
  assert.equal(told[1]?.data.insight_id, null)
})

test('takes a stream up again behind the last event that the client has', async (t) => {
  const opened = await openTestServer(t)
  const id = await newJob(opened)
  await run(opened, id)
  await opened.complete(id)
  const from = (last: string) =>
    opened.ask('GET', `/v1alpha/jobs/events?assignment_id=${id}`, { headers: { 'last-event-id': last } })
  const told = parse((await from('3')).text)
  assert.deepEqual(
    told.map((event) => event.data.job_status),
    ['executing', 'completed'],
  )
  const whole = parse((await from('')).text)
  assert.deepEqual(
    whole.map((event) => [event.id, event.data.job_status]),
    [[5, 'completed']],
  )
  assert.equal((await from('5')).status, 204, 'the client has seen the end: it is told not to come back')
  assert.equal((await from('99')).status, 204)
  assert.equal((await from('two')).status, 422)
})

test('tells progress at most once a second, without an id, and shows that it is alive', async (t) => {
  const opened = await openTestServer(t)
  const id = await newJob(opened)
  const clock = new FakeClock()
  const job = (await opened.store.getJob({ workspace_id: 'default', assignment_id: id }))!
  let wake: (hint: { topic: 'job'; assignment_id: string }) => void = () => undefined
  const changes = createChanges({ subscribe: (listener) => ((wake = listener), () => undefined) }, clock)
  let percent = 0
  const look = () => Promise.resolve({ ...job, progress: { percent, step: 1, steps: 2, label: 'reading' } })
  const stopping = new AbortController()
  const stream = liveEvents({ changes, clock }, { job, seen: null, look }, stopping.signal)
  assert.equal((await stream.next()).value, 'retry: 1000\n\n')
  assert.match(String((await stream.next()).value), /draft/)

  percent = 10
  const first = stream.next()
  wake({ topic: 'job', assignment_id: id })
  clock.advance(1000)
  assert.deepEqual(
    parse(String((await first).value)).map((event) => [event.id, event.name, event.data.percent]),
    [[null, 'progress', 10]],
  )

  percent = 20
  let told = false
  const second = stream.next().finally(() => (told = true))
  for (let count = 0; count < 20; count += 1) {
    wake({ topic: 'job', assignment_id: id })
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(told, false, 'hints within the second tell nothing')
  clock.advance(1000)
  assert.equal(parse(String((await second).value))[0]?.data.percent, 20)

  const third = stream.next()
  for (let second = 0; second < 16; second += 1) {
    clock.advance(1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal((await third).value, ': still here\n\n')
  stopping.abort()
  assert.equal((await stream.next()).done, true)
})

test('lets go of a stream when the client has gone', async (t) => {
  const opened = await openTestServer(t)
  const address = await opened.api.listen()
  const id = await newJob(opened)
  const getJob = opened.store.getJob.bind(opened.store)
  let looks = 0
  t.mock.method(opened.store, 'getJob', (input: Parameters<typeof getJob>[0]) => {
    looks += 1
    return getJob(input)
  })
  const control = new AbortController()
  const response = await fetch(`${address}/v1alpha/jobs/events?assignment_id=${id}`, {
    headers: { authorization: `Bearer ${opened.tokens.viewer}` },
    signal: control.signal,
  })
  await response.body!.getReader().read()
  control.abort()
  const closed = await fetch(`${address}/healthz`).then((answer) => answer.text())
  assert.ok(closed.length > 0)
  const before = looks
  await run(opened, id)
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(looks - before <= 1)
})

test('ends a stream when its token expires, and then answers 401', async (t) => {
  const clock = new FakeClock()
  const opened = await openTestServer(t, { clock })
  const address = await opened.api.listen()
  const expires_at = new Date(clock.now() + 10_000).toISOString()
  const made = await opened.ask('POST', '/v1alpha/tokens', {
    body: { name: 'short', scopes: ['viewer'], expires_at },
  })
  const id = await newJob(opened)
  const follow = () =>
    fetch(`${address}/v1alpha/jobs/events?assignment_id=${id}`, {
      headers: { authorization: `Bearer ${made.json().token}` },
    })
  const reader = (await follow()).body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = await readTo('draft', reader)
  const rest = reader.read()
  clock.advance(10_001)
  await run(opened, id)
  for (let part = await rest; !part.done; part = await reader.read()) text += part.value
  assert.doesNotMatch(text, /queued/)
  assert.equal((await follow()).status, 401)
})
