import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import {
  type Client,
  ClientError,
  type ClientOptions,
  createClient,
  JobFailed,
  type JobView,
} from './client.ts'

/** Starts a service that answers as the test says. */
async function against(
  listener: RequestListener,
  use: (client: Client, url: string) => Promise<void>,
): Promise<void> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    await use(createClient({ url: `${url}/`, token: 'a-token-for-tests', retries: 2 }), url)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const PROBLEM = {
  type: 'about:blank',
  title: 'Away',
  status: 503,
  detail: 'Come back.',
  code: 'store_unavailable',
}

test('sends the token, the key and the payload of the interface', async () => {
  let seen: { url: string | undefined; headers: Record<string, unknown>; body: unknown } | undefined
  const listener: RequestListener = (request, response) => {
    void answer(request, response)
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    seen = { url: request.url, headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) }
    response.writeHead(200, { 'content-type': 'application/json' }).end('"an-id"')
  }
  await against(listener, async (client) => {
    const id = await client.jobs.create(
      { template_id: 't', template_vars: { a: 1 } },
      { idempotencyKey: 'k' },
    )
    assert.equal(id, 'an-id')
  })
  assert.equal(seen?.url, '/v1alpha/jobs/')
  assert.equal(seen?.headers.authorization, 'Bearer a-token-for-tests')
  assert.equal(seen?.headers['idempotency-key'], 'k')
  assert.deepEqual(seen?.body, { payload: { type: 'template', template_id: 't', template_vars: { a: 1 } } })
})

test('no name leads to another operation', async () => {
  const asked: unknown[] = []
  const listener: RequestListener = ({ method, url }, response) => {
    asked.push(`${method} ${url}`)
    response.writeHead(204).end()
  }
  await against(listener, async (client) => {
    const refused = { name: 'ClientError', code: 'invalid' }
    for (const name of ['../jobs/an-id', 'a/../../jobs/an-id', './a.csv', '..', '', 'a/'])
      await assert.rejects(async () => client.files.delete(name), refused, name)
    await assert.rejects(async () => client.jobs.delete('..'), refused)
    await client.jobs.delete('../files/a.csv')
    await client.files.delete('..a/b c/é#?.csv')
  })
  assert.deepEqual(asked, [
    'DELETE /v1alpha/jobs/..%2Ffiles%2Fa.csv',
    'DELETE /v1alpha/files/..a/b%20c/%C3%A9%23%3F.csv',
  ])
})

test('asks again after 503 and a cut connection where a repeat is harmless, under one key', async (t) => {
  t.mock.method(Math, 'random', () => 0)
  const keys: unknown[] = []
  const listener: RequestListener = (request, response) => {
    keys.push(request.headers['idempotency-key'])
    if (keys.length === 1) response.writeHead(503, { 'retry-after': '0' }).end(JSON.stringify(PROBLEM))
    else if (keys.length === 2) request.socket.destroy()
    else response.writeHead(200).end('"an-id"')
  }
  await against(listener, async (client) => {
    assert.equal(await client.jobs.create({ template_id: 't' }), 'an-id')
  })
  assert.equal(keys.length, 3)
  assert.equal(new Set(keys).size, 1)
  assert.ok(keys[0])
})

test('gives up after its repeats with the problem that it met', async (t) => {
  t.mock.method(Math, 'random', () => 0)
  let asked = 0
  const listener: RequestListener = (_request, response) => {
    asked += 1
    response.writeHead(503, { 'retry-after': '0' }).end(JSON.stringify(PROBLEM))
  }
  await against(listener, async (client) => {
    await assert.rejects(client.templates.list(), (error: unknown) => {
      assert.ok(error instanceof ClientError)
      assert.deepEqual([error.status, error.code, error.message], [503, 'store_unavailable', 'Come back.'])
      return true
    })
  })
  assert.equal(asked, 3)
})

test('a POST that may count twice is sent once', async () => {
  let asked = 0
  const listener: RequestListener = (request) => {
    asked += 1
    request.socket.destroy()
  }
  await against(listener, async (client) => {
    await assert.rejects(client.webhooks.test('w'), { code: 'unreachable', status: 0 })
  })
  assert.equal(asked, 1)
})

