import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { connectionsHere, limitConnections, limitWaiting } from './connection-limits.ts'

test('one network has half of the connections, and what the service needs for itself stays free', async (t) => {
  assert.equal(connectionsHere({ memory_bytes: 1e9 }, 1_000_000), 2500)
  assert.equal(connectionsHere({ memory_bytes: 64e9 }, 1024), 614)
  assert.equal(connectionsHere({ memory_bytes: 1e6 }, 10), 50)
  const told: object[] = []
  const server = createServer((socket) => socket.write('.'))
  limitConnections(server, 4, { log: { warn: (one: object) => told.push(one) }, now: () => 0 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const open: Socket[] = []
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  /** Opens a connection. Resolves with true if it is taken. */
  const taken = (localAddress: string): Promise<boolean> => {
    const { port } = server.address() as AddressInfo
    const socket = connect({ host: '127.0.0.1', port, localAddress })
    open.push(socket)
    return new Promise((resolve) => {
      socket.once('data', () => resolve(true))
      socket.once('error', () => resolve(false))
      socket.once('close', () => resolve(false))
    })
  }
  assert.deepEqual([await taken('127.0.0.1'), await taken('127.0.0.1')], [true, true])
  assert.equal(await taken('127.0.0.1'), false)
  assert.deepEqual([await taken('127.0.0.2'), await taken('127.0.0.3')], [true, true])
  assert.equal(await taken('127.0.0.4'), false, 'no more than four together')
  assert.deepEqual(told, [{ network: '127.0.0.1', most: 4 }], 'told once a minute')
  const [first] = open
  first!.destroy()
  await once(first!, 'close')
  for (;;) if (await taken('127.0.0.1')) break
})

test('of thousands of requests in one packet a few are answered, and the next is told why the connection closes', async (t) => {
  let handled = 0
  const server = createHttpServer((_request, response) => {
    handled += 1
    setImmediate(() => response.end('answered'))
  })
  limitWaiting(server, '')
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const socket = connect({ host: '127.0.0.1', port })
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2000))
  let text = ''
  socket.on('data', (part: Buffer) => (text += part.toString()))
  await once(socket, 'close')
  assert.equal(handled, 16)
  assert.deepEqual([text.match(/ 200 OK/g)?.length, text.match(/ 429 /g)?.length], [16, 1])
  assert.match(
    text,
    /"code":"rate_limited".*|More than 16 requests wait for their answers on this connection/,
  )
  assert.match(text, /connection: close/i)
})
