/** Checks a database that vanishes without a word: a TCP proxy swallows everything. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { missingPostgres, type Postgres, startPostgres } from '../../../test/servers/postgres.ts'
import { type Proxy, startProxy } from '../../../test/servers/proxy.ts'
import { eventually } from '../../../test/servers/service.ts'
import { jobInput, LEASE_MS, register } from '../conformance/given.ts'
import type { Store } from '../store.ts'
import { open, withClient } from './postgres-fixture.ts'
import { migratePostgres } from './schema.ts'

const missing = await missingPostgres()
const DATABASE = `assay_silence_${process.pid}`

/** The number of questions at once. Every connection of the pool is made by them and is idle afterwards. */
const MANY = 20

suite('connections that fall silent', { skip: missing ?? false }, () => {
  let postgres: Postgres
  let proxy: Proxy
  let store: Store
  /** The address of the database, and its address through the proxy. */
  let direct: string
  let through: string
  /** A question without an answer until the connection breaks. */
  let stuck: Promise<void> | undefined

  before(async () => {
    postgres = await startPostgres()
    direct = await postgres.createDatabase(DATABASE)
    await migratePostgres(direct)
    const url = new URL(direct)
    proxy = await startProxy({ host: url.hostname, port: Number(url.port) })
    url.port = String(proxy.port)
    through = url.href
    store = await open(through)
  })
  after(async () => {
    await proxy.close()
    await stuck
    await store.close()
    await postgres.dropDatabase(DATABASE)
    await postgres.stop()
  })

  test('a node whose connections are half-open renews and works on long before its lease ends', async () => {
    await register(store)
    await Promise.all(Array.from({ length: MANY }, () => store.createJob(jobInput())))
    await store.claimJobs({ node_id: 'node-1', limit: 1 })
    proxy.freeze()
    const begun = performance.now()
    await Promise.all([
      store.renewNode({ node_id: 'node-1', lease_ms: LEASE_MS, held: [] }),
      store.createJob(jobInput()),
      store
        .claimJobs({ node_id: 'node-1', limit: 1 })
        .catch(() => store.claimJobs({ node_id: 'node-1', limit: 1 })),
    ])
    const job = await store.createJob(jobInput())
    assert.ok(await store.getJob(job), 'and reads go to connections that answer')
    const waited = performance.now() - begun
    assert.ok(waited < LEASE_MS - 5000, `${waited} ms`)
  })

  test('a node that is stopped in the middle of a transaction holds the others up for seconds only', async () => {
    const other = await open(direct)
    const job = await store.createJob(jobInput())
    proxy.freezeAfter('UPDATE jobs SET')
    stuck = assert.rejects(store.queueJob(job), { code: 'store_unavailable' })
    await withClient(direct, (client) =>
      eventually(async () => {
        const { rows } = await client.query(
          `SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()`,
        )
        return rows.length > 0
      }, 'it holds the job'),
    )
    const begun = performance.now()
    assert.equal((await other.cancelJob(job)).job_status, 'canceled')
    const waited = performance.now() - begun
    assert.ok(waited < LEASE_MS - 5000, `${waited} ms`)
    await other.close()
  })

  test('a start whose connection falls silent fails, and keeps no other node from starting', async () => {
    // Another node migrates, and the start waits for its end.
    const started = await withClient(direct, async (client) => {
      await client.query('BEGIN')
      await client.query('SELECT pg_advisory_xact_lock(7283501964)')
      const waiting = assert.rejects(migratePostgres(through), { code: 'store_unavailable' })
      const before = proxy.open()
      await eventually(() => proxy.open() > before, 'it asks')
      proxy.freeze()
      return { waiting }
    })
    await migratePostgres(direct)
    await started.waiting
  })
})
