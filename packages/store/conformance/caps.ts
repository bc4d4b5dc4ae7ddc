/** The caps of a workspace: drafts, jobs queued, jobs running, processor time, bytes of jobs and insights, templates. */
import assert from 'node:assert/strict'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import type { WorkspacePatch } from '@assay/model/token'
import { hourOf, NO_CAPS } from '../caps.ts'
import { TEMPLATE_CHARACTERS } from '../contract/workspaces/templates.ts'
import type { NewJob, Store } from '../store.ts'
import {
  at,
  type ConformanceTests,
  claim,
  DAY,
  execute,
  findings,
  HOUR,
  jobInput,
  LEASE_MS,
  NODE,
  otherWorkspace,
  queueNew,
  refuses,
  register,
  SECOND,
  WORKSPACE,
} from './given.ts'

async function cap(store: Store, patch: WorkspacePatch, workspace_id = WORKSPACE): Promise<void> {
  assert.ok(await store.updateWorkspace({ workspace_id, patch }))
}

async function queuedOf(store: Store, workspace_id = WORKSPACE): Promise<number> {
  const { jobs } = await store.counts()
  const row = jobs.find((each) => each.workspace_id === workspace_id && each.job_status === 'queued')
  return row?.count ?? 0
}

/** Returns the bytes that the jobs and insights of a workspace take. */
async function storedOf(store: Store, workspace_id = WORKSPACE): Promise<number> {
  const { stored } = await store.counts()
  return stored.find((each) => each.workspace_id === workspace_id)?.bytes ?? 0
}

/** Returns the bytes that a job takes without its insight. */
const bytesOf = ({ variables, metadata, template }: NewJob): number =>
  [JSON.stringify(variables), JSON.stringify(metadata), template.source, JSON.stringify(template.partials)]
    .map((text) => Buffer.byteLength(text))
    .reduce((sum, bytes) => sum + bytes)

