import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { FakeClock, systemClock } from '@assay/model/clock'
import { NO_CAPS } from '../caps.ts'
import { conformance, type Harness } from '../conformance/conformance.ts'
import {
  addWebhook,
  completeNew,
  copies,
  LEASE_MS,
  NODE,
  outcome,
  register,
  send,
} from '../conformance/given.ts'
import { type Fill, STEP_TESTS } from '../conformance/steps.ts'
import { openStore } from '../open.ts'
import { NODES } from '../tables/jobs/nodes.ts'

// Records the plan of each statement that the suite makes SQLite prepare.
const plans = new Map<string, string[]>()
const { prepare } = DatabaseSync.prototype
DatabaseSync.prototype.prepare = function notePlan(sql, options) {
  if (/^\s*(SELECT|UPDATE|DELETE|WITH)/.test(sql)) {
    const steps = prepare.call(this, `EXPLAIN QUERY PLAN ${sql}`).all()
    plans.set(
      sql,
      steps.map(({ detail }) => String(detail)),
    )
  }
  return prepare.call(this, sql, options)
}

async function open(): Promise<Harness> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-store-'))
  const clock = new FakeClock()
  const openHome = (caps = NO_CAPS) =>
    openStore({ url: '', home, clock, publicUrl: 'https://assay.example', caps })
  let store = await openHome()
  return {
    store,
    now: () => clock.now(),
    async elapse(ms) {
      clock.advance(ms)
    },
    async copy(...given) {
      const beside = new DatabaseSync(path.join(home, 'assay.db'))
      beside.exec(copies(...given))
      beside.close()
    },
    async reopen(caps) {
      await store.close()
      store = await openHome(caps)
      return store
    },
    async close() {
      await store.close()
      await rm(home, { recursive: true })
    },
  }
}

conformance('SQLite', open)

/** Sends test events. Those that must wait have failed once, in one run. */
const fillOf =
  (store: Harness['store']): Fill =>
  async (webhook, count, waitMs) => {
    await Promise.all(Array.from({ length: count }, () => send(store, webhook)))
    if (waitMs === 0) return
    const runs = new Map([[webhook.webhook_id, count]])
    const next = { status: 'pending' as const, wait_ms: waitMs }
    const claimed = await store.claimDeliveries({ node_id: NODE, limit: 100, runs })
    await Promise.all(claimed.map((one) => store.recordAttempt(outcome(one, { next }))))
  }

for (const [title, run] of Object.entries(STEP_TESTS))
  test(`SQLite ${title}`, async () => {
    const harness = await open()
    await run(harness.store, fillOf(harness.store))
    await harness.close()
  })

test('SQLite has one time for all that a write does, however the clock moves', async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-store-'))
  const clock = new FakeClock()
  // This clock advances whenever it is read.
  const moving = {
    ...systemClock,
    now: () => {
      clock.advance(1)
      return clock.now()
    },
  }
  const store = await openStore({ url: '', home, clock: moving, publicUrl: null, caps: NO_CAPS })
  const webhook = await addWebhook(store)
  assert.equal(webhook.updated_at, webhook.created_at)
  await register(store)
  const [node] = await store.listNodes()
  assert.equal(Date.parse(node!.lease_until) - Date.parse(node!.started_at), LEASE_MS)
  const job = await completeNew(store, { presence_name: webhook.presence_name })
  const insight = await store.getInsightHead({ ...job, insight_id: job.insight_id! })
  assert.deepEqual([job.moves.at(-1)!.at, insight!.created_at], [job.finished_at, job.finished_at])
  const { items } = await store.listDeliveries({ ...webhook, status: 'pending', limit: 5 })
  assert.deepEqual(
    items.map(({ created_at, next_attempt_at }) => [created_at, next_attempt_at]),
    [[job.finished_at, job.finished_at]],
  )
  await store.close()
  await rm(home, { recursive: true })
})

/** Few rows by nature, a list that was given, or an index that is read in order up to a limit. */
const MAY_BE_SCANNED =
  /^SCAN (CONSTANT ROW|(json_each|given|pragma_page_(count|size)) VIRTUAL TABLE|migrations|nodes|job_counts|levels|looked_at$|latest$|found$|read$|\(subquery|workspaces USING( COVERING)? INDEX|webhooks( USING COVERING INDEX|$)|recoveries|template_versions USING COVERING|deliveries USING COVERING INDEX deliveries_due)/

/** Only a node that starts without passwords looks for what a password began. */
const AT_START = 'AND issuer IS NOT NULL)'

test('no statement of the store reads a table from end to end', () => {
  const scans = [...plans].flatMap(([sql, steps]) =>
    (sql.includes(AT_START) ? [] : steps)
      .filter((step) => step.startsWith('SCAN') && !MAY_BE_SCANNED.test(step))
      .map((step) => `${step}: ${sql}`),
  )
  assert.deepEqual(scans, [])
  assert.ok(plans.size > 80, `${plans.size} statements`)
})

/**
 * Results that are sorted once: the deliveries of one job; the insights of one collection, 200 at most; the last
 * readings of an insight, by their readers; a page.
 */
const FEW = [
  'WHERE workspace_id = ? AND assignment_id = ?',
  'FROM insight_cards WHERE workspace_id = ? AND insight_id IN (SELECT value FROM json_each(?))',
  'LIMIT 5000) AS read',
  'LIMIT ?) AS found',
]

test('lists and claims come sorted out of an index', () => {
  const sorts = [...plans].flatMap(([sql, steps]) => {
    const count = steps.filter((step) => step.includes('FOR ORDER BY')).length
    const few = FEW.some((one) => sql.includes(one)) ? 1 : 0
    return count > few ? [sql] : []
  })
  assert.deepEqual(sorts, [NODES.select('ORDER BY started_at, node_id').sqlite.sql])
})
