/** What is asked at once: in one pipeline, and more than there are connections on a database that is not fast. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { missingPostgres, type Postgres, startPostgres } from '../../../test/postgres.ts'
import { eventually } from '../../../test/service.ts'
import { NO_CAPS } from '../caps.ts'
import { addWebhook, execute, jobInput, LEASE_MS, NODE, queueNew, register } from '../conformance/given.ts'
import { follow, together } from '../rows.ts'
import { statement } from '../statement.ts'
import type { Store } from '../store.ts'
import { connect } from './connection.ts'
import { nativeOf } from './native.ts'
import { open, withClient } from './postgres-fixture.ts'

const missing = await missingPostgres()
const DATABASE = `assay_pool_${process.pid}`
const AT_ONCE = 500
/** A creation takes so long that the last one has to wait for longer than a connection may take to be made. */
const SLOW = `
  CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$;
  CREATE TRIGGER slow BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION slowly()`

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
  // Unheard it would end the process.
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
      const isWaiting =
        'SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))'
      await eventually(
        async () => (await client.query(isWaiting)).rowCount !== 0,
        'the settle waits for the webhook',
        10_000,
      )
      assert.equal((await claimed)[0]?.job.assignment_id, assignment_id)
      await client.query('ROLLBACK')
      assert.ok(await settled)
    })
  })

  test('transactions whose prepared statements are refused in one moment all go on', async () => {
    const connection = connect({ url, publicUrl: null, caps: NO_CAPS, nativeOf, *wakeWebhooks() {} })
    const all = statement('SELECT * FROM settings')
    // Each waits for the others, so each has a connection of its own.
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
    // A tenth of a second as a rule; who waited for the creations would wait for most of them.
    assert.ok(Math.max(...waits) < took / 2, `${Math.max(...waits)} of ${took} ms`)
    context.diagnostic(`the longest of ${waits.length} waits: ${Math.round(Math.max(...waits))} ms`)
  })
})
