import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, test } from 'node:test'
import type { OpenConnection } from '@assay/model/connection'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import type { Task } from './protocol.ts'
import { dialFor } from './socket-requests.ts'

const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
after(() => server.close())

function connectionOf(
  kind: OpenConnection['kind'],
  options: OpenConnection['options'],
  targets = ['loopback'],
): OpenConnection {
  return { name: 'there', kind, options, secrets: {}, limits: CONNECTION_LIMITS, targets }
}

const RUN = { kind: 'run', roots: { sample: {}, data: null } } as unknown as Task

async function answer(
  connection: OpenConnection | null,
  over: { name?: string | null; host?: string; port?: number },
  task = RUN,
): Promise<string> {
  const acquired = new Map(connection ? [[connection.name, connection]] : [])
  const dialed = await dialFor(
    {
      type: 'dial',
      id: 1,
      call: 1,
      connection: over.name === undefined ? 'there' : over.name,
      host: over.host ?? '127.0.0.1',
      port: over.port ?? port,
    },
    task,
    acquired,
  )
  if ('failure' in dialed) return dialed.failure.kind
  const { socket } = dialed
  const [first] = (await once(socket.resume(), 'data')) as [Buffer]
  socket.destroy()
  return first.toString()
}

test('a socket leads to the host and port of a connection that the task has acquired, and nothing of it was read before', async () => {
  const database = connectionOf('postgresql', { host: '127.0.0.1', port })
  assert.equal(await answer(database, {}), 'hello')
  assert.equal(await answer(connectionOf('clickhouse', { url: `http://127.0.0.1:${port}/` }), {}), 'hello')
  const bucket = { endpoint: `http://127.0.0.1:${port}`, bucket: 'b' }
  assert.equal(await answer(connectionOf('s3', bucket), {}), 'hello')
})

test('it leads nowhere else, whatever the process asks for', async () => {
  const database = connectionOf('postgresql', { host: '127.0.0.1', port: port + 1 })
  assert.equal(await answer(database, {}), 'blocked', 'another port')
  assert.equal(
    await answer(connectionOf('mysql', { host: 'db.example', port }), {}),
    'blocked',
    'another host',
  )
  assert.equal(
    await answer(connectionOf('http', { url: 'https://files.example' }), {}),
    'blocked',
    'not its origin',
  )
  assert.equal(await answer(null, {}), 'blocked', 'a connection that was not acquired')
  assert.equal(
    await answer(connectionOf('postgresql', { host: '127.0.0.1', port }, ['public']), {}),
    'blocked',
    'its targets',
  )
  assert.equal(await answer(null, { name: null }), 'blocked', 'no addresses are allowed')
  assert.equal(
    await answer(null, { name: null }, { kind: 'draw', specs: [] }),
    'blocked',
    'a task without sources',
  )
})

test('an address of a template leads to where the operator allows, and a probe to its own connection', async () => {
  const remote = { cache: '', cache_bytes: 0, file_bytes: 0, targets: ['loopback'] }
  const task = { ...RUN, roots: { sample: {}, data: null, remote } } as Task
  assert.equal(await answer(null, { name: null }, task), 'hello')
  const connection = connectionOf('postgresql', { host: '127.0.0.1', port })
  assert.equal(
    await answer(null, {}, { kind: 'probe', connection, roots: { sample: {}, data: null } }),
    'hello',
  )
  assert.equal(
    await answer(connectionOf('mysql', { host: 'nowhere.invalid', port }), { host: 'nowhere.invalid' }),
    'unresolved',
  )
})
