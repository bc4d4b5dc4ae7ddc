/**
 * Checks that stored rows make nothing slower: no operation of the store reads a table of ended objects from end to
 * end.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import type { Client } from 'pg'
import { missingPostgres, type Postgres, startPostgres } from '../../../test/servers/postgres.ts'
import { eventually } from '../../../test/servers/service.ts'
import {
  addWebhook,
  claimAll,
  completeNew,
  DAY,
  findings,
  otherWorkspace,
  outcome,
  queueNew,
  register,
  send,
  WORKSPACE,
} from '../conformance/given.ts'
import { LOOKED_AT_MOST } from '../list.ts'
import { listInsights } from '../nouns/jobs/insight-cards.ts'
import { listJobs } from '../nouns/jobs/jobs.ts'
import { listDeliveries } from '../nouns/webhooks/deliveries.ts'
import { listEvents } from '../nouns/webhooks/events.ts'
import { listAudit } from '../nouns/workspaces/audit.ts'
import { follow, type Routine } from '../rows.ts'
import type { Store } from '../store.ts'
import { open, withClient } from './postgres-fixture.ts'
import { readerOf } from './rows.ts'

const missing = await missingPostgres()
const DATABASE = `assay_growth_${process.pid}`
/** The rows in each of the two workspaces. They are more than a page may look at. */
const ROWS = 3 * LOOKED_AT_MOST

/** Makes completed jobs, in turn in the two workspaces, each with its insight, its event, and a finished delivery. */
const FILL = `
  WITH made AS (
    INSERT INTO jobs (assignment_id, workspace_id, user_id, template_id, template_version, job_status, priority, attempt,
      created_at, queued_at, started_at, finished_at, progress, moves, metadata, variables, insight_id)
    SELECT gen_random_uuid()::text, ($1::text[])[1 + n % 2], user_id, template_id, template_version, 'completed', 0, 1,
      at, at, at, at, progress, moves, metadata, variables, gen_random_uuid()::text
    FROM jobs, generate_series(1, $3::int) AS n, LATERAL (SELECT created_at - n * interval '1 s' AS at) AS time
    WHERE assignment_id = $2
    RETURNING *
  ), insight AS (
    INSERT INTO insights (insight_id, assignment_id, workspace_id, created_at, body)
    SELECT insight_id, assignment_id, workspace_id, created_at, '{}' FROM made
  ), event AS (
    INSERT INTO events (event_id, workspace_id, type, timestamp, data)
    SELECT gen_random_uuid()::text, workspace_id, 'job.completed', finished_at,
      json_build_object('assignment_id', assignment_id, 'user_id', user_id) FROM made
    RETURNING *
  ), delivery AS (
    INSERT INTO deliveries (delivery_id, workspace_id, webhook_id, event_seq, event_id, event_type, event_at,
      assignment_id, status, attempt_count, created_at)
    SELECT gen_random_uuid()::text, event.workspace_id, webhook_id, seq, event_id, type, timestamp,
      data->>'assignment_id', 'delivered', 1, timestamp FROM event JOIN webhooks USING (workspace_id)
    RETURNING delivery_id
  )
  INSERT INTO attempts (delivery_id, number, record) SELECT delivery_id, 1, '{}' FROM delivery`

/** Makes jobs of bob with their cards. They are newer than all others and made after the statistics. */
const FILL_READER = `
  WITH made AS (
    INSERT INTO jobs (assignment_id, workspace_id, user_id, template_id, template_version, job_status, priority, attempt,
      created_at, finished_at, progress, moves, metadata, variables, insight_id, reader_id)
    SELECT gen_random_uuid()::text, workspace_id, user_id, template_id, template_version, 'completed', 0, 1,
      at, at, progress, moves, metadata, variables, gen_random_uuid()::text, 'bob'
    FROM (SELECT * FROM jobs WHERE workspace_id = $1 AND finished_at IS NOT NULL LIMIT 1) AS one,
      generate_series(1, $2::int) AS n, LATERAL (SELECT clock_timestamp() + n * interval '1 s' AS at) AS time
    RETURNING *
  )
  INSERT INTO insight_cards (insight_id, assignment_id, workspace_id, template_id, title, series, tags, metrics, search, user_id,
    reader_id, created_at)
  SELECT insight_id, assignment_id, workspace_id, template_id, 'Delays', assignment_id, '[]', '[]', 'delays', user_id, reader_id,
    created_at FROM made`

