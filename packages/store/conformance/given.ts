/** The data that conformance tests begin with: jobs, webhooks and outcomes. Each is valid unless a test changes it. */
import assert from 'node:assert/strict'
import type { AttemptRecord } from '@assay/model/delivery'
import { AppError, type ErrorCode } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import type { Findings } from '@assay/model/insight'
import type { Job } from '@assay/model/job'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import type { Webhook } from '@assay/model/webhook'
import type { JobCaps } from '../caps.ts'
import type { AttemptOutcome, ClaimedDelivery, Lease, NewJob, NewWebhook, Store } from '../store.ts'

/** One fresh store and its time. */
export interface Harness {
  store: Store
  /** Returns the store's time in milliseconds. */
  now(): number
  /** Moves the time of everything that is stored forward by `ms`, without waiting. */
  elapse(ms: number): Promise<void>
  /** Runs the statement of `copies` past the store, so that thousands of rows do not cost thousands of writes. */
  copy(...given: Parameters<typeof copies>): Promise<void>
  /** Opens the same data in a service with these caps. The earlier `store` is not used any more. */
  reopen(caps: JobCaps): Promise<Store>
  close(): Promise<void>
}

interface Copied {
  name: string
  columns: readonly string[]
}

/**
 * Returns SQL for both databases that copies one row of the table, which `where` finds. Each copy has its number
 * appended to the text of the columns `own`.
 */
export function copies(
  { name, columns }: Copied,
  own: readonly string[],
  times: number,
  where = 'true',
): string {
  const values = columns.map((column) => (own.includes(column) ? `${column} || '-' || n` : column))
  return `INSERT INTO ${name} (${columns.join(', ')})
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${times})
    SELECT ${values.join(', ')} FROM ${name} CROSS JOIN numbers WHERE ${where}`
}

export type ConformanceTests = Record<string, (harness: Harness) => Promise<void>>

export const WORKSPACE = DEFAULT_WORKSPACE
export const NODE = 'node-1'
export const LEASE_MS = 30_000
export const SECOND = 1000
export const HOUR = 3_600_000
export const DAY = 24 * HOUR

export function at(ms: number): string {
  return new Date(ms).toISOString()
}

export function sorted(texts: string[]): string[] {
  return texts.toSorted()
}

export async function refuses(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof AppError, String(error))
    assert.equal(error.code, code)
    return true
  })
}

export async function otherWorkspace(store: Store, workspace_id = 'other'): Promise<string> {
  await store.createWorkspace({ workspace_id, name: 'Other', data_folder: null })
  return workspace_id
}

export function jobInput(over: Partial<NewJob> = {}): NewJob {
  return {
    assignment_id: uuidv7(),
    workspace_id: WORKSPACE,
    user_id: 'ada',
    template: { template_id: 'delays', version: 'v-1', source: '# Delays', partials: { head: 'Head' } },
    variables: { origin: 'SFO', days: 7, tags: ['a', 'b'], nothing: null },
    presence_name: null,
    priority: 0,
    metadata: { ticket: 'T-1' },
    ...over,
  }
}

export async function queueNew(store: Store, over: Partial<NewJob> = {}): Promise<Job> {
  const job = await store.createJob(jobInput(over))
  return store.queueJob(job)
}

export async function register(store: Store, node_id = NODE): Promise<string> {
  await store.registerNode({
    node_id,
    name: `host/${node_id}`,
    roles: ['worker'],
    version: '1.0.0',
    lease_ms: LEASE_MS,
  })
  return node_id
}

/** Claims one job for the registered node. */
export async function claim(store: Store, node_id = NODE): Promise<Lease> {
  const [claimed] = await store.claimJobs({ node_id, limit: 1 })
  assert.ok(claimed, 'there was nothing to claim')
  return { assignment_id: claimed.job.assignment_id, attempt: claimed.job.attempt, node_id }
}

/** Makes a job that the node executes. */
export async function execute(store: Store, over: Partial<NewJob> = {}, node_id = NODE): Promise<Lease> {
  await queueNew(store, { priority: 100, ...over })
  const lease = await claim(store, node_id)
  assert.ok(await store.startJob(lease))
  return lease
}

