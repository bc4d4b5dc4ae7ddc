/**
 * Checks that all transactions take their locks in one order (docs/decisions/0115-one-order-of-locks.md), so that
 * none waits in a circle.
 */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { missingPostgres, type Postgres, startPostgres } from '../../../test/servers/postgres.ts'
import { eventually } from '../../../test/servers/service.ts'
import { expectingWebhook } from '../conformance/expected.ts'
import {
  addWebhook,
  at,
  DAY,
  FAILED_ATTEMPT,
  findings,
  otherWorkspace,
  outcome,
  queueNew,
  register,
  send,
  WORKSPACE,
} from '../conformance/given.ts'
import { scheduleInput } from '../conformance/schedules.ts'
import type { ClaimedJob, Lease, Store } from '../store.ts'
import { open, withClient } from './postgres-fixture.ts'

const missing = await missingPostgres()
const DATABASE = `assay_locks_${process.pid}`
const ROUNDS = 8
const KEEP = { jobs_ms: 1, drafts_ms: DAY, events_ms: DAY, deliveries_ms: 1 }

/**
 * Awaits work whose object others may have taken, ended or deleted meanwhile, which is not a fault. A repeat that
 * never ends is one.
 */
async function tried<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'store_unavailable') throw error
    return null
  }
}

const leaseOf = ({ job }: ClaimedJob, node_id: string): Lease => ({
  assignment_id: job.assignment_id,
  attempt: job.attempt,
  node_id,
})

/** Works on jobs of one node: renews, settles in groups and gives back, each in an order of its own. */
async function works(store: Store, node_id: string, round: number): Promise<void> {
  const claimed = (await tried(store.claimJobs({ node_id, limit: 12 }))) ?? []
  const leases = claimed.map((one) => leaseOf(one, node_id))
  await Promise.all(leases.map((lease) => store.startJob(lease)))
  const progress = { percent: round, step: 1, steps: 2, label: 'half' }
  const held = leases.toReversed().map((lease) => ({ ...lease, progress }))
  const settles = leases.map((lease, nth) => {
    if (nth % 4 === 0) return store.releaseJobs([lease])
    if (nth % 4 === 1) return store.loseJob(lease)
    return store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings() })
  })
  await Promise.all([
    ...settles,
    tried(store.renewNode({ node_id, lease_ms: 60_000, held })),
    tried(store.claimJobs({ node_id, limit: 2 })),
    tried(store.giveBackUnknown({ node_id, jobs: [], deliveries: [] })),
  ])
}

/** Works on deliveries of one node. Some disable their webhook, of which others are told; some are released. */
async function sends(store: Store, node_id: string, round: number): Promise<void> {
  const claimed = (await tried(store.claimDeliveries({ node_id, limit: 40 }))) ?? []
  const given = claimed.filter((_, nth) => nth % 3 === 0)
  const tries = claimed.filter((_, nth) => nth % 3 !== 0)
  await Promise.all([
    store.recordAttempts(
      tries.map((one, nth) => {
        if (nth % 5 !== round % 5) return outcome(one)
        const record = { ...FAILED_ATTEMPT, number: one.attempt }
        const off = nth % 2 ? { warn: true as const } : { disable: { reason: 'It fails.' } }
        return outcome(one, { record, next: { status: 'failed' }, ...off })
      }),
    ),
    store.releaseDeliveries(given.toReversed()),
    tried(store.claimDeliveries({ node_id, limit: 10 })),
  ])
}

/** Makes the changes of people and of the service beside the work. */
async function handles(store: Store, node_id: string): Promise<void> {
  const { items } = await store.listJobs({ workspace_id: WORKSPACE, limit: 10 })
  const [one, other] = items
  const webhook = await addWebhook(store, { presence_name: node_id, events: ['*'] })
  await Promise.all([
    tried(queueNew(store)),
    tried(expectingWebhook(store, webhook).deleteWebhook(webhook)),
    store.prune({ keep: KEEP, limit: 5 }),
    tried(store.reapNodes({ all: true, but: node_id })),
    tried(store.eraseUser({ workspace_id: WORKSPACE, user_id: 'eve', limit: 20 })),
    one && tried(store.cancelJob(one)),
    other && tried(store.deleteJob(other)),
  ])
  await register(store, node_id)
}