const READ = `
  SELECT relname AS name, seq_tup_read::int AS read, n_tup_del::int AS deleted FROM pg_stat_user_tables
  WHERE relname IN ('jobs', 'insights', 'events', 'deliveries', 'attempts')`

/** Makes waiting deliveries of the webhook, after the statistics. */
const WAIT = `
  INSERT INTO deliveries (delivery_id, workspace_id, webhook_id, event_seq, event_id, event_type, event_at, status, due_at,
    created_at)
  SELECT gen_random_uuid()::text, workspace_id, webhook_id, event_seq, event_id, event_type, event_at, 'pending', created_at,
    created_at FROM deliveries, generate_series(1, $2::int) WHERE delivery_id = $1`

const FETCHED = `
  SELECT (seq_tup_read + idx_tup_fetch)::int AS fetched FROM pg_stat_user_tables WHERE relname = 'deliveries'`

/** Counts the rows that were read by scanning a table, and the entries that were read from its indexes. */
const ALL_READ = `
  SELECT relname, (seq_tup_read + (SELECT coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes AS own
    WHERE own.relid = pg_stat_user_tables.relid))::int AS read
  FROM pg_stat_user_tables WHERE relname IN ('jobs', 'insights', 'events', 'deliveries', 'attempts', 'webhooks')`

const OTHERS = `
  SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`

const FILL_TRAIL = `
  INSERT INTO audit (audit_id, workspace_id, created_at, action, object_id, fields, user_id)
  SELECT gen_random_uuid()::text, $1, clock_timestamp() - n * interval '1 s', 'job.create', n::text, '[]', 'ada'
  FROM generate_series(1, $2::int) AS n`

interface Reads {
  name: string
  /** The rows that were read by scanning the table. */
  read: number
  deleted: number
}

/** Makes copies of one job, every second of them queued, each with a waiting delivery. */
const GROW = `
  WITH made AS (
    INSERT INTO jobs (assignment_id, workspace_id, user_id, template_id, template_version, job_status, priority, attempt,
      created_at, queued_at, finished_at, progress, moves, metadata, variables)
    SELECT gen_random_uuid()::text, workspace_id, user_id, template_id, template_version,
      CASE n % 2 WHEN 0 THEN 'queued' ELSE 'completed' END, 0, 0, at, at, CASE n % 2 WHEN 1 THEN at END, progress, moves, metadata,
      variables
    FROM jobs, generate_series(1, $2::int) AS n, LATERAL (SELECT clock_timestamp() AS at) AS time WHERE assignment_id = $1
    RETURNING *
  ), event AS (
    INSERT INTO events (event_id, workspace_id, type, timestamp, data)
    SELECT gen_random_uuid()::text, workspace_id, 'job.completed', queued_at, '{}' FROM made RETURNING *
  )
  INSERT INTO deliveries (delivery_id, workspace_id, webhook_id, event_seq, event_id, event_type, event_at, status, due_at,
    created_at)
  SELECT gen_random_uuid()::text, workspace_id, webhook_id, seq, event_id, type, timestamp, 'pending', timestamp, timestamp
  FROM event JOIN webhooks USING (workspace_id)`
const GROWN = 100_000

/** Claims and settles one job at a time, then many, with the deliveries of their events. */
async function claimsAndSettles(store: Store, node_id: string, rounds: number[]): Promise<number> {
  let settled = 0
  for (const limit of rounds) {
    const claimed = await store.claimJobs({ node_id, limit })
    const leases = claimed.map(({ job: { assignment_id, attempt } }) => ({ assignment_id, attempt, node_id }))
    const held = leases.map((lease) => ({
      ...lease,
      progress: { percent: 1, step: 1, steps: 2, label: 'x' },
    }))
    await store.renewNode({ node_id, lease_ms: DAY, held })
    const written = await Promise.all(
      leases.map((lease) =>
        store.completeJob({ ...lease, insight_id: randomUUID(), findings: findings(), ran_ms: 0 }),
      ),
    )
    settled += written.filter(Boolean).length
    const deliveries = await store.claimDeliveries({ node_id, limit: Math.min(limit, 20) })
    await store.recordAttempts(deliveries.map((one) => outcome(one)))
  }
  return settled
}