export function findings(over: Partial<Findings> = {}): Findings {
  return {
    template_id: 'delays',
    template_version: 'v-1',
    title: 'Delays',
    markdown: '# Delays\n\nNone.\n',
    tables: {
      main: { columns: [{ name: 'n', type: 'integer', database_type: 'BIGINT' }], rows: [[1]], total: 1 },
    },
    charts: [],
    analyses: {},
    facts: [{ name: 'late', value: 0.25, text: '25%' }],
    provenance: [{ start: 2, end: 8, from: [{ block: 'main', row: 0, column: 'n' }] }],
    lineage: {
      template_id: 'delays',
      template_version: 'v-1',
      assay_version: '1.0.0',
      engine: 'duckdb',
      started_at: at(0),
      time_zone: 'UTC',
      variables: {},
      sources: [],
      blocks: [],
      elapsed_ms: 1,
      peak_memory_bytes: null,
      host: 'host',
    },
    chart_form: 'image',
    reading: null,
    skipped: null,
    ...over,
  }
}

/** Makes a job and completes it. */
export async function completeNew(
  store: Store,
  over: Partial<NewJob> = {},
  found: Partial<Findings> = {},
): Promise<Job> {
  const lease = await execute(store, over)
  assert.ok(await store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings(found) }))
  return (await store.getJob({ workspace_id: over.workspace_id ?? WORKSPACE, ...lease }))!
}

export function webhookInput(over: Partial<NewWebhook> = {}): NewWebhook {
  return {
    webhook_id: uuidv7(),
    workspace_id: WORKSPACE,
    url: 'https://example.com/hook',
    headers: [{ name: 'authorization', sealed: 'v1.sealed', fingerprint: '0123abcd' }],
    user_id: 'ada',
    presence_name: 'ops',
    events: ['job.completed'],
    description: null,
    signature: 'v1',
    secrets: [{ sealed: 'v1.secret', expires_at: null }],
    public_key: null,
    retry_schedule: null,
    max_in_flight: null,
    rate_per_second: null,
    ...over,
  }
}

export function addWebhook(store: Store, over: Partial<NewWebhook> = {}): Promise<Webhook> {
  return store.createWebhook(webhookInput(over))
}

/** Sends test events to one webhook, due now. */
export async function send(store: Store, webhook: Webhook, count = 1): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7())
  for (const delivery_id of ids)
    await store.sendEvent({
      workspace_id: webhook.workspace_id,
      webhook_id: webhook.webhook_id,
      event_id: uuidv7(),
      delivery_id,
      type: 'webhook.test',
      data: { webhook_id: webhook.webhook_id, message: 'hello' },
    })
  return ids
}

export function attempt(over: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    number: 1,
    started_at: at(0),
    duration_ms: 20,
    status_code: 204,
    error: null,
    phases: { dns: 1, connect: 2, tls: null, first_byte: 3, total: 20 },
    request: { method: 'POST', url: 'https://example.com/hook', headers: {} },
    response: { headers: {}, body: '', truncated: false },
    ...over,
  }
}

export const FAILED_ATTEMPT = attempt({ status_code: 500, error: { class: 'http_status', detail: '500' } })

export function outcome(claimed: ClaimedDelivery, over: Partial<AttemptOutcome> = {}): AttemptOutcome {
  const { delivery_id, attempt: number, node_id } = claimed
  const record = { ...attempt(), number }
  return { delivery_id, attempt: number, node_id, record, next: { status: 'delivered' }, ...over }
}

/** Claims deliveries with many free slots. */
export function claimAll(store: Store, node_id = NODE): Promise<ClaimedDelivery[]> {
  return store.claimDeliveries({ node_id, limit: 100 })
}

/** Claims all due deliveries and records a failed attempt of each. */
export async function failAll(
  store: Store,
  next: AttemptOutcome['next'] = { status: 'failed' },
): Promise<number> {
  const claimed = await claimAll(store)
  for (const one of claimed)
    assert.ok(
      await store.recordAttempt(outcome(one, { next, record: { ...FAILED_ATTEMPT, number: one.attempt } })),
    )
  return claimed.length
}
