/** Jobs as people use them: create, run, read, list, cancel, delete. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import type { Job } from '@assay/model/job'
import {
  addWebhook,
  at,
  type ConformanceTests,
  claim,
  claimAll,
  completeNew,
  execute,
  jobInput,
  NODE,
  otherWorkspace,
  outcome,
  queueNew,
  refuses,
  register,
  SECOND,
  WORKSPACE,
} from './given.ts'

function statuses(job: Job): string[] {
  return job.moves.map((move) => `${move.job_status} ${move.attempt}`)
}

export const jobTests: ConformanceTests = {
  'creates a draft and keeps its template version': async ({ store }) => {
    const input = jobInput({ presence_name: 'ops', priority: -3 })
    const job = await store.createJob(input)
    assert.deepEqual(await store.getJob(input), job)
    assert.equal(job.job_status, 'draft')
    assert.deepEqual(job.variables, input.variables)
    assert.deepEqual(job.metadata, { ticket: 'T-1' })
    assert.deepEqual([job.template_id, job.template_version], ['delays', 'v-1'])
    assert.deepEqual([job.priority, job.presence_name, job.attempt, job.losses], [-3, 'ops', 0, 0])
    assert.deepEqual([job.insight_id, job.error, job.skipped, job.queued_at], [null, null, null, null])
    assert.deepEqual(job.progress, { percent: 0, step: 0, steps: 0, label: '' })
    assert.deepEqual(job.moves, [{ job_status: 'draft', at: job.created_at, attempt: 0 }])
    assert.match(job.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    const version = await store.getTemplateVersion({ template_id: 'delays', version: 'v-1' })
    assert.deepEqual(version, input.template)
    assert.equal(await store.getTemplateVersion({ template_id: 'delays', version: 'v-2' }), null)
  },

  'answers a repeated creation with the job as it is': async ({ store }) => {
    const input = jobInput()
    const first = await store.createJob(input)
    const queued = await store.queueJob(input)
    assert.deepEqual(await store.createJob({ ...input, priority: 50 }), queued)
    assert.equal(queued.created_at, first.created_at)
  },

  'queues a draft once': async ({ store }) => {
    const job = await queueNew(store)
    assert.equal(job.job_status, 'queued')
    assert.deepEqual(statuses(job), ['draft 0', 'queued 0'])
    assert.ok(job.queued_at)
    assert.deepEqual(await store.queueJob(job), job)
    await register(store)
    const lease = await claim(store)
    assert.equal((await store.queueJob(job)).job_status, 'active')
    await store.startJob(lease)
    assert.equal((await store.queueJob(job)).job_status, 'executing')
    assert.deepEqual(await store.claimJobs({ node_id: NODE, limit: 5 }), [])
  },

  'tells of a draft whether the template that is put has the text that it was made of': async ({ store }) => {
    const put = (source: string) =>
      store.putTemplate({ workspace_id: WORKSPACE, template_id: 'delays', source, user_id: 'ada' })
    const draft = async (source: string, partials = {}, template_id = 'delays') => {
      const template = { template_id, version: `${template_id} ${source} ${JSON.stringify(partials)}` }
      const { assignment_id, workspace_id } = await store.createJob(
        jobInput({ template: { ...template, source, partials } }),
      )
      return { assignment_id, workspace_id }
    }
    const isAsPut = async (key: { assignment_id: string; workspace_id: string }) =>
      (await store.getDraft(key))?.is_as_put
    const first = await draft('# One')
    assert.deepEqual(await store.getDraft(first), {
      template_id: 'delays',
      template_version: 'delays # One {}',
      is_as_put: false,
    })
    await put('# One')
    assert.equal(await isAsPut(first), true)
    assert.equal(await isAsPut(await draft('# One', { head: 'Head' })), false, 'a version with a partial')
    assert.equal(await isAsPut(await draft('# One', {}, 'others')), false, 'another template')
    await put('# Two')
    assert.equal(await isAsPut(first), false)
    await put('# The metric')
    assert.equal(await isAsPut(await draft('# The metric')), false, 'a definition may have changed')
    await put('# One')
    assert.equal(await isAsPut(first), true)
    const workspace_id = await otherWorkspace(store)
    assert.equal(await store.getDraft({ ...first, workspace_id }), null)
    await store.queueJob(first)
    assert.equal(await store.getDraft(first), null)
  },

  'queues a draft unless it is denied, and asks of nothing else': async ({ store }) => {
    const { assignment_id, workspace_id } = await store.createJob(jobInput())
    const asked: unknown[] = []
    const queue = (answer: boolean) =>
      store.queueCurrent({
        assignment_id,
        workspace_id,
        isCurrent: (draft) => {
          asked.push(draft)
          return answer
        },
      })
    const draft = await store.getDraft({ assignment_id, workspace_id })
    assert.equal(await queue(false), null)
    assert.equal((await store.getJob({ assignment_id, workspace_id }))?.job_status, 'draft')
    assert.equal((await queue(true))?.job_status, 'queued')
    assert.equal((await queue(false))?.job_status, 'queued', 'it is no draft any more')
    assert.deepEqual(asked, [draft, draft])
  },

  'does not run what has ended or is not there': async ({ store }) => {
    await register(store)
    await refuses(store.queueJob(await completeNew(store)), 'job_final')
    const canceled = await store.cancelJob(await queueNew(store))
    await refuses(store.queueJob(canceled), 'job_final')
    await refuses(store.queueJob({ workspace_id: WORKSPACE, assignment_id: uuidv7() }), 'not_found')
  },

  'keeps the jobs of a workspace from the others': async ({ store }) => {
    const workspace_id = await otherWorkspace(store)
    await register(store)
    const job = await completeNew(store)
    const elsewhere = { workspace_id, assignment_id: job.assignment_id }
    assert.equal(await store.getJob(elsewhere), null)
    assert.equal(await store.getInsight({ workspace_id, insight_id: job.insight_id! }), null)
    for (const refused of [store.queueJob, store.cancelJob, store.deleteJob])
      await refuses(refused(elsewhere), 'not_found')
    assert.deepEqual((await store.listJobs({ workspace_id, limit: 10 })).items, [])
    assert.deepEqual((await store.listEvents({ workspace_id, limit: 10, order: 'oldest' })).items, [])
  },

  'cancels every unfinished job at once': async ({ store }) => {
    await register(store)
    const executing = await execute(store)
    await queueNew(store, { priority: 9 })
    const active = await claim(store)
    const queued = await queueNew(store)
    const draft = await store.createJob(jobInput())
    for (const { assignment_id } of [executing, active, queued, draft]) {
      const job = await store.cancelJob({ workspace_id: WORKSPACE, assignment_id })
      assert.equal(job.job_status, 'canceled')
      assert.equal(job.error?.code, 'canceled_by_user')
      assert.ok(job.finished_at)
      assert.deepEqual(await store.cancelJob(job), job)
    }
    assert.deepEqual(await store.claimJobs({ node_id: NODE, limit: 5 }), [])
    assert.deepEqual((await store.counts()).jobs, [])
  },

  'does not cancel a completed job, and answers one that failed as it is': async ({ store }) => {
    await register(store)
    await refuses(store.cancelJob(await completeNew(store)), 'job_final')
    const lease = await execute(store)
    await store.failJob({ ...lease, error: { code: 'timed_out', detail: 'too long' } })
    const job = await store.cancelJob({ workspace_id: WORKSPACE, ...lease })
    assert.deepEqual(job.error, { code: 'timed_out', detail: 'too long' })
    await refuses(store.cancelJob({ workspace_id: WORKSPACE, assignment_id: uuidv7() }), 'not_found')
  },

  'deletes an ended job with its insight and attempts, and cancels its waiting deliveries': async ({
    store,
  }) => {
    await register(store)
    await addWebhook(store, { presence_name: 'a' })
    await addWebhook(store, { presence_name: 'b' })
    await addWebhook(store, { presence_name: 'c' })
    const job = await completeNew(store)
    const [sent, held, waiting] = await claimAll(store)
    await store.recordAttempt(outcome(sent!))
    await store.releaseDeliveries([waiting!])
    await store.deleteJob(job)
    assert.equal(await store.getJob(job), null)
    assert.equal(await store.getInsight({ workspace_id: WORKSPACE, insight_id: job.insight_id! }), null)
    await refuses(store.deleteJob(job), 'not_found')
    const [first, second, third] = await Promise.all(
      [sent!, held!, waiting!].map(({ delivery_id }) =>
        store.getDelivery({ workspace_id: WORKSPACE, delivery_id }),
      ),
    )
    assert.deepEqual([first?.status, first?.attempts], ['delivered', []])
    assert.deepEqual([second?.status, third?.status], ['canceled', 'canceled'])
    assert.equal(await store.recordAttempt(outcome(held!)), false)
    assert.deepEqual(await claimAll(store), [])
  },

  'does not delete an unfinished job': async ({ store }) => {
    await refuses(store.deleteJob(await store.createJob(jobInput())), 'job_unfinished')
    await refuses(store.deleteJob(await queueNew(store)), 'job_unfinished')
  },

  'lists jobs newest first, by state, template and time': async ({ store, now, elapse }) => {
    await register(store)
    const old = await queueNew(store)
    await elapse(20 * SECOND)
    const draft = await store.createJob(jobInput())
    const template = { template_id: 'other', version: 'v-9', source: '# Other', partials: {} }
    const other = await queueNew(store, { template })
    const ids = async (query: Partial<Parameters<typeof store.listJobs>[0]>): Promise<string[]> => {
      const page = await store.listJobs({ workspace_id: WORKSPACE, limit: 10, ...query })
      assert.equal(page.next_cursor, null)
      return page.items.map((job) => job.assignment_id)
    }
    const [a, b, c] = [old.assignment_id, draft.assignment_id, other.assignment_id]
    assert.deepEqual(await ids({}), [c, b, a])
    assert.deepEqual(await ids({ job_status: 'queued' }), [c, a])
    assert.deepEqual(await ids({ template_id: 'delays' }), [b, a])
    assert.deepEqual(await ids({ template_id: 'delays', job_status: 'queued' }), [a])
    assert.deepEqual(await ids({ template_id: 'none' }), [])
    assert.deepEqual(await ids({ created_after: at(now() - 5 * SECOND) }), [c, b])
    assert.deepEqual(await ids({ created_before: at(now() - 5 * SECOND) }), [a])
    const { assignment_id: d } = await store.createJob(jobInput({ user_id: 'grace', presence_name: 'ops' }))
    assert.deepEqual(await ids({ user_id: 'grace' }), [d])
    assert.deepEqual(await ids({ presence_name: 'ops', template_id: 'delays' }), [d])
    assert.deepEqual(await ids({ presence_name: 'ops', user_id: 'ada' }), [])
    const metadata = { 'a.b-c_1': 'x:y', 7: 'seven' }
    const { assignment_id: e } = await store.createJob(jobInput({ user_id: 'grace', metadata }))
    assert.deepEqual(await ids({ metadata: ['a.b-c_1', 'x:y'] }), [e])
    assert.deepEqual(await ids({ metadata: ['7', 'seven'], user_id: 'grace' }), [e])
    assert.deepEqual(await ids({ metadata: ['ticket', 'T-1'], user_id: 'grace' }), [d])
    for (const none of [
      ['ticket', 'T-2'],
      ['0', 'seven'],
      ['b', 'x:y'],
    ] as const)
      assert.deepEqual(await ids({ metadata: none }), [])
  },

  'counts unfinished jobs by workspace and state, and since when the oldest waits': async ({
    store,
    elapse,
  }) => {
    const workspace_id = await otherWorkspace(store)
    await register(store)
    const first = await queueNew(store, { priority: -1 })
    await elapse(SECOND)
    await queueNew(store)
    await store.createJob(jobInput({ workspace_id }))
    await completeNew(store)
    await execute(store)
    await queueNew(store, { workspace_id })
    const { jobs } = await store.counts()
    const rows = jobs.map((row) => `${row.workspace_id} ${row.job_status} ${row.count}`)
    assert.deepEqual(rows.toSorted(), [
      'default executing 1',
      'default queued 2',
      'other draft 1',
      'other queued 1',
    ])
    const queued = jobs.find((row) => row.workspace_id === WORKSPACE && row.job_status === 'queued')
    const present = await store.getJob(first)
    assert.equal(queued?.oldest_at, present?.queued_at)
  },
}
