/** Checks many questions at once: in one pipeline, and more than there are connections on a slow database. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { uuidv7 } from '@assay/model/ids'
import type { Client } from 'pg'
import { missingPostgres, type Postgres, startPostgres } from '../../../test/servers/postgres.ts'
import { eventually } from '../../../test/servers/service.ts'
import { NO_CAPS } from '../caps.ts'
import {
  addWebhook,
  claim,
  execute,
  jobInput,
  LEASE_MS,
  NODE,
  otherWorkspace,
  queueNew,
  register,
  WORKSPACE,
} from '../conformance/given.ts'
import { follow, together } from '../rows.ts'
import { statement } from '../statement.ts'
import type { Store } from '../store.ts'
import { connect, type Transaction } from './connection.ts'
import { nativeOf } from './native.ts'
import { open, withClient } from './postgres-fixture.ts'

const missing = await missingPostgres()
const DATABASE = `assay_pool_${process.pid}`
const AT_ONCE = 500
/** Makes each creation take so long that the last one waits for longer than a connection may take to be made. */
const SLOW = `
  CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$;
  CREATE TRIGGER slow BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION slowly()`

const IS_WAITING =
  'SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))'

/** Resolves when another transaction waits for a lock of this client. */
function waitsFor(client: Client, what: string): Promise<void> {
  return eventually(async () => (await client.query(IS_WAITING)).rowCount !== 0, what, 10_000)
}

test('of routines in turns one may throw while the question of another is still to fail', async () => {
  const answer = Promise.withResolvers<void>()
  function* asks() {
    yield Promise.resolve()
    yield answer.promise
  }
  function* throws() {
    yield Promise.resolve()
    throw new Error('not registered')
  }
  await assert.rejects(follow(together(asks(), throws())), /not registered/)
  // An unhandled rejection would end the process.
  answer.reject(new Error('refused'))
  await new Promise((resolve) => setImmediate(resolve))
})

