import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type Client, ClientError, createClient } from './client.ts'

/** A service that answers as it is told. */
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

test('asks again after 503 and a cut connection where a repeat is harmless, under one key', async () => {
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

test('gives up after its repeats with the problem that it met', async () => {
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