/** Sends deliveries again, deletes a webhook while it recovers, and makes and deletes a workspace. */
async function repeats(store: Store, node_id: string, round: number): Promise<void> {
  const workspace_id = `${node_id} ${round}`
  await store.createWorkspace({ workspace_id, name: 'Short', data_folder: null })
  const short = await addWebhook(store, { workspace_id, events: ['*'] })
  const webhook = await addWebhook(store, { presence_name: node_id, events: ['*'] })
  const jobs = await Promise.all([1, 2, 3].map(() => queueNew(store, { workspace_id })))
  await Promise.all([...jobs.map((job) => tried(store.cancelJob(job))), send(store, short, 3)])
  const shared = (await store.listWebhooks({ workspace_id: WORKSPACE, limit: 4 })).items[round % 4] ?? webhook
  const { items } = await store.listDeliveries({
    workspace_id: WORKSPACE,
    webhook_id: shared.webhook_id,
    limit: 8,
  })
  const since = at(Date.now() - DAY)
  for (const { webhook_id } of [shared, webhook]) {
    const window = { workspace_id: WORKSPACE, webhook_id, since, until: null, include_unsent: true }
    await tried(store.createRecovery({ ...window, recovery_id: uuidv7() }))
  }
  const keep = { ...KEEP, events_ms: 1 }
  await Promise.all([
    tried(store.deleteWorkspace(workspace_id)),
    ...jobs.map((job) => tried(store.deleteJob(job))),
    ...items.map((one) => tried(store.redeliver({ ...one, new_delivery_id: uuidv7() }))),
    ...[20, 20].map((limit) => tried(store.advanceRecoveries({ limit }))),
    ...[20, 20].map((limit) => store.prune({ keep, limit })),
    tried(store.updateWebhook({ ...shared, patch: { status: 'enabled' } })),
    tried(store.deleteWebhook(webhook)),
    erased(store),
  ])
}

/** Erases everything that a user has left. */
async function erased(store: Store): Promise<void> {
  const input = { workspace_id: WORKSPACE, user_id: 'eve', limit: 40 }
  let step = await tried(store.eraseUser(input))
  while (step && step.next_cursor !== null)
    step = await tried(store.eraseUser({ ...input, cursor: step.next_cursor }))
}

/** Returns PostgreSQL's reports of deadlocks from its log: who waited for whom, and in which statements. */
function deadlocksIn(log: string): string {
  const entries = log.split(/\n(?=\d{4}-\d\d-\d\d )/)
  const told = entries.flatMap((entry, at) =>
    entry.includes('ERROR:  deadlock detected') ? entries.slice(at, at + 5) : [],
  )
  return `PostgreSQL ended transactions that waited for each other:\n${told.join('\n')}`
}

