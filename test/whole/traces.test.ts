/**
 * Tests traces beside the whole service: one job is one trace, nothing is sent without an endpoint, and a bad
 * collector harms nothing.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createClient } from '@assay/client'
import { type KeptSpan, startCollector } from '../servers/collector.ts'
import { modes, startReceiver } from '../servers/receiver.ts'
import { eventually, type Service, startService, temporaryFolder } from '../servers/service.ts'

const TOKEN = 'assay-traces-test-token'
const SECRET = 'Bearer the-collector-s-secret'
const { folder, remove } = temporaryFolder()
const open: { close(): Promise<void> }[] = []
const services: Service[] = []
after(async () => {
  for (const service of services) service.signal('SIGKILL')
  await Promise.all(services.map(({ exited }) => exited))
  for (const each of open) await each.close()
  remove()
})

/** A file of the names of OpenTelemetry modules that a process loads. prom-client also loads its `api`. */
const loads = path.join(folder, 'loads')
const watcher = path.join(folder, 'watch-loads.mjs')
writeFileSync(loads, '')
writeFileSync(
  watcher,
  `import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) {
  if (/@opentelemetry\\/(?!api\\/)/.test(url)) appendFileSync(${JSON.stringify(loads)}, url + '\\n')
  return next(url, context)
} })
`,
)

async function serve(name: string, env: Record<string, string> = {}) {
  const service = await startService({
    home: path.join(folder, name),
    wrapped: false,
    env: {
      ASSAY_TOKEN: TOKEN,
      ASSAY_WORKERS: '1',
      NODE_OPTIONS: `--import ${pathToFileURL(watcher).href}`,
      ...env,
    },
  })
  services.push(service)
  return { service, client: createClient({ url: service.url, token: TOKEN }) }
}

type Served = Awaited<ReturnType<typeof serve>>

async function stop({ service }: Served): Promise<number> {
  const began = performance.now()
  service.signal('SIGTERM')
  assert.equal(await service.exited, 0, service.log())
  return performance.now() - began
}

async function runJob({ client }: Served): Promise<string> {
  const assignment_id = await client.jobs.create({ template_id: 'nile-flow', presence_name: 'traced' })
  await client.jobs.run(assignment_id)
  assert.equal((await client.jobs.wait(assignment_id)).job_status, 'completed')
  return assignment_id
}

async function receiverOf({ client }: Served, headers: { name: string; value: string }[] = []) {
  const receiver = await startReceiver({ mode: modes.ok() })
  open.push(receiver)
  const url = `${receiver.url}/hook?key=hush-hush`
  await client.webhooks.create({ url, user_id: 'ada', presence_name: 'traced', headers })
  return receiver
}

const named = (spans: KeptSpan[], name: string): KeptSpan[] => spans.filter((span) => span.name === name)
const parentOfTraceparent = (header: unknown): string => String(header).split('-')[2]!

test('one job is one trace: its creation, its run, its attempt, and each delivery attempt', async () => {
  const collector = await startCollector()
  open.push(collector)
  const traced = await serve('traced', {
    ASSAY_TRACES: collector.url,
    ASSAY_TRACES_HEADERS: `authorization=${encodeURIComponent(SECRET)}`,
  })
  const receiver = await receiverOf(traced, [{ name: 'x-shared', value: 'between-us' }])
  const own = await receiverOf(traced, [{ name: 'Traceparent', value: 'of-its-own' }])
  const assignment_id = await runJob(traced)
  const arrival = await receiver.next()
  assert.equal((await own.next()).headers.traceparent, 'of-its-own')
  await stop(traced)

  assert.equal(collector.arrivals[0]!.path, '/v1/traces')
  assert.equal(collector.arrivals[0]!.headers.authorization, SECRET)
  const all = collector.spans()
  const trace = assignment_id.replaceAll('-', '')
  const spans = all.filter(({ traceId }) => traceId === trace)
  const [created, ...others] = named(spans, 'job created')
  assert.ok(created)
  assert.deepEqual(others, [])
  assert.deepEqual([created.parentSpanId, created.spanId], ['', trace.slice(16)])
  assert.equal(created.attributes.template_id, 'nile-flow')

  const [job] = named(spans, 'job')
  const [request] = named(spans, 'job run request')
  const attempts = named(spans, 'delivery attempt')
  assert.equal(attempts.length, 2)
  for (const span of [job!, request!, ...attempts]) assert.equal(span.parentSpanId, created.spanId, span.name)
  assert.deepEqual(
    [job!.attributes.assignment_id, job!.attributes.attempt, job!.attributes.outcome, job!.error],
    [assignment_id, 1, 'completed', null],
  )
  assert.ok((job!.attributes.queue_wait_ms as number) >= 0)

  const attempt = attempts.find(({ spanId }) => spanId === parentOfTraceparent(arrival.headers.traceparent))
  assert.equal(arrival.headers.traceparent, `00-${trace}-${attempt?.spanId}-01`)
  assert.deepEqual(
    [
      attempt?.attributes.outcome,
      attempt?.attributes['http.response.status_code'],
      attempt?.attributes.attempt,
    ],
    ['delivered', 200, 1],
  )
  assert.ok(attempt?.events.includes('connect') && attempt.events.includes('first_byte'))

  // The request that created the job has a trace of its own. Each trace links to the other.
  const [post] = named(all, 'POST /v1alpha/jobs/')
  assert.notEqual(post!.traceId, trace)
  assert.deepEqual(post!.links, [{ traceId: trace, spanId: created.spanId }])
  assert.deepEqual(created.links, [{ traceId: post!.traceId, spanId: post!.spanId }])
  assert.equal(new Set(all.map(({ node }) => node)).size, 1)
  const sent = collector.arrivals.map(({ body }) => body.toString('utf8')).join('')
  for (const hidden of [TOKEN, 'hush-hush', 'between-us', 'the-collector', '/hook', '127.0.0.1'])
    assert.ok(!sent.includes(hidden), hidden)
  assert.ok(
    readFileSync(loads, 'utf8').includes('exporter-trace-otlp-http'),
    'the watcher sees what is loaded',
  )
  assert.ok(!traced.service.log().includes(SECRET))
})