suite('beside much that has ended', { skip: missing ?? false }, () => {
  let postgres: Postgres
  let url: string

  const reads = (): Promise<Map<string, Reads>> =>
    withClient(url, async (client) => {
      const { rows } = await client.query<Reads>(READ)
      return new Map(rows.map((row) => [row.name, row]))
    })

  before(async () => {
    postgres = await startPostgres()
    url = await postgres.createDatabase(DATABASE)
    const store = await open(url)
    await register(store)
    const other = await otherWorkspace(store, 'other')
    for (const workspace_id of [WORKSPACE, other]) await addWebhook(store, { workspace_id })
    const job = await completeNew(store)
    await withClient(url, async (client) => {
      await client.query(FILL, [[WORKSPACE, other], job.assignment_id, ROWS])
      await client.query(FILL_TRAIL, [WORKSPACE, ROWS])
      await client.query('VACUUM ANALYZE')
    })
    await store.close()
  })
  after(async () => {
    await postgres.dropDatabase(DATABASE)
    await postgres.stop()
  })

  test('a list reads what it gives where an index has its filters, else no more than it may look at', async () => {
    const store = await open(url)
    const [webhook] = (await store.listWebhooks({ workspace_id: WORKSPACE, limit: 1 })).items
    await store.close()
    const { webhook_id } = webhook!
    const none = randomUUID()
    const direct: Listing[] = [
      ['jobs', {}],
      ...(['queued', 'active', 'executing', 'canceled', 'completed'] as const).map(
        (job_status): Listing => ['jobs', { job_status }],
      ),
      ['jobs', { template_id: none }],
      ['jobs', { template_id: none, job_status: 'completed' }],
      ['jobs', { schedule_id: none, job_status: 'completed' }],
      ['jobs', { batch_id: none }],
      ['deliveries', { webhook_id }],
      ['deliveries', { webhook_id, status: 'failed' }],
      ['deliveries', { webhook_id, event_type: 'job.completed' }],
      ['deliveries', { webhook_id, assignment_id: none, event_type: 'job.completed' }],
      ...(['oldest', 'newest'] as const).flatMap((order): Listing[] => [
        ['events', { order }],
        ['events', { order, type: 'job.completed' }],
        ['events', { order, type: 'webhook.disabled' }],
      ]),
      ['audit', {}],
      ['audit', { object_id: none }],
      ['audit', { action: 'token.create' }],
      ['audit', { action: 'token.create', user_id: 'ada' }],
      ['audit', { action: 'job.create', user_id: 'ada' }],
    ]
    const bounded: Listing[] = [
      ['jobs', { template_id: 'delays', job_status: 'canceled' }],
      ['deliveries', { webhook_id, event_type: 'job.canceled' }],
      ['deliveries', { webhook_id, event_type: 'job.canceled', status: 'delivered' }],
      ['events', { order: 'newest', type: 'job.queued' }],
      ['audit', { user_id: 'bob' }],
      ['audit', { action: 'job.run' }],
    ]
    await withClient(url, async (client) => {
      for (const listing of direct) {
        const read = await listReads(client, listing)
        assert.ok(read >= 0 && read <= 60, `${JSON.stringify(listing)}: ${read}`)
      }
      // The database reads one row more to see whether a next page exists. Without statistics it sorts the events of
      // so small a workspace.
      for (const listing of bounded) {
        const read = await listReads(client, listing)
        const most = listing[0] === 'events' ? ROWS : LOOKED_AT_MOST + 1
        assert.ok(read >= 0 && read <= most, `${JSON.stringify(listing)}: ${read}`)
      }
    })
  })

  test('work, retention and deletions read no table of it from end to end', async () => {
    const before = await reads()
    const store = await open(url)
    await work(store)
    const keep = { jobs_ms: ROWS * 900, drafts_ms: DAY, events_ms: DAY, deliveries_ms: DAY }
    const pruned = await store.prune({ keep, limit: 200 })
    assert.equal(pruned.jobs, 200)
    const [webhook] = (await store.listWebhooks({ workspace_id: 'other', limit: 1 })).items
    assert.ok(await store.deleteWebhook(webhook!))
    assert.ok(await store.deleteWorkspace('other'))
    await store.close()
    // A process reports the rows that it read when it ends.
    await eventually(
      async () => (await reads()).get('jobs')!.deleted > before.get('jobs')!.deleted + ROWS / 2,
      'what was read is told',
    )
    const rows = [...(await reads())].map(([name, { read }]) => ({
      name,
      read: read - before.get(name)!.read,
    }))
    assert.deepEqual(
      rows.filter(({ read }) => read > ROWS / 10),
      [],
    )
  })

  test('where autovacuum is off the room of deleted rows is used again, once there is much of it', async () => {
    await using(async (store) => {
      assert.ok((await store.reclaim()).includes('jobs'))
      assert.deepEqual(await store.reclaim(), [])
    })
    await withClient(url, async (client) => {
      const told = `SELECT relname FROM pg_stat_user_tables WHERE vacuum_count > 1 AND n_dead_tup < 100`
      const names = (await client.query<{ relname: string }>(told)).rows.map(({ relname }) => relname)
      assert.ok(names.includes('jobs'), names.join())
    })
  })

  test('the list of one person passes over what is of other readers, however old the statistics are', async () => {
    await withClient(url, async (client) => {
      await client.query(FILL_READER, [WORKSPACE, ROWS])
      const listings: Listing[] = (['jobs', 'insights'] as const).flatMap((list): Listing[] => [
        [list, {}],
        [list, { seen_by: 'ada' }],
        [list, { seen_by: 'ada', template_id: 'delays' }],
        [list, { seen_by: 'bob' }],
        [list, { reader_id: 'bob', seen_by: 'ada' }],
      ])
      for (const [list, filters] of listings) {
        const read = await listReads(client, [list, filters])
        const most = 'reader_id' in filters ? LOOKED_AT_MOST + 1 : 120
        assert.ok(read >= 0 && read <= most, `${list} ${JSON.stringify(filters)}: ${read}`)
      }
    })
  })

  test('plans that were kept from an empty database read few rows when it has grown', async () => {
    const name = `${DATABASE}_kept`
    const grown = await postgres.createDatabase(name)
    const store = await open(grown)
    const node_id = await register(store)
    await addWebhook(store, { events: ['*'] })
    const job = await queueNew(store)
    for (let more = 0; more < 7; more += 1) await queueNew(store)
    // Every connection makes its plans first.
    const first = await Promise.all([1, 1, 1, 1, 4].map((limit) => claimsAndSettles(store, node_id, [limit])))
    assert.equal(
      first.reduce((sum, one) => sum + one, 0),
      8,
    )
    await withClient(grown, (client) => client.query(GROW, [job.assignment_id, GROWN]))
    const rounds = [...Array.from({ length: 20 }, () => 1), 50, 50]
    assert.equal(await claimsAndSettles(store, node_id, rounds), 120)
    await store.close()
    await withClient(grown, async (client) => {
      await eventually(async () => (await client.query(OTHERS)).rows.length === 0, 'what was read is told')
      const { rows } = await client.query<{ relname: string; read: number }>(ALL_READ)
      // The bound covers 128 jobs with their deliveries, some versions of each, and the row from which the others
      // were made.
      const most = GROWN / 20
      assert.deepEqual(
        rows.filter(({ read }) => read > most),
        [],
      )
      assert.ok(rows.some(({ relname, read }) => relname === 'jobs' && read > 128))
    })
    await postgres.dropDatabase(name)
  })

  /** Runs work with a store of its own, because a process reports the rows that it read when it ends. */
  async function using<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = await open(url)
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }

  /** Returns how many rows of deliveries the work reads. */
  async function fetching(work: (store: Store) => Promise<void>): Promise<number> {
    const fetched = (): Promise<number> =>
      withClient(url, async (client) => (await client.query<{ fetched: number }>(FETCHED)).rows[0]!.fetched)
    const before = await fetched()
    await using(work)
    await eventually(
      () => withClient(url, async (client) => (await client.query(OTHERS)).rows.length === 0),
      'what was read is told',
    )
    return (await fetched()) - before
  }

  test('old events are deleted without a look at the deliveries of others', async () => {
    const keep = { jobs_ms: DAY, drafts_ms: DAY, events_ms: ROWS * 800, deliveries_ms: DAY }
    const read = await fetching(async (store) => {
      assert.equal((await store.prune({ keep, limit: 100 })).events, 100)
    })
    assert.ok(read < ROWS / 10, `${read} deliveries were read`)
  })

  test('a delivery is claimed, settled and given back without a look at those that wait', async () => {
    const { node_id, webhook, bad, first } = await using(async (store) => {
      const [known] = (await store.listWebhooks({ workspace_id: WORKSPACE, limit: 1 })).items
      const added = await addWebhook(store)
      const [sent] = await send(store, added)
      await store.updateWebhook({ ...added, patch: { status: 'disabled' } })
      return { node_id: await register(store), webhook: known!, bad: added, first: sent }
    })
    await withClient(url, (client) => client.query(WAIT, [first, ROWS]))
    const rounds = async (from: Store): Promise<void> => {
      for (let round = 0; round < 10; round += 1) {
        await send(from, webhook, 5)
        await from.releaseDeliveries(await from.claimDeliveries({ node_id, limit: 10 }))
        const claimed = await from.claimDeliveries({ node_id, limit: 10 })
        assert.ok(claimed.length >= 5)
        await from.recordAttempts(claimed.map((one) => outcome(one)))
      }
    }
    const whileDisabled = await fetching(rounds)
    await using((store) => store.updateWebhook({ ...bad, patch: { status: 'enabled' } }))
    const whileDue = await fetching(rounds)
    // The work reads a row several times, and its earlier versions too.
    for (const [when, read] of Object.entries({ whileDisabled, whileDue }))
      assert.ok(read >= 50 && read < 50 * 100, `${when} ${read} rows were read for 50 deliveries`)
  })
})

