/** Connections. */
import assert from 'node:assert/strict'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import type { Store } from '../store.ts'
import { type ConformanceTests, otherWorkspace, refuses, SECOND, WORKSPACE } from './given.ts'

type NewConnection = Parameters<Store['createConnection']>[0]

function connectionInput(over: Partial<NewConnection> = {}): NewConnection {
  return {
    workspace_id: WORKSPACE,
    name: 'warehouse',
    kind: 'postgresql',
    description: 'Orders',
    options: { host: 'db.example.com', port: 5432, database: 'shop', user: 'reader', tls: 'verify' },
    secrets: [{ name: 'password', sealed: 'v1.key.iv.text', fingerprint: '01234567' }],
    limits: CONNECTION_LIMITS,
    user_id: 'ada',
    ...over,
  }
}

export const connectionTests: ConformanceTests = {
  'creates, reads and lists connections of one workspace, and refuses a taken name': async ({
    store,
    elapse,
  }) => {
    const created = await store.createConnection(connectionInput())
    assert.deepEqual(await store.getConnection(created), created)
    await refuses(store.createConnection(connectionInput({ kind: 'mysql' })), 'name_taken')
    await elapse(SECOND)
    await store.createConnection(connectionInput({ name: 'lake', kind: 'clickhouse', secrets: [] }))
    const other = await otherWorkspace(store)
    await store.createConnection(connectionInput({ workspace_id: other }))
    const first = await store.listConnections({ workspace_id: WORKSPACE, limit: 1 })
    assert.deepEqual(
      first.items.map(({ name }) => name),
      ['lake'],
    )
    const second = await store.listConnections({
      workspace_id: WORKSPACE,
      limit: 1,
      cursor: first.next_cursor!,
    })
    assert.deepEqual(
      second.items.map(({ name }) => name),
      ['warehouse'],
    )
    assert.equal(second.next_cursor, null)
  },

  'changes only what a patch names': async ({ store, elapse }) => {
    await store.createConnection(connectionInput())
    await elapse(SECOND)
    const created = (await store.getConnection({ workspace_id: WORKSPACE, name: 'warehouse' }))!
    const sealed = { name: 'password', sealed: 'v1.key.iv.other', fingerprint: '89abcdef' }
    const changed = await store.updateConnection({
      ...created,
      patch: { description: null, secrets: [{ name: 'password', sealed }] },
    })
    assert.deepEqual(
      { ...changed, updated_at: null },
      { ...created, description: null, secrets: [sealed], updated_at: null },
    )
    assert.ok(changed!.updated_at > created.updated_at)
    const bare = await store.updateConnection({
      ...created,
      patch: {
        secrets: [{ name: 'password', sealed: null }],
        limits: { ...CONNECTION_LIMITS, rows: 7 },
        options: { ...created.options, host: 'other.example.com' },
      },
    })
    assert.deepEqual(bare!.secrets, [])
    assert.equal(bare!.limits.rows, 7)
    assert.equal(bare!.options.host, 'other.example.com')
    assert.deepEqual(await store.getConnection(created), bare)
    assert.equal(await store.updateConnection({ ...created, name: 'none', patch: {} }), null)
  },

  'deletes a connection, and all of them with their workspace': async ({ store }) => {
    const created = await store.createConnection(connectionInput())
    assert.equal(await store.deleteConnection(created), true)
    assert.equal(await store.deleteConnection(created), false)
    assert.equal(await store.getConnection(created), null)
    const other = await otherWorkspace(store)
    const theirs = await store.createConnection(connectionInput({ workspace_id: other }))
    assert.equal(await store.deleteConnection({ workspace_id: WORKSPACE, name: theirs.name }), false)
    assert.equal(await store.deleteWorkspace(other), true)
    assert.equal(await store.getConnection(theirs), null)
  },
}
