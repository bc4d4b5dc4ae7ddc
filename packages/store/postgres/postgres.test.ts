/** Runs the conformance suite on a real PostgreSQL, and tests that need many processes on one database. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, suite, test } from 'node:test'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import {
  migratedSchema,
  missingPostgres,
  type Postgres,
  startPostgres,
} from '../../../test/servers/postgres.ts'
import { eventually } from '../../../test/servers/service.ts'
import { conformance } from '../conformance/conformance.ts'
import {
  addWebhook,
  claim,
  execute,
  findings,
  NODE,
  otherWorkspace,
  outcome,
  queueNew,
  refuses,
  register,
  send,
  WORKSPACE,
} from '../conformance/given.ts'
import { type Fill, STEP_TESTS } from '../conformance/steps.ts'
import { readMigrations } from '../migrate.ts'
import type { Hint, Store } from '../store.ts'
import { type FreshStores, freshStores, jobsRead, open, withClient } from './postgres-fixture.ts'
import { MIGRATIONS, migratePostgres } from './schema.ts'

const missing = await missingPostgres()
let postgres: Postgres
let url: string

/** Copies the job $1 $2 times, in turn in the workspaces $3. */
const COPY_JOB = `
  INSERT INTO jobs (assignment_id, workspace_id, user_id, template_id, template_version, job_status, priority,
    created_at, queued_at, progress, moves, metadata, variables)
  SELECT gen_random_uuid()::text, ($3::text[])[1 + n % cardinality($3::text[])], user_id, template_id,
    template_version, job_status, n % 2, created_at, queued_at, progress, moves, metadata, variables
  FROM jobs, generate_series(1, $2) AS n WHERE assignment_id = $1`

/** Copies the only delivery of the webhook $1 $2 times. All copies are due in $3 milliseconds. */
const COPY_DELIVERY = `
  WITH given AS (SELECT $1::text AS webhook, now() + $3::int * interval '1 ms' AS due), moved AS (
    UPDATE deliveries SET due_at = due FROM given WHERE webhook_id = webhook)
  INSERT INTO deliveries (delivery_id, workspace_id, webhook_id, event_seq, event_id, event_type, event_at, status,
    due_at, created_at)
  SELECT gen_random_uuid()::text, workspace_id, webhook_id, event_seq, event_id, event_type, event_at, status, due,
    created_at
  FROM deliveries, given, generate_series(1, $2::int) WHERE webhook_id = webhook`

/** Inserts an event with the id $1 in the workspace $2. */
const INSERT_EVENT = `
  WITH begun AS MATERIALIZED (SELECT begin_events())
  INSERT INTO events (seq, event_id, workspace_id, type, timestamp, data) OVERRIDING SYSTEM VALUE
  SELECT nextval('events_seq_seq'), $1, $2, 'webhook.test', now(), '{}' FROM begun`

/** Opens two stores on one emptied database, as two processes do. */
async function pair(work: (one: Store, other: Store) => Promise<void>): Promise<void> {
  const { fresh, close } = freshStores(url)
  const { store: one } = await fresh()
  const other = await open(url)
  try {
    await work(one, other)
  } finally {
    await other.close()
    await close()
  }
}

function onlyRefusals(error: unknown): void {
  if (!(error instanceof AppError) || error.code === 'store_unavailable') throw error
}

