/** Schedules: due ones are claimed and settled once, and times without a job are counted. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import type { Schedule } from '@assay/model/schedule'
import { hourOf } from '../caps.ts'
import type { ClaimedSchedule, NewSchedule } from '../contract/jobs/schedules.ts'
import type { NewWebhook, Store } from '../store.ts'
import {
  addWebhook,
  at,
  type ConformanceTests,
  claimAll,
  DAY,
  execute,
  findings,
  HOUR,
  jobInput,
  NODE,
  otherWorkspace,
  refuses,
  register,
  SECOND,
  sorted,
  WORKSPACE,
} from './given.ts'

const MINUTE = 60 * SECOND
const { template, variables } = jobInput()
const MATERIAL = { template, variables }
const FAULT = {
  error: {
    code: 'invalid',
    detail: 'It fits no more.',
    errors: [{ path: 'template_vars.a', message: 'no' }],
  },
}

export function scheduleInput(over: Partial<NewSchedule> = {}): NewSchedule {
  return {
    schedule_id: uuidv7(),
    workspace_id: WORKSPACE,
    user_id: 'ada',
    name: 'Every minute',
    template_id: 'delays',
    variables: { origin: 'SFO', period: 'last_month' },
    cron: '* * * * *',
    time_zone: 'UTC',
    starts_at: null,
    ends_at: null,
    missed: 'skip',
    missed_limit: 10,
    overlap: 'queue',
    paused: false,
    presence_name: null,
    notify: null,
    priority: 3,
    metadata: { report: 'r' },
    ...over,
  }
}

async function claimOne(store: Store): Promise<ClaimedSchedule> {
  const claimed = await store.claimSchedules({ limit: 10 })
  assert.equal(claimed.length, 1)
  return claimed[0]!
}

function settle(
  store: Store,
  { schedule, plan }: ClaimedSchedule,
  outcome: typeof MATERIAL | typeof FAULT = MATERIAL,
) {
  const { schedule_id, revision } = schedule
  return store.settleSchedule({
    schedule_id,
    revision,
    plan,
    outcome: plan.times.length === 0 ? null : outcome,
  })
}

async function jobsOf(store: Store, { schedule_id, workspace_id }: Schedule) {
  return (await store.listJobs({ workspace_id, schedule_id, limit: 100 })).items
}

const again = (store: Store, schedule: Schedule) => store.getSchedule(schedule)

export const scheduleTests: ConformanceTests = {
  'a due time makes one queued job that names its schedule': async ({ store, elapse, now }) => {
    const notify = [uuidv7()]
    const schedule = await store.createSchedule(scheduleInput({ presence_name: 'ops', notify }))
    assert.ok(Date.parse(schedule.next_due_at!) > now())
    assert.deepEqual(await store.claimSchedules({ limit: 10 }), [], 'it is not due yet')
    await elapse(MINUTE)
    const claimed = await claimOne(store)
    assert.equal(claimed.plan.times.length, 1)
    assert.ok(await settle(store, claimed))
    const [job, ...others] = await jobsOf(store, schedule)
    assert.deepEqual(others, [])
    assert.equal(job!.job_status, 'queued')
    assert.equal(job!.schedule_id, schedule.schedule_id)
    assert.equal(job!.scheduled_for, claimed.plan.times[0])
    assert.deepEqual([job!.priority, job!.presence_name, job!.user_id], [3, 'ops', 'ada'])
    assert.deepEqual([job!.metadata, job!.notify], [{ report: 'r' }, notify])
    const after = (await again(store, schedule))!
    assert.equal(after.counts.made, 1)
    assert.equal(after.last_run?.assignment_id, job!.assignment_id)
    assert.equal(Date.parse(after.next_due_at!) - Date.parse(claimed.plan.latest), MINUTE)
    const events = await store.listEvents({ workspace_id: WORKSPACE, limit: 10, order: 'newest' })
    assert.equal(events.items[0]!.data.schedule_id, schedule.schedule_id)
    assert.equal(events.items[0]!.data.scheduled_for, claimed.plan.times[0])
  },

  'its runs tell its followers, and those of its template and metrics where it sends to them': async ({
    store,
    elapse,
  }) => {
    const schedule = await store.createSchedule(scheduleInput({ notify: null }))
    const people: Partial<NewWebhook> = { kind: 'email', target: 'v1.target' }
    const own = await addWebhook(store, { ...people, follows: [`schedule:${schedule.schedule_id}`] })
    const { template_id } = schedule
    const all = await addWebhook(store, { ...people, follows: [`template:${template_id}`] })
    const late = await addWebhook(store, { ...people, follows: ['metric:late'] })
    await addWebhook(store, { ...people, follows: ['metric:other'] })
    const { schedule_id } = schedule
    const toldNext = async (metrics: string[] = []) => {
      const run = { workspace_id: WORKSPACE, schedule_id, assignment_id: uuidv7(), ...MATERIAL, metrics }
      return (await store.runSchedule(run))!.notify
    }
    assert.deepEqual(await toldNext(['late']), [own.webhook_id])
    const patch = { notify: [own.webhook_id, 'followers'] }
    await store.updateSchedule({ ...schedule, patch })
    assert.deepEqual((await toldNext())?.toSorted(), [all.webhook_id, own.webhook_id].toSorted())
    const readers = [all.webhook_id, own.webhook_id, late.webhook_id]
    assert.deepEqual((await toldNext(['late', 'revenue']))?.toSorted(), readers.toSorted())
    await elapse(MINUTE)
    assert.ok(await settle(store, await claimOne(store)))
    const due = (await jobsOf(store, schedule)).find(({ scheduled_for }) => scheduled_for !== null)
    assert.equal(due?.notify?.length, 2)
    await store.deleteWebhook(own)
    await store.updateSchedule({ ...schedule, patch: { notify: null } })
    assert.deepEqual(await toldNext(), null)
  },

  'of several that settle one due time one makes the job': async ({ store, elapse }) => {
    const schedule = await store.createSchedule(scheduleInput())
    await elapse(MINUTE)
    const claimed = await claimOne(store)
    const settled = await Promise.all([1, 2, 3].map(() => settle(store, claimed)))
    assert.deepEqual(settled.filter(Boolean).length, 1)
    assert.equal((await jobsOf(store, schedule)).length, 1)
  },

  'what a dead node had claimed is claimed again after a quarter of a minute': async ({ store, elapse }) => {
    const schedule = await store.createSchedule(scheduleInput())
    await elapse(MINUTE)
    const first = await claimOne(store)
    assert.deepEqual(await store.claimSchedules({ limit: 10 }), [])
    await elapse(MINUTE)
    const second = await claimOne(store)
    assert.ok(await settle(store, second))
    assert.equal(await settle(store, first), false, 'the dead one comes back too late')
    assert.equal((await jobsOf(store, schedule)).length, 1)
  },

  'a schedule that was changed since the claim is not settled': async ({ store, elapse }) => {
    const schedule = await store.createSchedule(scheduleInput())
    await elapse(MINUTE)
    const claimed = await claimOne(store)
    const renamed = await store.updateSchedule({ ...schedule, patch: { name: 'Another' } })
    assert.equal(renamed?.next_due_at, claimed.schedule.next_due_at, 'what is due stays due')
    assert.equal(await settle(store, claimed), false)
    assert.deepEqual(await jobsOf(store, schedule), [])
    assert.ok(await settle(store, await claimOne(store)))
    assert.equal((await jobsOf(store, schedule)).length, 1)
  },

  'a due time of a workspace whose processor time is used up makes its job, which waits; a run by hand is refused':
    async ({ store, elapse, now }) => {
      await register(store)
      const schedule = await store.createSchedule(scheduleInput())
      await elapse(MINUTE)
      await store.updateWorkspace({ workspace_id: WORKSPACE, patch: { max_processor_seconds: 1 } })
      // The use is in this hour and in the next, because the test may cross the hour.
      await store.countProcessorUse(
        [0, HOUR].map((later) => ({
          workspace_id: WORKSPACE,
          hour: hourOf(at(now() + later)),
          ms: 1000,
        })),
      )
      await settle(store, await claimOne(store))
      const [job] = await jobsOf(store, schedule)
      assert.equal(job?.job_status, 'queued')
      assert.deepEqual(await store.claimJobs({ node_id: NODE, limit: 10 }), [])
      const byHand = { ...schedule, assignment_id: uuidv7(), ...MATERIAL }
      await refuses(store.runSchedule(byHand), 'workspace_busy')
    },

  'a run is passed over while an earlier one has not ended, where it is told to skip': async ({
    store,
    elapse,
  }) => {
    const schedule = await store.createSchedule(scheduleInput({ overlap: 'skip' }))
    await elapse(MINUTE)
    await settle(store, await claimOne(store))
    await elapse(MINUTE)
    await settle(store, await claimOne(store))
    const [job, ...others] = await jobsOf(store, schedule)
    assert.deepEqual(others, [])
    assert.equal((await again(store, schedule))!.counts.overlapped, 1)
    await store.cancelJob(job!)
    // On PostgreSQL the stored times are moved, so the same minute comes twice. Its job is deleted, or it would be
    // returned unchanged.
    await store.deleteJob(job!)
    await elapse(MINUTE)
    await settle(store, await claimOne(store))
    const after = await jobsOf(store, schedule)
    assert.deepEqual(
      after.map(({ job_status }) => job_status),
      ['queued'],
    )
  },

  'missed due times are skipped, made up for once, or all up to a bound': async ({ store, elapse }) => {
    const made: Record<string, Schedule> = {}
    for (const missed of ['skip', 'once', 'all'] as const)
      made[missed] = await store.createSchedule(
        scheduleInput({ missed, missed_limit: 3, cron: '*/20 * * * *' }),
      )
    await elapse(10 * HOUR + 10 * MINUTE)
    const claimed = await store.claimSchedules({ limit: 10 })
    assert.equal(claimed.length, 3)
    for (const one of claimed) assert.ok(await settle(store, one))
    const figures = async (missed: string) => {
      const { counts, last_error } = (await again(store, made[missed]!))!
      return [
        (await jobsOf(store, made[missed]!)).length,
        counts.made,
        counts.made + counts.missed >= 30,
        last_error?.code,
      ]
    }
    const [skip, once, all] = await Promise.all(['skip', 'once', 'all'].map(figures))
    // On PostgreSQL times are moved against the clock, so the latest one may lie within the five minutes.
    assert.ok(skip![0] === 0 || skip![0] === 1)
    assert.deepEqual(once, [1, 1, true, 'missed'])
    assert.deepEqual(all, [3, 3, true, 'missed'])
  },

  'a due time at which no job can be made is counted and told': async ({ store, elapse }) => {
    await register(store)
    await addWebhook(store, { presence_name: 'ops', events: ['*'] })
    await addWebhook(store, { presence_name: 'others', events: ['schedule.failed'] })
    const people: Partial<NewWebhook> = { kind: 'email', target: 'v1.target', events: ['schedule.failed'] }
    const mail = await addWebhook(store, { ...people, presence_name: 'mail' })
    await addWebhook(store, { ...people, presence_name: 'nobody' })
    const notify = [mail.webhook_id]
    const schedule = await store.createSchedule(scheduleInput({ presence_name: 'ops', notify }))
    await elapse(MINUTE)
    const claimed = await claimOne(store)
    assert.ok(await settle(store, claimed, FAULT))
    const after = (await again(store, schedule))!
    assert.deepEqual([after.counts.failed, after.counts.made], [1, 0])
    assert.deepEqual(after.last_error?.errors, FAULT.error.errors)
    assert.equal(after.last_error?.scheduled_for, claimed.plan.latest)
    assert.ok(after.next_due_at, 'it goes on')
    const told = await claimAll(store)
    assert.deepEqual(told.map(({ event, webhook }) => `${webhook.presence_name} ${event.type}`).toSorted(), [
      'mail schedule.failed',
      'ops schedule.failed',
    ])
    const events = await store.listEvents({
      workspace_id: WORKSPACE,
      type: 'schedule.failed',
      limit: 10,
      order: 'newest',
    })
    assert.deepEqual(
      events.items.map(({ data }) => data.schedule_id),
      [schedule.schedule_id],
    )
  },

  'a paused schedule is not claimed, and resumed it is due after now': async ({ store, elapse, now }) => {
    const schedule = await store.createSchedule(scheduleInput({ missed: 'all' }))
    const paused = await store.updateSchedule({ ...schedule, patch: { paused: true } })
    assert.equal(paused?.next_due_at, null)
    await elapse(10 * MINUTE)
    assert.deepEqual(await store.claimSchedules({ limit: 10 }), [])
    const resumed = await store.updateSchedule({ ...schedule, patch: { paused: false } })
    assert.ok(Date.parse(resumed!.next_due_at!) > now() - SECOND)
    assert.deepEqual(await store.claimSchedules({ limit: 10 }), [])
  },

  'a schedule begins and ends when it is told': async ({ store, elapse, now }) => {
    const starts_at = at(now() + DAY)
    const ends_at = at(now() + DAY + 90 * SECOND)
    const schedule = await store.createSchedule(scheduleInput({ starts_at, ends_at, missed: 'all' }))
    assert.ok(schedule.next_due_at! >= starts_at)
    await elapse(2 * DAY)
    const claimed = await claimOne(store)
    assert.ok(claimed.plan.times.length >= 1 && claimed.plan.times.length <= 2)
    await settle(store, claimed)
    assert.equal((await again(store, schedule))!.next_due_at, null)
    await elapse(DAY)
    assert.deepEqual(await store.claimSchedules({ limit: 10 }), [])
  },

  'a schedule is run by hand, paused or not, once for an id': async ({ store }) => {
    const schedule = await store.createSchedule(scheduleInput({ paused: true }))
    const assignment_id = uuidv7()
    const input = { ...schedule, assignment_id, ...MATERIAL }
    const job = await store.runSchedule(input)
    assert.deepEqual([job?.job_status, job?.scheduled_for], ['queued', null])
    assert.deepEqual(await store.runSchedule(input), job)
    assert.equal((await jobsOf(store, schedule)).length, 1)
    assert.equal((await again(store, schedule))!.last_run?.assignment_id, assignment_id)
    assert.equal(await store.runSchedule({ ...input, schedule_id: uuidv7() }), null)
  },

  'schedules are listed by filter, and seen by their own workspace alone': async ({ store }) => {
    const workspace_id = await otherWorkspace(store)
    const first = await store.createSchedule(scheduleInput())
    const second = await store.createSchedule(
      scheduleInput({ paused: true, user_id: 'bob', template_id: 't' }),
    )
    const theirs = await store.createSchedule(scheduleInput({ workspace_id }))
    const ids = async (filter: object) =>
      sorted(
        (await store.listSchedules({ workspace_id: WORKSPACE, limit: 10, ...filter })).items.map(
          (one) => one.schedule_id,
        ),
      )
    assert.deepEqual(await ids({}), sorted([first.schedule_id, second.schedule_id]))
    assert.deepEqual(await ids({ paused: true }), [second.schedule_id])
    assert.deepEqual(await ids({ user_id: 'ada' }), [first.schedule_id])
    assert.deepEqual(await ids({ template_id: 't' }), [second.schedule_id])
    const hidden = { workspace_id: WORKSPACE, schedule_id: theirs.schedule_id }
    assert.equal(await store.getSchedule(hidden), null)
    assert.equal(await store.updateSchedule({ ...hidden, patch: { name: 'x' } }), null)
    assert.equal(await store.deleteSchedule(hidden), false)
    assert.equal(await store.runSchedule({ ...hidden, assignment_id: uuidv7(), ...MATERIAL }), null)
    await refuses(store.createSchedule({ ...scheduleInput(), schedule_id: theirs.schedule_id }), 'name_taken')
  },

  'a deleted schedule leaves its jobs': async ({ store, elapse }) => {
    const schedule = await store.createSchedule(scheduleInput())
    assert.deepEqual(
      await store.createSchedule(scheduleInput({ schedule_id: schedule.schedule_id })),
      schedule,
    )
    await elapse(MINUTE)
    const claimed = await claimOne(store)
    await settle(store, claimed)
    assert.ok(await store.deleteSchedule(schedule))
    assert.equal(await store.deleteSchedule(schedule), false)
    assert.equal(await settle(store, claimed), false)
    assert.equal((await jobsOf(store, schedule)).length, 1)
  },

  'counts the runs of a schedule that failed since the last that completed': async ({ store }) => {
    await register(store)
    const { schedule_id } = await store.createSchedule(scheduleInput())
    const healthy = await store.createSchedule(scheduleInput())
    const of = { workspace_id: WORKSPACE, schedule_ids: [schedule_id, healthy.schedule_id] }
    const error = { code: 'analysis_failed' as const, detail: 'No.' }
    const run = async (ends: 'well' | 'badly' | 'stopped'): Promise<string> => {
      const lease = await execute(store, { schedule_id })
      if (ends === 'well') await store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings() })
      else if (ends === 'badly') await store.failJob({ ...lease, error })
      else await store.cancelJob({ workspace_id: WORKSPACE, assignment_id: lease.assignment_id })
      return lease.assignment_id
    }
    assert.deepEqual(await store.failingSchedules(of), [])
    await run('badly')
    await run('well')
    assert.deepEqual(await store.failingSchedules(of), [])
    await run('badly')
    const assignment_id = await run('badly')
    await run('stopped')
    assert.deepEqual(await store.failingSchedules(of), [{ schedule_id, runs: 2, assignment_id, error }])
    const workspace_id = await otherWorkspace(store)
    assert.deepEqual(await store.failingSchedules({ ...of, workspace_id }), [])
  },
}