/** A step of the plan of a statement, as EXPLAIN shows it. */
interface Step {
  'Node Type': string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  Plans?: Step[]
}

function rowsRead(step: Step): number {
  const own = step['Node Type'].includes('Scan') && !step.Plans
  const removed = step['Rows Removed by Filter'] ?? 0
  return (
    (own ? step['Actual Rows'] + removed : 0) +
    (step.Plans ?? []).reduce((sum, one) => sum + rowsRead(one), 0)
  )
}

const LISTS = {
  jobs: listJobs,
  insights: listInsights,
  deliveries: listDeliveries,
  events: listEvents,
  audit: listAudit,
}
type Listing = [list: keyof typeof LISTS, filters: object]

/** Returns how many rows a list reads from the table and its indexes. */
async function listReads(client: Client, [list, filters]: Listing): Promise<number> {
  let read = -1
  const query = async (sql: string, values: unknown[]): Promise<{ rows: never[] }> => {
    const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, values)
    read = rowsRead(rows[0]['QUERY PLAN'][0].Plan as Step)
    return { rows: (sql.includes('settled_events') ? [{ seq: ROWS * 10 }] : []) as never[] }
  }
  const from = readerOf(query as unknown as Parameters<typeof readerOf>[0])
  await follow(
    LISTS[list](from, { workspace_id: WORKSPACE, limit: 50, ...filters } as never) as Routine<unknown>,
  )
  return read
}

/** Runs a job and its delivery to their end, and the requests of people about both. */
async function work(store: Store): Promise<void> {
  const job = await completeNew(store)
  const key = { workspace_id: WORKSPACE, assignment_id: job.assignment_id }
  const claimed = await claimAll(store)
  assert.deepEqual(await store.recordAttempts(claimed.map((one) => outcome(one))), [true, true])
  const [{ webhook }] = claimed as [(typeof claimed)[number]]
  await send(store, webhook)
  await store.cancelPending(webhook)
  await queueNew(store)
  await store.counts()
  await store.listJobs({ workspace_id: WORKSPACE, limit: 50 })
  for (const job_status of ['draft', 'queued', 'active', 'executing', 'completed', 'canceled'] as const)
    await store.listJobs({ workspace_id: WORKSPACE, limit: 50, job_status })
  await store.listEvents({ workspace_id: WORKSPACE, limit: 50, order: 'oldest' })
  await store.listDeliveries({ ...webhook, limit: 50, status: 'failed' })
  await store.webhookStats({ ...webhook, since: job.created_at })
  await store.deleteJob(key)
}
