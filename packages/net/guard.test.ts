import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { after, describe, test } from 'node:test'
import { request } from 'undici'
import { FORBIDDEN_ADDRESSES, FORBIDDEN_URLS } from '../../test/hostile/ssrf-vectors.ts'
import { modes, type Receiver, selfSigned, startReceiver, startTrap } from '../../test/servers/receiver.ts'
import { ConnectionReport, createGuard, type Guard, type GuardOptions } from './guard.ts'
import type { Resolve } from './resolve.ts'
import { parseTargets } from './target.ts'
import { BlockedError, ResolveError } from './unreached.ts'

/** Here loopback stands for the inside, except this address, which stands for the public receiver. */
const OUTSIDE = '127.0.0.2'

const open: { close(): Promise<void> }[] = []
after(async () => {
  for (const each of open.toReversed()) await each.close()
})

function keep<T extends { close(): Promise<void> }>(each: T): T {
  open.push(each)
  return each
}

function guardOf(options: Partial<GuardOptions> = {}): Guard {
  return keep(createGuard({ targets: parseTargets([OUTSIDE]), ...options }))
}

const trap = keep(await startTrap())
const outside: Server = createServer((incoming, response) => {
  response.setHeader('x-host', incoming.headers.host ?? '')
  if (incoming.url === '/redirect')
    response.writeHead(302, { location: `http://127.0.0.1:${trap.port}/` }).end()
  else response.end('outside')
})
/** The server uses the trap's port, so that only the address tells the two apart. */
await new Promise<void>((resolve) => outside.listen(trap.port, OUTSIDE, resolve))
open.push({ close: () => new Promise((resolve) => outside.close(() => resolve())) })

const PORT = trap.port

async function post(guard: Guard, url: string): Promise<string> {
  const answer = await request(url, { method: 'POST', body: 'x', dispatcher: guard.dispatcher })
  return `${answer.statusCode} ${await answer.body.text()}`
}

function answering(...answers: string[][]): { resolve: Resolve; asked(): number } {
  let asked = 0
  return {
    asked: () => asked,
    async resolve() {
      asked += 1
      return answers[Math.min(asked, answers.length) - 1]!
    },
  }
}