suite('the locks of the store on PostgreSQL', { skip: missing ?? false }, () => {
  let postgres: Postgres
  let url: string
  before(async () => {
    postgres = await startPostgres({ track_activity_query_size: '8192' })
    url = await postgres.createDatabase(DATABASE)
    // A circle is found at once, and waits that would have ended by themselves are not counted.
    await withClient(url, (client) =>
      client.query(`ALTER DATABASE ${DATABASE} SET deadlock_timeout = '20ms'`),
    )
  })
  after(async () => {
    await postgres.dropDatabase(DATABASE)
    await postgres.stop()
  })

  test('no two transactions wait for each other, whatever nodes and people do at once', async () => {
    const stores = await Promise.all([open(url), open(url)])
    const nodes = ['node-1', 'node-2']
    for (const [nth, store] of stores.entries()) await register(store, nodes[nth])
    for (const presence_name of ['', 'ops', 'late', 'daily'])
      await addWebhook(stores[0], { presence_name, events: ['*'], max_in_flight: 20 })
    await Promise.all(
      stores.flatMap((store, nth) =>
        [works, sends, handles, repeats].map(async (work) => {
          for (let round = 0; round < ROUNDS; round += 1) {
            await Promise.all(
              Array.from({ length: 6 }, (_, one) =>
                tried(queueNew(store, { user_id: one % 2 ? 'eve' : 'ada' })),
              ),
            )
            await work(store, nodes[nth]!, round)
          }
        }),
      ),
    )
    for (const store of stores) await store.close()
    assert.equal(await deadlocks(), 0, deadlocksIn(postgres.log?.() ?? ''))
  })

  /** Runs the work while `first` is under way in a transaction that the work waits for. `second` ends that transaction. */
  async function meets(
    first: [sql: string, id: string],
    work: () => Promise<unknown>,
    second: [sql: string, id: string],
  ): Promise<void> {
    await withClient(url, async (client) => {
      await client.query('BEGIN')
      await client.query(first[0], [first[1]])
      const done = work()
      done.catch(() => undefined)
      await withClient(url, (other) =>
        eventually(async () => {
          const { rows } = await other.query(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          )
          return rows.length > 0
        }, 'the work waits'),
      )
      await client.query(second[0], [second[1]])
      await client.query('COMMIT')
      await done
    })
  }

  test('a deletion that expects a tag takes the lock of a deletion at once', async () => {
    const store = await open(url)
    const before = await deadlocks()
    const webhook = await addWebhook(store)
    const lock = (how: string) => `SELECT 1 FROM webhooks WHERE webhook_id = $1 FOR ${how}`
    const { webhook_id } = webhook
    await meets(
      [lock('KEY SHARE'), webhook_id],
      () => expectingWebhook(store, webhook).deleteWebhook(webhook),
      [lock('NO KEY UPDATE'), webhook_id],
    )
    assert.equal(await store.getWebhook(webhook), null)
    assert.equal(await deadlocks(), before)
    await store.close()
  })

  test('an event whose webhook is deleted in between holds nobody up and leaves no delivery to it', async () => {
    const store = await open(url)
    const before = await deadlocks()
    const workspace_id = await otherWorkspace(store, 'apart')
    const add = () => addWebhook(store, { workspace_id, events: ['*'] })
    const [kept, gone] = [await add(), await add()].toSorted((a, b) => (a.webhook_id < b.webhook_id ? -1 : 1))
    await meets(
      ['SELECT 1 FROM webhooks WHERE webhook_id = $1 FOR NO KEY UPDATE', kept!.webhook_id],
      () => queueNew(store, { workspace_id }),
      ['DELETE FROM webhooks WHERE webhook_id = $1', gone!.webhook_id],
    )
    const { rows } = await withClient(url, (client) =>
      client.query('SELECT webhook_id FROM deliveries WHERE workspace_id = $1', [workspace_id]),
    )
    assert.deepEqual(rows, [{ webhook_id: kept!.webhook_id }])
    assert.equal(await deadlocks(), before)
    await store.close()
  })

  test('a step of a recovery holds nothing that the deletion of its webhook waits for', async () => {
    const store = await open(url)
    const before = await deadlocks()
    const webhook = await addWebhook(store)
    const window = { ...webhook, since: at(0), until: null, include_unsent: true }
    await withClient(url, (client) => client.query('DELETE FROM recoveries'))
    await store.createRecovery({ ...window, recovery_id: uuidv7() })
    await meets(
      ['SELECT 1 FROM webhooks WHERE webhook_id = $1 FOR UPDATE', webhook.webhook_id],
      () => store.advanceRecoveries({ limit: 5 }),
      ['DELETE FROM recoveries WHERE webhook_id = $1', webhook.webhook_id],
    )
    assert.equal(await deadlocks(), before)
    await store.close()
  })

  test('the jobs of a deleted workspace are locked before its webhooks', async () => {
    const store = await open(url)
    const before = await deadlocks()
    const workspace_id = await otherWorkspace(store, 'closed')
    await addWebhook(store, { workspace_id, events: ['*'] })
    const job = await queueNew(store, { workspace_id })
    await store.cancelJob(job)
    await meets(
      ['SELECT 1 FROM jobs WHERE assignment_id = $1 FOR UPDATE', job.assignment_id],
      () => store.deleteWorkspace(workspace_id),
      ['SELECT 1 FROM webhooks WHERE workspace_id = $1 FOR NO KEY UPDATE', workspace_id],
    )
    assert.equal(await deadlocks(), before)
    await store.close()
  })

  test('a workspace is closed beside transactions that write its webhook or schedule and then ask for it', async () => {
    const store = await open(url)
    const before = await deadlocks()
    const [one, other] = [await otherWorkspace(store, 'sending'), await otherWorkspace(store, 'timed')]
    const webhook = await addWebhook(store, { workspace_id: one, events: ['*'] })
    // PostgreSQL checks a row that a transaction writes twice against its workspace once more.
    const write = 'UPDATE webhooks SET updated_at = now() WHERE webhook_id = $1'
    await meets([write, webhook.webhook_id], () => store.deleteWorkspace(one), [write, webhook.webhook_id])
    const schedule = await store.createSchedule(scheduleInput({ workspace_id: other }))
    await meets(
      ['SELECT 1 FROM schedules WHERE schedule_id = $1 FOR UPDATE', schedule.schedule_id],
      () => store.deleteWorkspace(other),
      ['SELECT 1 FROM workspaces WHERE workspace_id = $1 FOR KEY SHARE', other],
    )
    assert.deepEqual([await store.getWorkspace(one), await store.getWorkspace(other)], [null, null])
    assert.equal(await deadlocks(), before)
    await store.close()
  })

  test('deletions of the same attempts lock them in the order of their keys', async () => {
    const store = await open(url)
    const before = await deadlocks()
    const workspace_id = await otherWorkspace(store, 'tried')
    for (const _ of [1, 2]) await addWebhook(store, { workspace_id, events: ['*'] })
    const job = await queueNew(store, { workspace_id })
    await store.cancelJob(job)
    await withClient(url, async (client) => {
      const { rows } = await client.query<{ delivery_id: string }>(
        'SELECT delivery_id FROM deliveries WHERE assignment_id = $1 ORDER BY delivery_id DESC',
        [job.assignment_id],
      )
      // The attempts lie on the disk in an order in which they are found from the last to the first.
      for (const { delivery_id } of rows)
        await client.query(`INSERT INTO attempts VALUES ($1, 1, '{}')`, [delivery_id])
      const lock = 'SELECT 1 FROM attempts WHERE delivery_id = $1 FOR UPDATE'
      await meets([lock, rows.at(-1)!.delivery_id], () => store.deleteJob(job), [lock, rows[0]!.delivery_id])
    })
    assert.equal(await deadlocks(), before)
    await store.close()
  })

  test('a sign-in that is made while its token is deleted ends with it', async () => {
    const store = await open(url)
    const scopes = ['viewer' as const]
    const of = { workspace_id: WORKSPACE, user_id: 'ada', scopes }
    const token_id = uuidv7()
    await store.createToken({ ...of, token_id, name: 'mine', expires_at: null, token_hash: token_id })
    const signIn = { ...of, token_id, device: 'x', address: 'x', idle_ms: DAY, life_ms: DAY }
    await store.createSignIn({ ...signIn, sign_in_id: uuidv7(), secret_hash: `first ${token_id}` })
    await meets(
      ['SELECT 1 FROM tokens WHERE token_id = $1 FOR UPDATE', token_id],
      () => store.deleteToken({ workspace_id: WORKSPACE, token_id }),
      [
        `INSERT INTO sign_ins SELECT (jsonb_populate_record(sign_ins,
           '{"sign_in_id": "late", "secret_hash": "late"}')).* FROM sign_ins WHERE token_id = $1`,
        token_id,
      ],
    )
    assert.deepEqual(
      [await store.findSignIn(`first ${token_id}`), await store.findSignIn('late')],
      [null, null],
    )
    await store.close()
  })

  async function deadlocks(): Promise<number> {
    const { rows } = await withClient(url, (client) =>
      client.query<{ deadlocks: number }>(
        'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
      ),
    )
    return rows[0]!.deadlocks
  }
})
