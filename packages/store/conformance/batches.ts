/** Jobs that one call makes: all or none, in one transaction. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import { type ConformanceTests, jobInput, otherWorkspace, refuses, sorted, WORKSPACE } from './given.ts'

export const batchTests: ConformanceTests = {
  'jobs that are made together are counted and listed together': async ({ store }) => {
    const batch_id = uuidv7()
    const jobs = Array.from({ length: 5 }, () => jobInput({ batch_id }))
    const made = await store.createJobs({ jobs, run: true })
    assert.deepEqual(new Set(made.map(({ job_status }) => job_status)), new Set(['queued']))
    assert.deepEqual(await store.createJobs({ jobs, run: true }), made, 'a repeat makes none')
    await store.cancelJob(made[0]!)
    const counts = await store.countBatch({ workspace_id: WORKSPACE, batch_id })
    assert.deepEqual(Object.fromEntries(counts.map((row) => [row.job_status, row.count])), {
      queued: 4,
      canceled: 1,
    })
    const { items } = await store.listJobs({ workspace_id: WORKSPACE, batch_id, limit: 10 })
    const ids = (of: { assignment_id: string }[]) => sorted(of.map((job) => job.assignment_id))
    assert.deepEqual(ids(items), ids(made))
    const workspace_id = await otherWorkspace(store)
    assert.deepEqual(await store.countBatch({ workspace_id, batch_id }), [])
  },

  'a batch fills the queue to its cap, and one more is refused': async ({ store }) => {
    await store.updateWorkspace({ workspace_id: WORKSPACE, patch: { max_queued: 3 } })
    const make = (count: number) =>
      store.createJobs({ jobs: Array.from({ length: count }, () => jobInput()), run: true })
    assert.equal((await make(2)).length, 2)
    await refuses(make(2), 'queue_full')
    assert.equal((await make(1)).length, 1)
    await refuses(make(1), 'queue_full')
  },

  'of a batch that exists in part the rest is made, and what has ended stays so': async ({ store }) => {
    const [draft, ended, fresh] = [jobInput(), jobInput(), jobInput()]
    await store.createJob(draft)
    await store.cancelJob(await store.createJob(ended))
    const jobs = [fresh, ended, draft]
    const made = await store.createJobs({ jobs, run: true })
    assert.deepEqual(
      made.map(({ assignment_id, job_status }) => [assignment_id, job_status]),
      [
        [fresh.assignment_id, 'queued'],
        [ended.assignment_id, 'canceled'],
        [draft.assignment_id, 'queued'],
      ],
    )
    const { jobs: counts } = await store.counts()
    const counted = counts.filter(({ count }) => count > 0)
    assert.deepEqual(
      counted.map(({ workspace_id, job_status, count }) => [workspace_id, job_status, count]),
      [[WORKSPACE, 'queued', 2]],
    )
  },

  'where one cannot be made or queued none is': async ({ store }) => {
    const workspace_id = await otherWorkspace(store)
    const taken = await store.createJob(jobInput({ workspace_id }))
    const batch_id = uuidv7()
    const jobs = [jobInput({ batch_id }), jobInput({ batch_id, assignment_id: taken.assignment_id })]
    await refuses(store.createJobs({ jobs, run: false }), 'name_taken')
    await store.updateWorkspace({ workspace_id: WORKSPACE, patch: { max_queued: 1 } })
    await refuses(store.createJobs({ jobs: [jobInput(), jobInput()], run: true }), 'queue_full')
    assert.deepEqual((await store.listJobs({ workspace_id: WORKSPACE, limit: 10 })).items, [])
  },
}