test('a request continues the trace of its caller, and is not recorded if the caller does not record', async () => {
  const collector = await startCollector()
  open.push(collector)
  const traced = await serve('callers', { ASSAY_TRACES: `${collector.url}/v1/traces/` })
  const get = (traceparent: string): Promise<Response> =>
    fetch(`${traced.service.url}/v1alpha/jobs/templates`, {
      headers: { authorization: `Bearer ${TOKEN}`, traceparent },
    })
  const [trace, other, unknown] = ['a', 'b', 'c'].map((digit) => digit.repeat(32)) as [string, string, string]
  await get(`00-${trace}-1234567890abcdef-01`)
  await get(`00-${other}-1234567890abcdef-00`)
  for (const broken of [`00-${unknown}-1234567890abcdef`, `ff-${unknown}-1234567890abcdef-01`, 'x', ''])
    assert.equal((await get(broken)).status, 200)
  await fetch(`${traced.service.url}/no/such/hush-hush?key=hush-hush`)
  await fetch(`${traced.service.url}/healthz`)
  await stop(traced)

  const spans = collector.spans()
  const lists = named(spans, 'GET /v1alpha/jobs/templates')
  assert.equal(lists.length, 5)
  assert.deepEqual(
    lists
      .filter(({ parentSpanId }) => parentSpanId !== '')
      .map(({ traceId, parentSpanId }) => [traceId, parentSpanId]),
    [[trace, '1234567890abcdef']],
  )
  assert.ok(spans.every(({ traceId }) => traceId !== other && traceId !== unknown))
  assert.equal(lists[0]!.attributes['http.response.status_code'], 200)
  assert.deepEqual(named(spans, 'GET /healthz'), [])
  assert.ok(!JSON.stringify(spans).includes('hush-hush'))
})

/** The milliseconds of a stop without a collector, on this machine with its present load. */
let usualStopMs = 0

test('without an endpoint nothing that traces is loaded, and webhooks bear no traceparent', async () => {
  writeFileSync(loads, '')
  const plain = await serve('plain')
  const receiver = await receiverOf(plain)
  await runJob(plain)
  assert.equal((await receiver.next()).headers.traceparent, undefined)
  usualStopMs = await stop(plain)
  assert.equal(readFileSync(loads, 'utf8'), '')
})

describe('a collector', { concurrency: true }, () => {
  for (const [name, mode] of [
    ['hangs', modes.hang()],
    ['answers 500', modes.status(500, {}, 'no')],
  ] as const) {
    test(`that ${name} loses no job, holds up no stop, and is told of in one line`, async () => {
      const collector = await startCollector(mode)
      open.push(collector)
      const traced = await serve(name.replace(' ', '-'), { ASSAY_TRACES: collector.url, ASSAY_DRAIN: '1s' })
      const receiver = await receiverOf(traced)
      for (let job = 0; job < 3; job += 1) {
        await runJob(traced)
        await receiver.next()
      }
      await eventually(() => collector.arrivals.length > 0, 'spans are sent')
      const told = (): number => traced.service.log().split('traces could not be sent').length - 1
      await eventually(() => told() > 0, 'it is told')
      await runJob(traced)
      assert.equal((await receiver.next()).method, 'POST')
      const took = await stop(traced)
      assert.ok(took < 4000 + 2 * usualStopMs, `it stopped in ${took} ms, as a rule in ${usualStopMs} ms`)
      assert.equal(told(), 1)
    })
  }
})
