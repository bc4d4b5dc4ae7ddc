import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { openConnections } from './connection-registry.ts'

async function fileBook(t: { name: string }) {
  const file = path.join(tmpdir(), `assay-book-${process.pid}-${t.name.length}.json`)
  const options = { url: 'http://127.0.0.1:1' }
  const one = { kind: 'clickhouse', options, secrets: { password: 'env:A_SECRET' } }
  await writeFile(
    file,
    JSON.stringify({
      connections: { a: { ...one, limits: { concurrent: 1 } }, b: { ...one, workspaces: ['other'] } },
    }),
  )
  return openConnections({
    store: null,
    secrets: null,
    file,
    targets: null,
    environment: { A_SECRET: 'open sesame' },
  })
}

const never = new AbortController().signal

test('a task acquires what its template names, of its own workspace, and nothing else', async (t) => {
  const book = await fileBook(t)
  const connections = book.accessFor({ workspace_id: 'default', names: async () => ['a', 'b'] })
  const acquired = await connections.acquire('a', never)
  assert.ok('connection' in acquired)
  assert.deepEqual(acquired.connection.secrets, { password: 'open sesame' })
  assert.deepEqual(await connections.acquire('b', never), {
    refused: 'There is no connection "b" in this workspace: an admin adds it.',
  })
  const other = book.accessFor({ workspace_id: 'default', names: async () => ['b'] })
  assert.deepEqual(await other.acquire('a', never), { refused: 'The template names no connection "a".' })
  const withheld = book.accessFor({ workspace_id: 'default', names: async () => ['a'], withheld: 'No.' })
  assert.deepEqual(await withheld.acquire('a', never), { refused: 'No.' })
})

test('only so many queries run over a connection at a time; an ended task frees its share', async (t) => {
  const book = await fileBook(t)
  const to = { workspace_id: 'default', names: async () => ['a'] }
  const [first, second] = [book.accessFor(to), book.accessFor(to)]
  assert.ok('connection' in (await first.acquire('a', never)))
  let acquired = false
  const waiting = second.acquire('a', never).then((found) => {
    acquired = true
    return found
  })
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(acquired, false)
  first.end()
  assert.ok('connection' in (await waiting))
  second.release('a')
  const stop = new AbortController()
  assert.ok('connection' in (await first.acquire('a', never)))
  const called = second.acquire('a', stop.signal)
  stop.abort()
  assert.ok('refused' in (await called))
})