suite('the store on PostgreSQL', { skip: missing ?? false }, () => {
  before(async () => {
    postgres = await startPostgres()
    url = await postgres.createDatabase(`assay_${process.pid}`)
    await (await open(url)).close()
  })
  after(async () => {
    await postgres.dropDatabase(`assay_${process.pid}`)
    await postgres.stop()
  })

  suite('as every store', () => {
    let stores: FreshStores
    before(() => {
      stores = freshStores(url)
    })
    after(() => stores.close())

    conformance('PostgreSQL', () => stores.fresh())

    const fillOf =
      (store: Store): Fill =>
      async (webhook, count, waitMs) => {
        await send(store, webhook)
        await withClient(url, (client) =>
          client.query(COPY_DELIVERY, [webhook.webhook_id, count - 1, waitMs]),
        )
        // The update computes the sending state of the webhook again.
        await store.updateWebhook({ ...webhook, patch: { description: 'filled' } })
      }
    for (const [title, run] of Object.entries(STEP_TESTS))
      test(title, async () => {
        const { store, close } = await stores.fresh()
        try {
          await run(store, fillOf(store))
        } finally {
          await close()
        }
      })
  })

  test('a reader of events skips none that is committed late', async () => {
    await pair(async (store) => {
      const read = (cursor?: string) =>
        store.listEvents({ workspace_id: WORKSPACE, limit: 10, order: 'oldest', cursor })
      await withClient(url, async (slow) => {
        await slow.query('BEGIN')
        await slow.query(INSERT_EVENT, ['early', WORKSPACE])
        await withClient(url, (fast) => fast.query(INSERT_EVENT, ['late', WORKSPACE]))
        const during = await read()
        assert.deepEqual(during.items, [], 'what was written first may still come')
        assert.ok((await store.counts()).held_event_at, 'and the store tells since when it is held')
        await slow.query('COMMIT')
        const afterwards = await read(during.next_cursor!)
        assert.deepEqual(
          afterwards.items.map(({ event_id }) => event_id),
          ['early', 'late'],
        )
        assert.deepEqual((await read(afterwards.next_cursor!)).items, [])
        assert.equal((await store.counts()).held_event_at, null)
      })
    })
  })

  test('no transaction of another database, nor one of this that writes no event, holds the events up', async () => {
    await pair(async (store) => {
      const read = () => store.listEvents({ workspace_id: WORKSPACE, limit: 10, order: 'oldest' })
      const other = new URL(url)
      other.pathname = '/postgres'
      await withClient(other.href, async (elsewhere) => {
        await withClient(url, async (beside) => {
          for (const open of [elsewhere, beside]) {
            await open.query('BEGIN')
            await open.query('SELECT pg_current_xact_id()')
          }
          await queueNew(store)
          assert.equal((await read()).items.length, 1)
          assert.equal((await store.counts()).held_event_at, null)
        })
      })
    })
  })

  test('a reader of events gets each once and in one order, while many write', async () => {
    await pair(async (store) => {
      const write = (writer: number) =>
        withClient(url, async (client) => {
          for (let nth = 0; nth < 40; nth += 1) {
            await client.query('BEGIN')
            await client.query(INSERT_EVENT, [`${writer}-${nth}`, WORKSPACE])
            await client.query('SELECT pg_sleep(random() * 0.01)')
            await client.query(nth % 10 === 9 ? 'ROLLBACK' : 'COMMIT')
          }
        })
      let over = false
      const writing = Promise.all([0, 1, 2, 3, 4].map(write)).finally(() => {
        over = true
      })
      const seen: string[] = []
      let cursor: string | undefined
      for (;;) {
        const last = over
        const page = await store.listEvents({ workspace_id: WORKSPACE, limit: 50, order: 'oldest', cursor })
        seen.push(...page.items.map(({ event_id }) => event_id))
        cursor = page.next_cursor!
        if (last && page.items.length === 0) break
      }
      await writing
      const { items } = await store.listEvents({ workspace_id: WORKSPACE, limit: 200, order: 'newest' })
      assert.equal(seen.length, 180)
      assert.deepEqual(seen, items.map(({ event_id }) => event_id).toReversed())
    })
  })

  test('parallel claimers on two nodes take a thousand jobs, each once', async () => {
    await pair(async (one, other) => {
      await register(one)
      await register(other, 'node-2')
      const workspaces = [WORKSPACE, await otherWorkspace(one, 'a'), await otherWorkspace(one, 'b')]
      const job = await queueNew(one)
      await withClient(url, (client) => client.query(COPY_JOB, [job.assignment_id, 999, workspaces]))
      const seen: string[] = []
      const work = async (store: Store, node_id: string): Promise<void> => {
        for (;;) {
          const claimed = await store.claimJobs({ node_id, limit: 20 })
          if (claimed.length === 0) return
          seen.push(...claimed.map((each) => each.job.assignment_id))
        }
      }
      await Promise.all([
        ...[1, 2, 3].map(() => work(one, NODE)),
        ...[1, 2, 3].map(() => work(other, 'node-2')),
      ])
      assert.equal(seen.length, 1000)
      assert.equal(new Set(seen).size, 1000)
      const { jobs } = await one.counts()
      assert.deepEqual(
        jobs.map(({ job_status }) => job_status),
        ['active', 'active', 'active'],
      )
    })
  })

  test('a claim reads no more of a long queue than of a short one, however old the statistics are', async () => {
    await pair(async (store) => {
      await register(store)
      const job = await queueNew(store)
      await withClient(url, async (client) => {
        await client.query(COPY_JOB, [job.assignment_id, 5000, [WORKSPACE]])
        await client.query(COPY_JOB, [job.assignment_id, 5000, [await otherWorkspace(store)]])
        // VACUUM removes the rows of earlier tests and, unlike ANALYZE, tells the planner nothing of the values.
        await client.query('VACUUM jobs')
        const before = await jobsRead(client)
        for (let count = 0; count < 3; count += 1) assert.ok(await claim(store))
        await store.close()
        const after = await jobsRead(client)
        // A claim that sorts the queue reads all of its 10,000 rows, three times.
        assert.ok(after - before < 5000, `${after - before} rows were read`)
      })
    })
  })

  test('each of many that end at once reads its own job, however old the statistics are', async () => {
    await pair(async (store) => {
      await register(store)
      const job = await queueNew(store)
      await withClient(url, async (client) => {
        await client.query(COPY_JOB, [job.assignment_id, 400, [WORKSPACE]])
        await client.query('VACUUM jobs')
        const before = await jobsRead(client)
        const held = await store.claimJobs({ node_id: NODE, limit: 400 })
        const error = { code: 'timed_out' as const, detail: 'x' }
        const settles = held.map(({ job: { assignment_id, attempt } }) =>
          store.failJob({ assignment_id, attempt, node_id: NODE, error, ran_ms: 1 }),
        )
        assert.ok((await Promise.all(settles)).every(Boolean))
        await store.close()
        const read = (await jobsRead(client)) - before
        // A claim that reads all held jobs reads 400 rows for each.
        assert.ok(read < 8000, `${read} rows were read`)
      })
    })
  })

  test('claims and settles go on when another version adds a column meanwhile', async () => {
    await pair(async (store) => {
      await register(store)
      const [first, second] = [await queueNew(store), await queueNew(store)]
      const [held] = await store.claimJobs({ node_id: NODE, limit: 1 })
      assert.equal(held?.job.assignment_id, first.assignment_id)
      await withClient(url, async (client) => {
        await client.query('ALTER TABLE jobs ADD COLUMN of_later text')
        try {
          const error = { code: 'timed_out' as const, detail: 'x' }
          const lease = { assignment_id: first.assignment_id, attempt: 1, node_id: NODE }
          const [done, [next]] = await Promise.all([
            store.failJob({ ...lease, error, ran_ms: 1 }),
            store.claimJobs({ node_id: NODE, limit: 1 }),
          ])
          assert.ok(done)
          assert.equal(next?.job.assignment_id, second.assignment_id)
          assert.equal(next.job.attempt, 1)
        } finally {
          await client.query('ALTER TABLE jobs DROP COLUMN of_later')
        }
      })
    })
  })

  test('a claim passes over what another is claiming in this moment', async () => {
    await pair(async (store) => {
      await register(store)
      const [first, second] = [await queueNew(store), await queueNew(store)]
      await withClient(url, async (client) => {
        await client.query('BEGIN')
        await client.query('SELECT 1 FROM jobs WHERE assignment_id = $1 FOR UPDATE', [first.assignment_id])
        assert.equal((await claim(store)).assignment_id, second.assignment_id)
        await client.query('ROLLBACK')
      })
      assert.equal((await claim(store)).assignment_id, first.assignment_id)
    })
  })

  test('what one process does is told to the others, a cancel among it', async () => {
    await pair(async (one, other) => {
      await register(one)
      const lease = await execute(one)
      const heard = new Set<string>()
      other.subscribe((hint: Hint) => heard.add(JSON.stringify(hint)))
      const until = (hint: Hint): Promise<void> =>
        eventually(() => heard.has(JSON.stringify(hint)), `it hears of ${hint.topic}`)
      // The first two hints show that the store listens.
      await until({ topic: 'deliveries' })
      await one.cancelJob({ workspace_id: WORKSPACE, ...lease })
      await until({ topic: 'job', assignment_id: lease.assignment_id })
    })
  })

  test('a node renews its lease while its requests hold every other connection', async () => {
    await pair(async (store) => {
      await register(store)
      const job = await queueNew(store)
      await withClient(url, async (client) => {
        await client.query('BEGIN')
        await client.query('SELECT 1 FROM jobs WHERE assignment_id = $1 FOR UPDATE', [job.assignment_id])
        const waiting = Array.from({ length: 30 }, () => store.queueJob(job))
        assert.deepEqual((await store.renewNode({ node_id: NODE, lease_ms: 30_000, held: [] })).stop, [])
        await client.query('ROLLBACK')
        for (const each of await Promise.all(waiting)) assert.equal(each.job_status, 'queued')
      })
    })
  })

  test('whatever two nodes do at once, each webhook knows what is under way and what is due', async () => {
    await pair(async (one, other) => {
      const webhooks = [
        await addWebhook(one, { presence_name: 'a', events: ['*'] }),
        await addWebhook(one, { presence_name: 'b', events: null, max_in_flight: 3 }),
      ]
      const work = async (store: Store, node_id: string, seed: number): Promise<void> => {
        for (let round = 0; round < 12; round += 1) {
          const job = await queueNew(store)
          const [claimed] = await store.claimJobs({ node_id, limit: 1 })
          const lease = claimed && {
            assignment_id: claimed.job.assignment_id,
            attempt: claimed.job.attempt,
            node_id,
          }
          if (lease && (await store.startJob(lease)))
            await store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings() })
          const deliveries = await store.claimDeliveries({ node_id, limit: 12 })
          const [first, second, ...rest] = deliveries
          if (first) await store.recordAttempt(outcome(first))
          if (second) await store.recordAttempt(outcome(second, { next: { status: 'pending', wait_ms: 1 } }))
          await store.releaseDeliveries(rest.slice(0, 3))
          const dice = (round + seed) % 6
          if (dice === 0) await store.cancelPending(webhooks[seed % 2]!)
          if (dice === 1)
            await store.deleteJob(await store.cancelJob(job).catch(() => job)).catch(onlyRefusals)
          if (dice === 2) await store.updateWebhook({ ...webhooks[seed % 2]!, patch: { status: 'enabled' } })
          if (dice === 3)
            await store.registerNode({ node_id, name: 'x', roles: [], version: '1', lease_ms: 30_000 })
        }
      }
      await register(one)
      await register(other, 'node-2')
      await Promise.all([1, 2, 3].flatMap((seed) => [work(one, NODE, seed), work(other, 'node-2', seed + 3)]))
      const { rows } = await withClient(url, (client) =>
        client.query<{ in_flight: number; owned: number; due_at: Date | null; earliest: Date | null }>(
          `SELECT in_flight, due_at,
             (SELECT count(*)::int FROM deliveries AS d WHERE d.webhook_id = w.webhook_id AND owner IS NOT NULL) AS owned,
             (SELECT min(d.due_at) FROM deliveries AS d
              WHERE d.webhook_id = w.webhook_id AND status = 'pending' AND owner IS NULL) AS earliest
           FROM webhooks AS w`,
        ),
      )
      assert.equal(rows.length, 2)
      for (const row of rows) {
        assert.equal(row.in_flight, row.owned)
        assert.deepEqual(row.due_at, row.earliest)
      }
    })
  })

  test('an idempotency key of a dead node is taken over before its minute is up, one of a living node is not', async () => {
    await pair(async (one, other) => {
      const begin = (store: Store, node_id: string, id: string) =>
        store.startIdempotent({
          workspace_id: WORKSPACE,
          method: 'POST',
          path: '/',
          key: 'k',
          body_hash: 'h',
          id,
          node_id,
        })
      await register(one)
      await register(other, 'node-2')
      assert.deepEqual(await begin(one, NODE, 'first'), { state: 'new', id: 'first' })
      assert.equal((await begin(other, 'node-2', 'second')).state, 'in_progress')
      await withClient(url, (client) =>
        client.query(`UPDATE nodes SET lease_until = now() - interval '1 s' WHERE node_id = $1`, [NODE]),
      )
      assert.deepEqual(await begin(other, 'node-2', 'third'), { state: 'new', id: 'first' })
    })
  })

  test('renewals and progress stay on their pages', async () => {
    await pair(async (store) => {
      await register(store)
      const { assignment_id, attempt } = await execute(store)
      const counts = () =>
        withClient(url, async (client) => {
          const { rows } = await client.query<{ relname: string; all: number; hot: number }>(
            `SELECT relname, pg_stat_get_tuples_updated(oid)::int AS all, pg_stat_get_tuples_hot_updated(oid)::int AS hot
             FROM pg_class WHERE relname IN ('jobs', 'nodes') ORDER BY relname`,
          )
          return rows
        })
      const [jobs, nodes] = await counts()
      for (let percent = 1; percent <= 20; percent += 1) {
        const progress = { percent, step: 1, steps: 2, label: 'main' }
        await store.renewNode({
          node_id: NODE,
          lease_ms: 30_000,
          held: [{ assignment_id, attempt, progress }],
        })
      }
      // The counts of a connection are visible once it is closed, or idle for some seconds if a pooler keeps it.
      await store.close()
      await eventually(async () => {
        const now = await counts()
        return [jobs, nodes].every((before, index) => now[index]!.all - before!.all >= 20)
      }, 'the updates are counted')
      const after = await counts()
      for (const [index, before] of [jobs, nodes].entries()) {
        const updated = after[index]!.all - before!.all
        const hot = after[index]!.hot - before!.hot
        assert.ok(hot >= 18, `${before!.relname}: ${hot} of ${updated}`)
      }
    })
  })

  test('the migrations make the schema that schema.sql shows (npm run gen writes it)', async () => {
    const shown = await readFile(path.join(import.meta.dirname, 'schema.sql'), 'utf8')
    assert.equal(await migratedSchema(postgres), shown)
  })

  test('nodes that start at once migrate an empty database once', async () => {
    const name = `assay_start_${process.pid}`
    const empty = await postgres.createDatabase(name)
    const applied = await Promise.all([1, 2, 3, 4].map(() => migratePostgres(empty)))
    const migrations = readMigrations(MIGRATIONS)
    assert.deepEqual(
      applied.flat(),
      migrations.map((migration) => migration.name),
    )
    await withClient(empty, (client) => client.query(`INSERT INTO migrations VALUES (99, 'later', now())`))
    await assert.rejects(migratePostgres(empty), (error) => {
      assert.ok(error instanceof AppError && error.code === 'store_unavailable')
      const known = migrations.at(-1)!.number
      assert.match(error.message, new RegExp(`has the migration 99, .*its newest is ${known}\\)`))
      return true
    })
    await withClient(empty, (client) =>
      client.query(
        `INSERT INTO migrations VALUES (2, '0002_runs', now()) ON CONFLICT (number) DO UPDATE SET name = excluded.name`,
      ),
    )
    await assert.rejects(migratePostgres(empty), (error) => {
      assert.ok(error instanceof AppError && error.code === 'store_unavailable')
      assert.match(error.message, /development version of assay, before the first release.*an empty database/)
      return true
    })
    await postgres.dropDatabase(name)
  })

  test('says that a database cannot be reached, and hides the password', async () => {
    const wrong = new URL(url)
    wrong.port = '1'
    wrong.password = 'between-us'
    await assert.rejects(open(wrong.href), (error) => {
      assert.ok(error instanceof AppError && error.code === 'store_unavailable' && error.retryAfter === 5)
      assert.doesNotMatch(error.message, /between-us|127\.0\.0\.1/)
      return true
    })
  })

  test('rides out a crash of the database, and of all its connections', async () => {
    await pair(async (one, other) => {
      await register(one)
      const job = await queueNew(one)
      await withClient(url, (client) =>
        client.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
        ),
      )
      assert.equal((await one.getJob(job))?.job_status, 'queued')
      assert.equal((await claim(one)).assignment_id, job.assignment_id)
      if (!postgres.restart) return
      await postgres.restart()
      assert.equal((await other.getJob(job))?.job_status, 'active')
      assert.equal((await other.cancelJob(job)).job_status, 'canceled')
      await one.ping()
    })
  })

  test('is unavailable while the database is closed to connections, and goes on once it is open', async () => {
    const name = `assay_closed_${process.pid}`
    const closing = await postgres.createDatabase(name)
    const store = await open(closing)
    const allow = (allowed: boolean): Promise<unknown> =>
      withClient(url, async (client) => {
        await client.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${allowed}`)
        if (!allowed)
          await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
            name,
          ])
      })
    const job = await queueNew(store)
    await allow(false)
    await refuses(store.getJob(job), 'store_unavailable')
    await refuses(store.cancelJob(job), 'store_unavailable')
    await assert.rejects(store.ping(), (error: Error) => {
      assert.doesNotMatch(error.message, new RegExp(name), 'nobody is told of the inside')
      assert.match((error.cause as Error).message, new RegExp(name), 'but the log')
      return true
    })
    await refuses(open(closing), 'store_unavailable')
    await allow(true)
    assert.equal((await store.cancelJob(job)).job_status, 'canceled')
    await store.close()
    await postgres.dropDatabase(name)
  })

  test('keeps texts as they are, and refuses the one character that it cannot keep', async () => {
    await pair(async (store) => {
      const variables = { b: 1e21, a: 'x\u0000\ud800y', '2': -0.1, '1': [1.0, '€'] }
      const job = await queueNew(store, { variables })
      const kept = (await store.getJob(job))?.variables
      assert.equal(JSON.stringify(kept), JSON.stringify(variables))
      await refuses(queueNew(store, { presence_name: 'x\u0000' }), 'invalid')
    })
  })
})