export const capTests: ConformanceTests = {
  'refuses to queue more than the workspace may, says when to ask again, and keeps the draft': async ({
    store,
  }) => {
    await cap(store, { max_queued: 2 })
    const first = await queueNew(store)
    await queueNew(store)
    const third = await store.createJob(jobInput())
    await assert.rejects(store.queueJob(third), (error) => {
      assert.ok(error instanceof AppError && error.code === 'queue_full')
      assert.ok((error.retryAfter ?? 0) > 0)
      assert.match(error.message, /2 jobs queued/)
      return true
    })
    assert.equal((await store.getJob(third))?.job_status, 'draft')
    assert.equal(
      (await store.queueJob(first)).job_status,
      'queued',
      'one that is queued is answered as it is',
    )
    const workspace_id = await otherWorkspace(store)
    await queueNew(store, { workspace_id })
    await store.cancelJob(first)
    assert.equal((await store.queueJob(third)).job_status, 'queued')
    await refuses(queueNew(store), 'queue_full')
    await cap(store, { max_queued: null })
    await queueNew(store)
  },

  'never has more queued than the cap, however many ask at once': async ({ store }) => {
    await cap(store, { max_queued: 7 })
    const drafts = await Promise.all(Array.from({ length: 25 }, () => store.createJob(jobInput())))
    const answers = await Promise.allSettled(drafts.map((job) => store.queueJob(job)))
    assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 7)
    assert.equal(await queuedOf(store), 7)
  },

  'takes what was accepted back into a full queue': async ({ store, elapse }) => {
    await register(store)
    await cap(store, { max_queued: 1 })
    const released = await execute(store)
    const lost = await execute(store)
    await queueNew(store)
    await store.releaseJobs([released])
    assert.equal(await store.loseJob(lost), true)
    assert.equal(await queuedOf(store), 3)
    await refuses(queueNew(store), 'queue_full')
    await claim(store)
    await elapse(LEASE_MS + SECOND)
    await store.reapNodes({ all: false })
    assert.equal(await queuedOf(store), 3)
  },

  'claims no more of a workspace than may run, and passes it over for others': async ({ store, elapse }) => {
    await register(store)
    const workspace_id = await otherWorkspace(store)
    await cap(store, { max_running: 2 })
    for (let count = 0; count < 5; count += 1) await queueNew(store, { priority: 9 })
    await elapse(SECOND)
    const other = await queueNew(store, { workspace_id })
    const claimed = await store.claimJobs({ node_id: NODE, limit: 10 })
    assert.deepEqual(
      claimed.map(({ job }) => job.workspace_id),
      [WORKSPACE, workspace_id, WORKSPACE],
    )
    assert.equal(claimed[1]?.job.assignment_id, other.assignment_id)
    assert.deepEqual(await store.claimJobs({ node_id: NODE, limit: 10 }), [])
    const [{ job }] = claimed as [(typeof claimed)[0]]
    const lease = { assignment_id: job.assignment_id, attempt: job.attempt, node_id: NODE }
    assert.ok(await store.startJob(lease))
    assert.deepEqual(await store.claimJobs({ node_id: NODE, limit: 10 }), [])
    assert.ok(await store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings() }))
    assert.equal((await store.claimJobs({ node_id: NODE, limit: 10 })).length, 1)
  },

  'claims what a report given just before it frees within the cap': async ({ store }) => {
    await register(store)
    await cap(store, { max_running: 1 })
    const lease = await execute(store)
    const next = await queueNew(store)
    const [kept, claimed] = await Promise.all([
      store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings() }),
      store.claimJobs({ node_id: NODE, limit: 1 }),
    ])
    assert.ok(kept)
    assert.deepEqual(
      claimed.map(({ job }) => job.assignment_id),
      [next.assignment_id],
    )
  },

  'never runs more than the cap, however many claim at once': async ({ store }) => {
    await register(store)
    await register(store, 'node-2')
    await cap(store, { max_running: 3 })
    for (let count = 0; count < 20; count += 1) await queueNew(store)
    const claims = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        store.claimJobs({ node_id: index % 2 === 0 ? NODE : 'node-2', limit: 2 }),
      ),
    )
    const late = await store.claimJobs({ node_id: NODE, limit: 5 })
    assert.equal([...claims, late].flat().length, 3)
  },

  'holds a workspace still whose cap is 0': async ({ store }) => {
    await register(store)
    await cap(store, { max_running: 0 })
    await queueNew(store)
    assert.deepEqual(await store.claimJobs({ node_id: NODE, limit: 5 }), [])
    await cap(store, { max_running: null })
    await claim(store)
  },

  'creates no more drafts than the settings allow; one that is run or canceled makes room': async ({
    store,
    reopen,
  }) => {
    const own = await otherWorkspace(store)
    const capped = await reopen({ ...NO_CAPS, max_drafts: 2 })
    const first = await capped.createJob(jobInput())
    const second = await capped.createJob(jobInput())
    await assert.rejects(capped.createJob(jobInput()), (error) => {
      assert.ok(error instanceof AppError && error.code === 'workspace_busy')
      assert.match(error.message, /2 drafts \(max_drafts\)/)
      return (error.retryAfter ?? 0) > 0
    })
    await capped.createJob(jobInput({ workspace_id: own }))
    await refuses(capped.createJobs({ jobs: [jobInput()], run: false }), 'workspace_busy')
    assert.equal((await capped.createJobs({ jobs: [jobInput(), jobInput()], run: true })).length, 2)
    await capped.queueJob(first)
    await capped.createJob(jobInput())
    await refuses(capped.createJob(jobInput()), 'workspace_busy')
    await capped.cancelJob(second)
    await capped.createJob(jobInput())
  },

  'counts what jobs and insights take, and what is deleted by hand, by age and with its user takes nothing more':
    async ({ store, elapse }) => {
      await register(store)
      const workspace_id = await otherWorkspace(store)
      const large = jobInput({ variables: { text: 'ä'.repeat(5000) } })
      const [draft, ended] = [jobInput(), jobInput({ user_id: 'eve', assignment_id: uuidv7() })]
      for (const job of [large, draft, ended]) await store.createJob(job)
      await store.createJob(large)
      assert.equal(
        await storedOf(store),
        bytesOf(large) + bytesOf(draft) + bytesOf(ended),
        'a repeat takes nothing',
      )
      assert.equal(await storedOf(store, workspace_id), 0)
      const insights: string[] = []
      for (const job of [large, ended]) {
        await store.queueJob(job)
        const lease = await claim(store)
        assert.ok(await store.startJob(lease))
        const insight_id = uuidv7()
        assert.ok(
          await store.completeJob({
            ...lease,
            insight_id,
            findings: findings({ markdown: 'x'.repeat(50_000) }),
          }),
        )
        insights.push(insight_id)
      }
      const full = await storedOf(store)
      const insight = (full - bytesOf(large) - bytesOf(draft) - bytesOf(ended)) / 2
      assert.ok(insight > 50_000 && insight < 52_000, String(insight))
      await store.deleteJob(large)
      assert.equal(await storedOf(store), full - bytesOf(large) - insight)
      await store.eraseUser({ workspace_id: WORKSPACE, user_id: 'eve', limit: 100 })
      assert.equal(await storedOf(store), bytesOf(draft))
      await elapse(2 * DAY)
      await store.prune({
        keep: { jobs_ms: 1e300, drafts_ms: DAY, events_ms: 1e300, deliveries_ms: 1e300 },
        limit: 100,
      })
      assert.equal(await storedOf(store), 0)
    },

  'makes no more jobs of a workspace whose jobs and insights have reached their cap, and completes those it has':
    async ({ store, reopen }) => {
      const own = await otherWorkspace(store)
      await cap(store, { max_stored_bytes: 1_000_000 }, own)
      const capped = await reopen({ ...NO_CAPS, max_stored_bytes: 400_000 })
      await register(capped)
      const refused = (error: unknown): boolean => {
        assert.ok(error instanceof AppError && error.code === 'workspace_busy')
        assert.match(error.message, /400000 bytes \(max_stored_bytes\)/)
        return (error.retryAfter ?? 0) > 0
      }
      const large = () => jobInput({ variables: { text: 'x'.repeat(200_000) } })
      const running = await execute(capped, { variables: large().variables })
      const draft = await capped.createJob(large())
      await assert.rejects(capped.createJob(jobInput()), refused)
      await assert.rejects(capped.createJobs({ jobs: [jobInput()], run: false }), refused)
      await assert.rejects(capped.createJobs({ jobs: [jobInput()], run: true }), refused)
      await assert.rejects(capped.queueJob(draft), refused)
      assert.ok(await capped.completeJob({ ...running, insight_id: uuidv7(), findings: findings() }))
      await capped.createJob(jobInput({ workspace_id: own }))
      const { stored } = await capped.counts()
      assert.deepEqual(
        new Map(stored.map((each) => [each.workspace_id, each.most])),
        new Map([
          [WORKSPACE, 400_000],
          [own, 1_000_000],
        ]),
      )
      await capped.deleteJob({ workspace_id: WORKSPACE, assignment_id: running.assignment_id })
      assert.equal((await capped.queueJob(draft)).job_status, 'queued')
    },

  'begins nothing of a workspace whose processor time is used up, and keeps what is queued': async ({
    store,
    now,
  }) => {
    await register(store)
    const workspace_id = await otherWorkspace(store)
    /** Counts the use in this hour and in the next, because the test may cross the hour. */
    const take = (ms: number, of = WORKSPACE) =>
      store.countProcessorUse(
        [0, HOUR].map((later) => ({ workspace_id: of, hour: hourOf(at(now() + later)), ms })),
      )
    const accepted = await queueNew(store)
    const draft = await store.createJob(jobInput())
    await cap(store, { max_processor_seconds: 60 })
    await store.countProcessorUse([{ workspace_id: WORKSPACE, hour: '2020-01-01T00', ms: 1e9 }])
    await Promise.all([take(50_000), take(9_999), take(1e9, workspace_id), take(1, 'nobody')])
    const running = await execute(store)
    await take(1)
    const asked = { workspace_ids: [WORKSPACE, 'nobody'], hour: hourOf(at(now())) }
    const stored_bytes = await storedOf(store)
    assert.deepEqual(await store.readProcessorUse(asked), [
      { workspace_id: WORKSPACE, ms: 60_000, max_processor_seconds: 60, max_spill_bytes: null, stored_bytes },
    ])
    const refused = (error: unknown): boolean => {
      assert.ok(error instanceof AppError && error.code === 'workspace_busy')
      assert.match(error.message, /60 processor seconds of this hour \(max_processor_seconds\)/)
      assert.ok((error.retryAfter ?? 0) > 0 && error.retryAfter! <= 3600)
      return true
    }
    await assert.rejects(store.queueJob(draft), refused)
    await assert.rejects(store.createJobs({ jobs: [jobInput()], run: true }), refused)
    assert.equal((await store.queueJob(accepted)).job_status, 'queued', 'it is answered as it is')
    assert.ok(await store.completeJob({ ...running, insight_id: uuidv7(), findings: findings() }))
    const other = await queueNew(store, { workspace_id })
    const claimed = await store.claimJobs({ node_id: NODE, limit: 10 })
    assert.deepEqual(
      claimed.map(({ job }) => job.assignment_id),
      [other.assignment_id],
    )
    await cap(store, { max_processor_seconds: 61 })
    assert.equal((await claim(store)).assignment_id, accepted.assignment_id)
    assert.equal((await store.queueJob(draft)).job_status, 'queued')
  },

  'holds every workspace to the settings that has no caps of its own': async ({ store, reopen }) => {
    const own = await otherWorkspace(store)
    await cap(store, { max_queued: 3, max_running: 3 }, own)
    const capped = await reopen({ ...NO_CAPS, max_queued: 2, max_running: 1 })
    await register(capped)
    for (const [workspace_id, most] of [
      [WORKSPACE, 2],
      [own, 3],
    ] as const) {
      for (let count = 0; count < most; count += 1) await queueNew(capped, { workspace_id })
      await refuses(queueNew(capped, { workspace_id }), 'queue_full')
    }
    const claimed = await capped.claimJobs({ node_id: NODE, limit: 10 })
    const of = (wanted: string) => claimed.filter(({ job }) => job.workspace_id === wanted).length
    assert.deepEqual([of(WORKSPACE), of(own)], [1, 3])
  },

  'keeps so many characters of templates of a workspace, however many are put at once, and replaces one in its place':
    async ({ store }) => {
      const third = 'x'.repeat(Math.floor(TEMPLATE_CHARACTERS / 3))
      const put = (template_id: string, source = third) =>
        store.putTemplate({ workspace_id: WORKSPACE, template_id, source, user_id: 'ada' })
      const asked = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map((id) => put(id)))
      assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, 3)
      await refuses(put('f', 'xxxx'), 'conflict')
      const [{ template_id } = { template_id: '' }] = await store.listTemplates(WORKSPACE)
      assert.equal(await put(template_id), 'replaced')
      assert.ok(await store.deleteTemplate({ workspace_id: WORKSPACE, template_id }))
      assert.equal(await put('f'), 'new')
    },
}
