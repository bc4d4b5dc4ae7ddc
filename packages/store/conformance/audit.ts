/**
 * The audit trail: a record is written with its change or not at all, reads are written many at once, and old records
 * are deleted in small batches.
 */
import assert from 'node:assert/strict'
import type { NewAuditRecord } from '@assay/model/audit'
import { uuidv7 } from '@assay/model/ids'
import type { Store } from '../store.ts'
import {
  addWebhook,
  at,
  type ConformanceTests,
  DAY,
  jobInput,
  otherWorkspace,
  refuses,
  SECOND,
  WORKSPACE,
} from './given.ts'

function record(over: Partial<NewAuditRecord> = {}): NewAuditRecord {
  return {
    workspace_id: WORKSPACE,
    user_id: 'ada',
    token_id: uuidv7(),
    action: 'job.create',
    object_id: uuidv7(),
    fields: [],
    address: '127.0.0.1',
    request_id: uuidv7(),
    ...over,
  }
}

async function trail(store: Store, filter: object = {}) {
  return (await store.listAudit({ workspace_id: WORKSPACE, limit: 100, ...filter })).items
}

export const auditTests: ConformanceTests = {
  'tells who read an insight: each user once, the latest first, by name where it is known': async ({
    store,
    now,
  }) => {
    const user = { user_id: 'u-1', workspace_id: WORKSPACE, username: 'Ada', scopes: ['viewer' as const] }
    await store.createUser({ ...user, password_hash: null })
    const insight_id = uuidv7()
    const read = (user_id: string | null, ms: number, over: Partial<NewAuditRecord> = {}) =>
      record({ action: 'result.read', object_id: insight_id, user_id, at: at(now() + ms), ...over })
    const workspace_id = await otherWorkspace(store)
    await store.writeAudit([
      read('u-1', 0),
      read('service:bot', 1),
      read('u-1', 2),
      read(null, 3),
      read('eve', 4, { action: 'link.create' }),
      read('eve', 4, { object_id: uuidv7() }),
      read('eve', 5, { workspace_id }),
    ])
    const readings = await store.listReadings({ workspace_id: WORKSPACE, insight_id })
    assert.deepEqual(
      readings.map(({ user_id, username, count }) => ({ user_id, username, count })),
      [
        { user_id: 'u-1', username: 'Ada', count: 2 },
        { user_id: 'service:bot', username: null, count: 1 },
      ],
    )
    assert.ok(readings[0]!.last_at > readings[1]!.last_at)
  },

  'a change and its record are written together, the record once': async ({ store }) => {
    const given = record({ fields: ['a', 'b'] })
    const audited = store.audited(given)
    const job = await audited.createJob(jobInput())
    await audited.queueJob(job)
    const [written, ...others] = await trail(store)
    assert.deepEqual(others, [])
    const { audit_id, created_at, ...rest } = written!
    const { workspace_id: _, ...wanted } = given
    assert.deepEqual(rest, wanted)
    assert.ok(audit_id && created_at)
    assert.deepEqual(await audited.getJob(job), await store.getJob(job), 'it reads as the store does')
  },

  'what was refused or not there is not recorded': async ({ store }) => {
    const key = { workspace_id: WORKSPACE, assignment_id: uuidv7() }
    await refuses(store.audited(record()).queueJob(key), 'not_found')
    const webhook_id = uuidv7()
    assert.equal(await store.audited(record()).deleteWebhook({ workspace_id: WORKSPACE, webhook_id }), false)
    assert.equal(
      await store.audited(record()).updateWebhook({ workspace_id: WORKSPACE, webhook_id, patch: {} }),
      null,
    )
    assert.deepEqual(await trail(store), [])
    const webhook = await addWebhook(store)
    const recovery = { ...webhook, recovery_id: uuidv7(), since: at(0), until: null, include_unsent: false }
    await store.audited(record({ action: 'webhook.recover' })).createRecovery(recovery)
    assert.equal((await trail(store)).length, 1)
  },

  'records are listed by actor, action, object and time, of one workspace': async ({ store, now }) => {
    const workspace_id = await otherWorkspace(store)
    const first = record({ at: at(now() - DAY), user_id: 'bob' })
    const second = record({ at: at(now()), action: 'result.read' })
    await store.writeAudit([first, second, record({ workspace_id })])
    const objects = async (filter: object) => (await trail(store, filter)).map((one) => one.object_id)
    assert.deepEqual(await objects({}), [second.object_id, first.object_id])
    assert.deepEqual(await objects({ user_id: 'bob' }), [first.object_id])
    assert.deepEqual(await objects({ action: 'result.read' }), [second.object_id])
    assert.deepEqual(await objects({ object_id: first.object_id! }), [first.object_id])
    assert.deepEqual(await objects({ created_after: at(now() - SECOND) }), [second.object_id])
    assert.deepEqual(await objects({ created_before: at(now() - SECOND) }), [first.object_id])
    const page = await store.listAudit({ workspace_id: WORKSPACE, limit: 1 })
    assert.deepEqual(await objects({ cursor: page.next_cursor! }), [first.object_id])
  },

  'old records are deleted in batches': async ({ store, now }) => {
    await store.writeAudit([1, 2, 3].map((days) => record({ at: at(now() - (10 - days) * DAY) })))
    await store.writeAudit([record()])
    const before = at(now() - DAY)
    assert.equal(await store.pruneAudit({ before, limit: 2 }), 2)
    assert.equal(await store.pruneAudit({ before, limit: 2 }), 1)
    assert.equal(await store.pruneAudit({ before, limit: 2 }), 0)
    assert.equal((await trail(store)).length, 1)
  },
}