suite('a pool that is full', { skip: missing ?? false }, () => {
  let postgres: Postgres
  let store: Store
  let url: string

  before(async () => {
    postgres = await startPostgres()
    url = await postgres.createDatabase(DATABASE)
    store = await open(url)
    await register(store)
    await store.createJob(jobInput())
    await withClient(url, (client) => client.query(SLOW))
  })
  after(async () => {
    await store.close()
    await postgres.dropDatabase(DATABASE)
    await postgres.stop()
  })

  test('a claim beside a settle goes on while the settle waits for a webhook', async () => {
    const { webhook_id } = await addWebhook(store, { events: ['*'] })
    const lease = await execute(store)
    const { assignment_id } = await queueNew(store)
    await withClient(url, async (client) => {
      await client.query('BEGIN')
      await client.query('SELECT 1 FROM webhooks WHERE webhook_id = $1 FOR NO KEY UPDATE', [webhook_id])
      const error = { code: 'timed_out' as const, detail: 'x' }
      const settled = store.failJob({ ...lease, error })
      const claimed = store.claimJobs({ node_id: NODE, limit: 1 })
      await waitsFor(client, 'the settle waits for the webhook')
      assert.equal((await claimed)[0]?.job.assignment_id, assignment_id)
      await client.query('ROLLBACK')
      assert.ok(await settled)
    })
  })

  test('a claim whose second part fails is told as failed, so that the node gives back what it does not know', async () => {
    const workspace_id = await otherWorkspace(store)
    await store.updateWorkspace({ workspace_id, patch: { max_running: 1 } })
    const { webhook_id } = await addWebhook(store, { workspace_id, events: ['*'] })
    await queueNew(store, { workspace_id })
    const lease = await claim(store)
    const ids = [await queueNew(store), await queueNew(store, { workspace_id })].map(
      ({ assignment_id }) => assignment_id,
    )
    await withClient(url, async (client) => {
      await client.query(`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
        CREATE TRIGGER refused BEFORE UPDATE ON jobs FOR EACH ROW
          WHEN (NEW.assignment_id = '${ids[1]}' AND NEW.job_status = 'active') EXECUTE FUNCTION refuse()`)
      await client.query('BEGIN')
      await client.query('SELECT 1 FROM webhooks WHERE webhook_id = $1 FOR NO KEY UPDATE', [webhook_id])
      const settled = store.failJob({ ...lease, error: { code: 'timed_out', detail: 'x' } })
      const claimed = assert.rejects(store.claimJobs({ node_id: NODE, limit: 2 }), /refused/)
      await waitsFor(client, 'the settle waits for the webhook')
      await eventually(
        async () =>
          (await store.getJob({ workspace_id: WORKSPACE, assignment_id: ids[0]! }))?.job_status === 'active',
        'the first part of the claim is committed',
        10_000,
      )
      await client.query('ROLLBACK')
      assert.ok(await settled)
      await claimed
      await client.query('DROP TRIGGER refused ON jobs')
    })
    assert.ok((await store.giveBackUnknown({ node_id: NODE, jobs: [] })).jobs >= 1)
    const again = await store.claimJobs({ node_id: NODE, limit: 10 })
    for (const id of ids) assert.ok(again.some(({ job }) => job.assignment_id === id))
  })

  test('no delivery is left without its webhook or event, whichever of both transactions is first', async () => {
    const webhooks = [await addWebhook(store, { events: ['*'] }), await addWebhook(store, { events: ['*'] })]
    const [first, last] = webhooks.toSorted((a, b) => (a.webhook_id < b.webhook_id ? -1 : 1))
    const error = { code: 'timed_out' as const, detail: 'x' }
    const [one, two] = [await execute(store), await execute(store)]
    const left = async (webhook_id: string): Promise<number> =>
      (await store.listDeliveries({ workspace_id: WORKSPACE, webhook_id, limit: 10 })).items.length
    await withClient(url, async (client) => {
      await client.query('BEGIN')
      await client.query('SELECT 1 FROM webhooks WHERE webhook_id = $1 FOR NO KEY UPDATE', [last!.webhook_id])
      const settled = store.failJob({ ...one, error })
      await waitsFor(client, 'the settle has made its deliveries')
      await withClient(url, async (other) => {
        const { rows } = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        const deleted = other.query('DELETE FROM webhooks WHERE webhook_id = $1', [first!.webhook_id])
        const waits = 'SELECT 1 FROM pg_locks WHERE NOT granted AND pid = $1'
        await eventually(
          async () => (await client.query(waits, [rows[0]!.pid])).rowCount !== 0,
          'the deletion waits for the settle',
          10_000,
        )
        await client.query('COMMIT')
        assert.ok(await settled)
        await deleted
      })
      assert.equal(await left(first!.webhook_id), 0)
      assert.ok((await left(last!.webhook_id)) > 0)
      const query = { workspace_id: WORKSPACE, webhook_id: last!.webhook_id, limit: 1 }
      const { delivery_id } = (await store.listDeliveries(query)).items[0]!
      await client.query('BEGIN')
      await client.query(
        'DELETE FROM events WHERE seq = (SELECT event_seq FROM deliveries WHERE delivery_id = $1)',
        [delivery_id],
      )
      const anew = store.redeliver({ workspace_id: WORKSPACE, delivery_id, new_delivery_id: uuidv7() })
      await waitsFor(client, 'the delivery waits for its event')
      await client.query('COMMIT')
      assert.equal(await anew, null)
      await client.query('BEGIN')
      await client.query('DELETE FROM webhooks WHERE webhook_id = $1', [last!.webhook_id])
      const other = store.failJob({ ...two, error })
      await waitsFor(client, 'the settle waits for the webhook that is being deleted')
      await client.query('COMMIT')
      assert.ok(await other)
      assert.equal(await left(last!.webhook_id), 0)
    })
  })

  test('a transaction that ends in the pass in which it asks is rolled back, and its connection serves on', async () => {
    const connection = connect({ url, publicUrl: null, caps: NO_CAPS, nativeOf, *wakeWebhooks() {} })
    const rename = statement("UPDATE nodes SET name = 'renamed'")
    const refused = statement('SELECT 1 / (SELECT 0)')
    const backend = statement<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const pid = () => connection.control((tx) => follow(tx.find(backend)))
    const throws = async (tx: Transaction): Promise<never> => {
      void tx.start(rename)
      throw new Error('it ends here')
    }
    try {
      const before = await pid()
      await assert.rejects(connection.control(throws), /it ends here/)
      await assert.rejects(connection.report(throws), /it ends here/)
      assert.deepEqual(await pid(), before)
      const fails = async (tx: Transaction): Promise<void> => {
        for (const each of [rename, refused, rename]) void tx.start(each)
      }
      await assert.rejects(connection.control(fails), /division by zero/)
      assert.deepEqual(await pid(), before)
      const nodes = await store.listNodes()
      assert.ok(nodes.every(({ name }) => name !== 'renamed'))
    } finally {
      await connection.close()
    }
  })

  test('transactions whose prepared statements are refused in one moment all go on', async () => {
    const connection = connect({ url, publicUrl: null, caps: NO_CAPS, nativeOf, *wakeWebhooks() {} })
    const all = statement('SELECT * FROM settings')
    // Each transaction waits for the others, so each has a connection of its own.
    const three = (): Promise<unknown> => {
      let away = 3
      const begun = Promise.withResolvers<void>()
      const ask = () =>
        connection.control(async (tx) => {
          away -= 1
          if (away === 0) begun.resolve()
          await begun.promise
          return follow(tx.all(all))
        })
      return Promise.all([ask(), ask(), ask()])
    }
    try {
      await three()
      await withClient(url, (client) => client.query('ALTER TABLE settings ADD COLUMN of_later text'))
      await three()
    } finally {
      await connection.close()
    }
  })

  test('hundreds of creations at once are all kept, and neither renewals nor reads nor counts nor deliveries wait for them', async (context) => {
    const begun = performance.now()
    const over = new AbortController()
    const created = Promise.all(Array.from({ length: AT_ONCE }, () => store.createJob(jobInput()))).finally(
      () => over.abort(),
    )
    const waits: number[] = []
    while (!over.signal.aborted) {
      const asked = performance.now()
      await Promise.all([
        store.renewNode({ node_id: 'node-1', lease_ms: LEASE_MS, held: [] }),
        store.ping(),
        store.listNodes(),
        store.counts(),
        store.claimDeliveries({ node_id: 'node-1', limit: 10 }),
      ])
      waits.push(performance.now() - asked)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const jobs = await created
    assert.equal(new Set(jobs.map(({ assignment_id }) => assignment_id)).size, AT_ONCE)
    const took = performance.now() - begun
    assert.ok(took > 5000, 'the last one waited for longer than a connection may take')
    assert.ok(waits.length > 10)
    // A wait is usually a tenth of a second. A request that waited for the creations would wait for most of them.
    assert.ok(Math.max(...waits) < took / 2, `${Math.max(...waits)} of ${took} ms`)
    context.diagnostic(`the longest of ${waits.length} waits: ${Math.round(Math.max(...waits))} ms`)
  })
})