test('follows a job through a stream that is cut in the middle', async () => {
  const job = { assignment_id: 'a', job_status: 'queued', progress: { percent: 0 } }
  let streams = 0
  let done = false
  const listener: RequestListener = (request, response) => {
    if (request.url!.startsWith('/v1alpha/jobs/status')) {
      response.end(JSON.stringify({ ...job, job_status: done ? 'completed' : 'queued' }))
      return
    }
    streams += 1
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (streams === 1) {
      response.write('id: 2\nevent: status\ndata: {"job_status":"executing"}\n\nevent: prog')
      setImmediate(() => response.destroy())
      return
    }
    done = true
    response.write('event: progress\ndata: {"percent":50}\n\n: still here\n\n')
    response.end('id: 3\nevent: status\ndata: {"job_status":"completed"}\n\n')
  }
  await against(listener, async (client) => {
    const seen: [string, number][] = []
    const ended = await client.jobs.wait('a', {
      onChange: ({ job_status, progress }) => seen.push([job_status, progress.percent]),
    })
    assert.equal(ended.job_status, 'completed')
    assert.deepEqual(seen, [
      ['queued', 0],
      ['executing', 0],
      ['queued', 0],
      ['queued', 50],
      ['completed', 0],
    ])
  })
})

test('stops waiting when its signal is aborted', async () => {
  const listener: RequestListener = (request, response) => {
    const job = JSON.stringify({ assignment_id: 'a', job_status: 'queued' })
    if (request.url!.startsWith('/v1alpha/jobs/status')) response.end(job)
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n')
  }
  await against(listener, async (client) => {
    const control = new AbortController()
    const waiting = client.jobs.wait('a', {
      signal: control.signal,
      onChange: () => setImmediate(() => control.abort()),
    })
    await assert.rejects(waiting, { name: 'AbortError' })
  })
})

test('who leaves the loop over a job closes its stream, and leaves nothing at its signal', {
  timeout: 30_000,
}, async () => {
  const closed = Promise.withResolvers<void>()
  const listener: RequestListener = (request, response) => {
    const job = JSON.stringify({ assignment_id: 'a', job_status: 'queued' })
    if (request.url!.startsWith('/v1alpha/jobs/status')) {
      response.end(job)
      return
    }
    response.on('close', () => closed.resolve())
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: status\ndata: {"job_status":"executing"}\n\n')
  }
  await against(listener, async (client) => {
    const { signal } = new AbortController()
    for await (const { job_status } of client.jobs.watch('a', signal)) if (job_status === 'executing') break
    assert.equal(getEventListeners(signal, 'abort').length, 0)
    await closed.promise
  })
})