describe('addresses of the inside', () => {
  test('no spelling of a literal reaches a forbidden address', async () => {
    const guard = guardOf({ targets: parseTargets(['public']) })
    for (const text of FORBIDDEN_URLS.filter((url) => URL.canParse(url))) {
      const url = new URL(text)
      if (!/^(127\.|0\.|\[)/.test(url.hostname)) continue
      url.username = ''
      url.password = ''
      url.port = String(PORT)
      await assert.rejects(post(guard, url.href), BlockedError, text)
    }
    assert.equal(trap.connections(), 0)
  })

  test('no name that resolves to a forbidden address is dialed, in whatever form the resolver gives it', async () => {
    for (const ip of Object.values(FORBIDDEN_ADDRESSES).flat()) {
      const guard = guardOf({ targets: parseTargets(['public']), resolve: async () => [ip] })
      await assert.rejects(post(guard, `http://receiver.test:${PORT}/`), BlockedError, ip)
      await guard.close()
    }
    assert.equal(trap.connections(), 0)
  })

  test('a name that changes its answer is judged at every connect and dialed at the judged address', async () => {
    const liar = answering([OUTSIDE], ['127.0.0.1'], [OUTSIDE], ['::ffff:127.0.0.1'])
    const guard = guardOf({ resolve: liar.resolve })
    const ask = async (): Promise<string> => {
      const answer = await request(`http://rebind.test:${PORT}/`, {
        dispatcher: guard.dispatcher,
        reset: true,
      })
      return answer.body.text()
    }
    assert.equal(await ask(), 'outside')
    await assert.rejects(ask, BlockedError)
    assert.equal(await ask(), 'outside')
    await assert.rejects(ask, BlockedError)
    assert.equal(liar.asked(), 4, 'one question for each connect: there is no second one to lie to')
    assert.equal(trap.connections(), 0)
  })

  test('a mixed answer is refused as a whole', async () => {
    for (const addresses of [
      [OUTSIDE, '127.0.0.1'],
      ['127.0.0.1', OUTSIDE],
      [OUTSIDE, '::1'],
    ]) {
      const guard = guardOf({ resolve: async () => addresses })
      await assert.rejects(post(guard, `http://mixed.test:${PORT}/`), BlockedError)
    }
    assert.equal(trap.connections(), 0)
  })

  test('a redirect is an answer, not an order', async () => {
    assert.equal(await post(guardOf(), `http://${OUTSIDE}:${PORT}/redirect`), '302 ')
    assert.equal(trap.connections(), 0)
  })

  test('the trap would have counted', async () => {
    const guard = guardOf({ targets: parseTargets(['loopback']) })
    assert.equal(await post(guard, `http://2130706433:${PORT}/`), '200 the inside')
    assert.equal(trap.connections(), 1)
  })
})

describe('connections', () => {
  test('the name stays in Host, in TLS and in the check of the certificate', async () => {
    const tls = selfSigned(['DNS:hooks.test'])
    const receiver = keep(await startReceiver({ tls }))
    const { resolve } = answering(['127.0.0.1'])
    const targets = parseTargets(['loopback'])
    const guard = guardOf({ targets, resolve, ca: [tls.cert] })
    assert.equal(await post(guard, `https://hooks.test:${receiver.port}/a?b=c`), '200 ')
    const { headers, path } = await receiver.next()
    assert.deepEqual([headers.host, path], [`hooks.test:${receiver.port}`, '/a?b=c'])
    await assert.rejects(post(guard, `https://other.test:${receiver.port}/`), {
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
    const distrustful = guardOf({ targets, resolve })
    await assert.rejects(post(distrustful, `https://hooks.test:${receiver.port}/`), {
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    })
    assert.equal(receiver.arrivals.length, 1)
  })

  test('one connection serves request after request, and a name is asked for once for each', async () => {
    const receiver = keep(await startReceiver())
    const names = answering(['127.0.0.1'])
    const guard = guardOf({ targets: parseTargets(['loopback']), resolve: names.resolve })
    for (let nth = 0; nth < 50; nth += 1) await post(guard, `http://a.test:${receiver.port}/${nth}`)
    // Undici may open a second connection: it returns an answer a moment before the connection is free again.
    assert.ok(receiver.connections() <= 2)
    assert.equal(names.asked(), receiver.connections())
  })

  test('the next address is tried where one refuses', async () => {
    const receiver = keep(await startReceiver())
    const guard = guardOf({
      targets: parseTargets(['loopback']),
      resolve: async () => ['127.0.0.3', '127.0.0.4', '127.0.0.1'],
    })
    assert.equal(await post(guard, `http://three.test:${receiver.port}/`), '200 ')
    const nowhere = guardOf({ targets: parseTargets(['loopback']), resolve: async () => ['127.0.0.3'] })
    await assert.rejects(post(nowhere, `http://one.test:${receiver.port}/`), { code: 'ECONNREFUSED' })
  })

  test('a handshake that hangs holds up no other request to the same host', async () => {
    const tls = selfSigned(['DNS:hooks.test'])
    const secure = createSecureServer(tls, (_request, response) => response.end('here'))
    let first = true
    const door = createTcpServer((socket) => {
      if (first) socket.resume()
      else secure.emit('connection', socket)
      first = false
    })
    await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
    const { port } = door.address() as AddressInfo
    const guard = createGuard({
      targets: parseTargets(['loopback']),
      resolve: async () => ['127.0.0.1'],
      ca: [tls.cert],
    })
    const hanging = assert.rejects(post(guard, `https://hooks.test:${port}/`))
    assert.equal(await post(guard, `https://hooks.test:${port}/`), '200 here')
    await guard.close()
    await hanging
    await new Promise((resolve) => door.close(resolve))
  })

  test('beyond the bound each request closes its own connection', async () => {
    const receivers: Receiver[] = []
    for (let nth = 0; nth < 4; nth += 1) receivers.push(keep(await startReceiver()))
    const guard = guardOf({ targets: parseTargets(['loopback']), mostOpen: 1 })
    for (const receiver of receivers) await post(guard, `${receiver.url}/`)
    for (const receiver of receivers.slice(2)) {
      await receiver.idle()
      assert.equal(receiver.arrivals[0]!.headers.connection, 'close')
    }
    while (guard.open() > 2) await new Promise((resolve) => setImmediate(resolve))
  })

  test('a name without an address is an error of its own', async () => {
    const failing = guardOf({
      resolve: () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' })),
    })
    await assert.rejects(post(failing, 'http://nowhere.test/'), (error) => {
      assert.ok(error instanceof ResolveError)
      assert.equal(error.code, 'ENOTFOUND')
      return true
    })
    await assert.rejects(post(guardOf({ resolve: async () => [] }), 'http://nowhere.test/'), ResolveError)
  })

  test('the system resolves localhost', async () => {
    const receiver = keep(await startReceiver({ mode: modes.ok('here') }))
    const guard = guardOf({ targets: parseTargets(['loopback']) })
    assert.equal(await post(guard, `http://localhost:${receiver.port}/`), '200 here')
  })
})

describe('the report of a connection', () => {
  async function ask(guard: Guard, url: string, signal?: AbortSignal): Promise<ConnectionReport> {
    const report = new ConnectionReport()
    const options = { method: 'POST' as const, body: 'x', dispatcher: guard.dispatcher, opaque: report }
    const { body } = await request(url, { ...options, ...(signal ? { signal } : {}) })
    await body.text()
    // A connection is free again a moment after its answer is complete.
    await new Promise((resolve) => setImmediate(resolve))
    return report
  }

  test('has what connecting took, or that a kept connection was used again', async () => {
    const receiver = keep(await startReceiver())
    const guard = guardOf({ targets: parseTargets(['loopback']), resolve: async () => ['127.0.0.1'] })
    const url = `http://localhost:${receiver.port}/`
    const first = await ask(guard, url)
    assert.equal(first.reused, false)
    assert.ok(first.phases.dns !== null && first.phases.connect !== null)
    const { reused, phases } = await ask(guard, url)
    assert.equal(reused, true)
    assert.deepEqual(phases, { dns: null, connect: null, tls: null })
    assert.equal(receiver.connections(), 1)
  })

  test('tells of a new connection where the kept one was lost', async () => {
    const guard = guardOf({ targets: parseTargets(['loopback']) })
    const first = await startReceiver()
    await ask(guard, first.url)
    await first.close()
    while (guard.open() > 0) await new Promise((resolve) => setImmediate(resolve))
    const report = new ConnectionReport()
    const asking = request(first.url, { dispatcher: guard.dispatcher, opaque: report })
    await assert.rejects(asking, { code: 'ECONNREFUSED' })
    assert.equal(report.reused, false)
  })

  test('tells of a new connection after an answer that was not complete', async () => {
    const receiver = keep(await startReceiver({ mode: modes.drip(5) }))
    const guard = guardOf({ targets: parseTargets(['loopback']) })
    const control = new AbortController()
    const cut = ask(guard, receiver.url, control.signal)
    await receiver.next()
    control.abort()
    await assert.rejects(cut)
    receiver.answer(modes.ok())
    assert.equal((await ask(guard, receiver.url)).reused, false)
    assert.equal(receiver.connections(), 2)
  })
})