test('lists what is wrong with each field', async () => {
  const errors = [
    { path: 'payload.a', message: 'must be text' },
    { path: 'payload.b', message: 'is not known' },
  ]
  const problem = { ...PROBLEM, status: 422, title: 'The request is not valid', code: 'invalid', errors }
  const listener: RequestListener = (_request, response) => {
    response.writeHead(422, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
  }
  await against(listener, async (client) => {
    await assert.rejects(client.jobs.create({ template_id: 't' }), {
      message: 'The request is not valid:\n  payload.a: must be text\n  payload.b: is not known',
    })
  })
})

type Answer = (address: URL, init: RequestInit) => Response | Error

/** Makes a client whose requests get the answers in order. The last answer is repeated. */
function answered(answers: Answer[], options: Partial<ClientOptions> = {}) {
  const asked: { path: string; init: RequestInit }[] = []
  const client = createClient({
    url: 'https://assay.example',
    token: 'a-token-for-tests',
    fetch: async (input, init = {}) => {
      const address = new URL(input instanceof Request ? input.url : input)
      const answer = answers[Math.min(asked.length, answers.length - 1)]!(address, init)
      asked.push({ path: address.pathname + address.search, init })
      if (answer instanceof Error) throw answer
      return answer
    },
    ...options,
  })
  return { client, asked }
}

/** Makes pauses end at once and records them. Every random number is one half. */
function pausesOf(t: TestContext): number[] {
  const pauses: number[] = []
  t.mock.method(Math, 'random', () => 0.5)
  t.mock.method(globalThis, 'setTimeout', (done: () => void, ms: number) => {
    // The time limit of a request never passes.
    if (ms === 60_000) return
    pauses.push(ms)
    queueMicrotask(done)
  })
  return pauses
}

const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT'
const away =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    Response.json({ ...PROBLEM, status }, { status, headers })

test('waits as Retry-After asks, in seconds or until a date of the clock of the service, and a random time that grows', async (t) => {
  const pauses = pausesOf(t)
  const { client, asked } = answered([
    away(429, { 'retry-after': '3' }),
    away(503, { date: DATE, 'retry-after': 'Sun, 06 Nov 1994 08:49:44 GMT' }),
    () => new Response('<h1>502 Bad Gateway</h1>', { status: 502, headers: { 'content-type': 'text/html' } }),
    () => new Response('<h1>504 Gateway Time-out</h1>', { status: 504 }),
    () => new TypeError('fetch failed'),
    () => Response.json('an-id'),
  ])
  assert.equal(await client.jobs.create({ template_id: 't' }), 'an-id')
  assert.deepEqual(pauses, [3000 + 200, 7000 + 400, 800, 1600, 3200])
  const keys = asked.map(({ init }) => new Headers(init.headers).get('idempotency-key'))
  assert.equal(new Set(keys).size, 1)
  assert.ok(keys[0])
})

test('repeats what is under way with the same key, and neither other refusals nor a POST without a key', async (t) => {
  const pauses = pausesOf(t)
  const under = { ...PROBLEM, status: 409, code: 'idempotency_in_progress' }
  const busy = answered([() => Response.json(under, { status: 409 }), () => Response.json('an-id')])
  assert.equal(await busy.client.jobs.create({ template_id: 't' }), 'an-id')
  assert.equal(pauses.length, 1)
  for (const [status, code] of [
    [409, 'job_unfinished'],
    [500, 'internal'],
  ] as const) {
    const { client, asked } = answered([() => Response.json({ ...PROBLEM, code }, { status })])
    await assert.rejects(client.templates.list(), { code })
    assert.equal(asked.length, 1)
  }
  const strange = answered([() => Response.json({ message: 'Forbidden' }, { status: 403 })])
  await assert.rejects(strange.client.templates.list(), /was answered 403 without a problem document/)
  const once = answered([() => new Response('<h1>504</h1>', { status: 504 })])
  await assert.rejects(once.client.webhooks.test('w'), {
    status: 504,
    message:
      'POST https://assay.example/v1alpha/webhooks/w/test was answered 504 without a problem document, so by a proxy or another service: check the address.',
  })
  assert.equal(once.asked.length, 1)
})

test('a service that asks for more than a minute is not waited for', async () => {
  const { client, asked } = answered([away(429, { 'retry-after': '61' })])
  await assert.rejects(client.templates.list(), { status: 429, retryAfterMs: 61_000 })
  assert.equal(asked.length, 1)
})

test('gives up a request that is not answered in time, also one whose answer stops in the middle', async (t) => {
  t.mock.method(Math, 'random', () => 0)
  let asked = 0
  const listener: RequestListener = (_request, response) => {
    asked += 1
    if (asked > 1) response.writeHead(200, { 'content-type': 'application/json' }).write('[')
  }
  await against(listener, async (_client, url) => {
    const client = createClient({ url, token: 't', retries: 1, timeoutMs: 200 })
    await assert.rejects(client.templates.list(), {
      status: 0,
      code: 'timeout',
      message: `GET ${url}/v1alpha/jobs/templates was not answered within 0.2 seconds.`,
    })
    assert.equal(asked, 2)
    await assert.rejects(client.templates.list({ timeoutMs: 0 }), /timeoutMs must be a number/)
  })
  assert.equal(asked, 2)
})

test('asks again for an answer whose connection breaks in its middle', async (t) => {
  t.mock.method(Math, 'random', () => 0)
  let asked = 0
  const listener: RequestListener = (_request, response) => {
    asked += 1
    if (asked > 1) response.end('[]')
    else response.writeHead(200, { 'content-length': 100 }).write('[', () => response.destroy())
  }
  await against(listener, async (client) => assert.deepEqual(await client.templates.list(), []))
  assert.equal(asked, 2)
})

test('says so when a page answers in place of the interface, and when the address is none', async () => {
  const page = (): Response =>
    new Response('<!doctype html>', { headers: { 'content-type': 'text/html; charset=utf-8' } })
  const { client, asked } = answered([page], { url: 'https://assay.example/console/' })
  await assert.rejects(client.templates.list(), {
    code: 'not_assay',
    message:
      'GET https://assay.example/console/v1alpha/jobs/templates was answered with a page (text/html), so "https://assay.example/console/" is not the address of the interface: write that of the service, such as http://127.0.0.1:8080.',
  })
  assert.equal(asked.length, 1)
  assert.equal(await client.jobs.html('an-insight'), '<!doctype html>')
  const whole = answered([() => Response.json([])], { url: 'https://assay.example/v1alpha/' })
  await whole.client.templates.list()
  assert.equal(whole.asked[0]!.path, '/v1alpha/jobs/templates')
  for (const url of ['localhost:8080', 'assay.example', ''])
    assert.throws(() => createClient({ url, token: null }), /is not an address: write it as http:/)
})

test('an iterator reads page after page, no more than is asked for, and ends where a list that goes forward does', async () => {
  const page = (items: unknown[], next_cursor: string | null) => () => Response.json({ items, next_cursor })
  const { client, asked } = answered([page([1, 2], 'a'), page([], 'b'), page([3], null)])
  const found: unknown[] = []
  for await (const item of client.links.all('an-insight', { limit: 2 })) found.push(item)
  assert.deepEqual(found, [1, 2, 3])
  assert.deepEqual(
    asked.map(({ path }) => path),
    ['?limit=2', '?limit=2&cursor=a', '?limit=2&cursor=b'].map(
      (query) => `/v1alpha/insights/an-insight/links${query}`,
    ),
  )
  const early = answered([page([1, 2], 'a')])
  for await (const job of early.client.jobs.all({ job_status: 'completed' })) if (job) break
  assert.deepEqual(
    early.asked.map(({ path }) => path),
    ['/v1alpha/jobs/?job_status=completed'],
  )
  const forward = answered([page([1], 'a'), page([], 'a')])
  const events = await Array.fromAsync(forward.client.events.all({ order: 'oldest' }))
  assert.deepEqual([events.length, forward.asked.length], [1, 2])
})

test('runs a template to its insight, also when it ran before under the same key, and throws for a job without one', async () => {
  const serve =
    (job: object): Answer =>
    ({ pathname }) => {
      const way = pathname.slice('/v1alpha/jobs/'.length)
      if (way === '') return Response.json('an-id')
      if (way === 'run') return Response.json({ ...PROBLEM, status: 409, code: 'job_final' }, { status: 409 })
      return Response.json(way === 'status' ? job : { insight_id: 'an-insight', markdown: '# Delays' })
    }
  const done = answered([serve({ job_status: 'completed', insight_id: 'an-insight' })])
  const seen: string[] = []
  const options = {
    idempotencyKey: 'monday',
    priority: 5,
    onChange: (job: JobView) => seen.push(job.job_status),
  }
  const { markdown } = await done.client.jobs.runAndWait('flight-delays', { origin: 'ORD' }, options)
  assert.deepEqual([markdown, seen], ['# Delays', ['completed']])
  const { init } = done.asked[0]!
  assert.equal(new Headers(init.headers).get('idempotency-key'), 'monday')
  assert.deepEqual(JSON.parse(init.body as string), {
    payload: {
      type: 'template',
      template_id: 'flight-delays',
      template_vars: { origin: 'ORD' },
      priority: 5,
    },
  })
  const error = { code: 'analysis_failed', detail: 'The column "n" is not there.' }
  const control = new AbortController()
  const reading = answered([
    (address, init) => {
      if (address.pathname.endsWith('/result')) control.abort()
      return init.signal!.aborted
        ? (init.signal!.reason as Error)
        : serve({ job_status: 'completed', insight_id: 'an-insight' })(address, init)
    },
  ])
  const stopped = reading.client.jobs.runAndWait('flight-delays', {}, { signal: control.signal })
  await assert.rejects(stopped, { name: 'AbortError' })
  const failed = answered([serve({ job_status: 'canceled', insight_id: null, error })])
  await assert.rejects(failed.client.jobs.runAndWait('flight-delays'), (thrown: unknown) => {
    assert.ok(thrown instanceof JobFailed)
    assert.deepEqual(
      [thrown.code, thrown.message],
      ['analysis_failed', 'analysis_failed: The column "n" is not there.'],
    )
    return true
  })
})
