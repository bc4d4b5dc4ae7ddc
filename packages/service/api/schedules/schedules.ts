/** Operations on schedules. packages/service/schedules/ runs them when they are due. */
import { isDeepStrictEqual } from 'node:util'
import { metricsRead } from '@assay/engine/metrics/names'
import { iso } from '@assay/model/clock'
import { tagOfSchedule } from '@assay/model/entity-tag'
import { AppError, notFound } from '@assay/model/errors'
import { JobView, jobView } from '@assay/model/job'
import { dueTimes, type Schedule, ScheduleView, SHOWN_RUNS, scheduleView } from '@assay/model/schedule'
import { nullable, Type } from '@assay/model/schema'
import { READER } from '@assay/model/subscription'
import { includesScope } from '@assay/model/token'
import type { NewSchedule, SchedulePatch } from '@assay/store/contract/schedules'
import type { Static } from 'typebox'
import { mailOf } from '../../readers/reader-mail.ts'
import { isPersonal } from '../../templates/personal.ts'
import { Id, LIMIT_DEFAULT, Name, pageOf, pageQuery, Time } from '../http/fields.ts'
import { type Call, operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { readerOf } from '../readers/job-reader.ts'
import { refuseOwned } from '../repository/owned.ts'
import { subscriptionsOf } from '../subscriptions/notify.ts'
import { runnableTemplate, variablesOf } from '../templates/template-lookup.ts'
import { faultsOf, newSchedule, ScheduleInput, timingFaults } from './schedule-input.ts'
import { checkReaders } from './schedule-readers.ts'

const ScheduleChange = Type.Partial(ScheduleInput)
const SchedulePath = Type.Object({ schedule_id: Id })

/**
 * Tells whether a change leaves alone what the schedule runs. Its template is not checked then: the template may be
 * deleted or may have other variables by now, and the schedule may still get a new name.
 */
function runsAsBefore(schedule: NewSchedule, before: Schedule): boolean {
  const { template_id, variables, paused } = schedule
  const resumes = before.paused && !paused
  const { readers = null, notify = null } = schedule
  const sameReaders =
    isDeepStrictEqual(readers, before.readers) &&
    ((readers === null && !notify?.includes(READER)) || isDeepStrictEqual(notify, before.notify))
  return (
    !resumes &&
    sameReaders &&
    template_id === before.template_id &&
    isDeepStrictEqual(variables, before.variables)
  )
}

/** Checks the whole schedule after a change. Throws a 422 or 404 if the schedule could never run. */
async function check(
  { services, principal }: Pick<Call, 'services' | 'principal'>,
  schedule: NewSchedule,
  before: Schedule | null,
) {
  const faults = faultsOf(schedule, iso(services.clock.now()), before)
  if (faults.length > 0) throw invalid(faults)
  if (before && runsAsBefore(schedule, before)) return
  const template = await runnableTemplate(services, principal, schedule.template_id, 'template_id')
  await variablesOf(services, principal, template, schedule.variables, 'template_vars')
  await checkReaders(services.store, schedule, template)
}

/** Requires an admin for changes of readers, because they decide which reader gets what. */
function requireAdmin({ scopes }: Call['principal'], ...readers: unknown[]): void {
  if (readers.every((one) => one === null || one === undefined) || includesScope(scopes, 'admin')) return
  throw new AppError('forbidden', 'A schedule over readers takes a token with the scope admin.')
}

async function requireSchedule({ services, principal, params }: Call<Static<typeof SchedulePath>>) {
  const { workspace_id } = principal
  const { schedule_id } = params
  const schedule = await services.store.getSchedule({ workspace_id, schedule_id })
  if (!schedule) throw notFound('schedule', schedule_id)
  return schedule
}

export const createSchedule = operation({
  name: 'createSchedule',
  tag: 'Schedules',
  audit: 'schedule.create',
  summary: 'Run a template by a cron expression',
  description:
    'Checks the variables now and again at each run. Each run is an ordinary job with `schedule_id` and `scheduled_for`.',
  scope: 'analyst',
  body: ScheduleInput,
  replies: { 201: { description: 'The schedule', schema: ScheduleView } },
  errors: ['not_found', 'conflict', 'reader_missing', 'forbidden'],
  async handle(call) {
    const { services, principal, body } = call
    requireAdmin(principal, body.readers)
    const notify = await subscriptionsOf(services, principal, body.notify, 'notify')
    const schedule = { ...newSchedule(body, call.id, principal), notify }
    await check(call, schedule, null)
    const made = await call.services.store.createSchedule(schedule)
    const location = `/v1alpha/schedules/${made.schedule_id}`
    void call.reply.code(201).headers({ location, etag: tagOfSchedule(made) })
    return shownTo(principal, made)
  },
})

const shownTo = ({ scopes }: Call['principal'], schedule: Schedule): ScheduleView =>
  scheduleView(schedule, includesScope(scopes, 'admin'))

/** Returns the schedules with the state of their last jobs. */
async function withFailing(
  { services: { store }, principal }: Pick<Call, 'services' | 'principal'>,
  schedules: readonly Schedule[],
): Promise<ScheduleView[]> {
  const { workspace_id } = principal
  const schedule_ids = schedules.map(({ schedule_id }) => schedule_id)
  const rows = await store.failingSchedules({ workspace_id, schedule_ids })
  const found = new Map(rows.map(({ schedule_id, ...failing }) => [schedule_id, failing]))
  return schedules.map((one) => ({ ...shownTo(principal, one), failing: found.get(one.schedule_id) ?? null }))
}

export const listSchedules = operation({
  name: 'listSchedules',
  tag: 'Schedules',
  summary: 'List schedules, newest first',
  scope: 'viewer',
  query: pageQuery({
    template_id: Type.Optional(Name),
    user_id: Type.Optional(Name),
    paused: Type.Optional(Type.Boolean()),
  }),
  replies: { 200: { description: 'A page of schedules', schema: pageOf(ScheduleView) } },
  async handle(call) {
    const { workspace_id } = call.principal
    const query = { limit: LIMIT_DEFAULT, ...call.query, workspace_id }
    const page = await call.services.store.listSchedules(query)
    const items = await withFailing(call, page.items)
    return { items, next_cursor: page.next_cursor }
  },
})

export const previewSchedule = operation({
  name: 'previewSchedule',
  tag: 'Schedules',
  summary: 'Read the next due times of a cron expression',
  description: 'Stores nothing. Faults are a 422 with their fields, as for the creation of a schedule.',
  scope: 'viewer',
  query: Type.Object({
    cron: ScheduleInput.properties.cron,
    time_zone: ScheduleInput.properties.time_zone,
    starts_at: Type.Optional(Time),
    ends_at: Type.Optional(Time),
  }),
  replies: {
    200: {
      description: 'The next five due times',
      schema: Type.Object({ next_runs: Type.Array(Time) }, { title: 'SchedulePreview' }),
    },
  },
  async handle({ services, query }) {
    const { time_zone = 'UTC', starts_at = null, ends_at = null } = query
    const timing = { cron: query.cron.trim(), time_zone, starts_at, ends_at }
    const now = iso(services.clock.now())
    const faults = timingFaults(timing, now)
    if (faults.length > 0) throw invalid(faults)
    return { next_runs: dueTimes(timing, now, SHOWN_RUNS) }
  },
})

export const getSchedule = operation({
  name: 'getSchedule',
  tag: 'Schedules',
  summary: 'Read a schedule',
  scope: 'viewer',
  params: SchedulePath,
  replies: { 200: { description: 'The schedule', schema: ScheduleView } },
  errors: ['not_found'],
  async handle(call) {
    const schedule = await requireSchedule(call)
    // The tag also covers the readers, so a caller who may not see them could guess them from it.
    if (schedule.readers === null || includesScope(call.principal.scopes, 'admin'))
      void call.reply.header('etag', tagOfSchedule(schedule))
    return (await withFailing(call, [schedule]))[0]!
  },
})

function patchOf({ template_vars, cron, ...rest }: Static<typeof ScheduleChange>): SchedulePatch {
  const patch: SchedulePatch = rest
  if (template_vars !== undefined) patch.variables = template_vars
  if (cron !== undefined) patch.cron = cron.trim()
  return patch
}

export const changeSchedule = operation({
  name: 'changeSchedule',
  tag: 'Schedules',
  audit: 'schedule.change',
  summary: 'Change, pause or resume a schedule',
  description:
    'Fields that are left out stay. After a change of the cron expression, its zone, its bounds or the pause, the next due time is found from now; due times in a pause are not run later.',
  scope: 'analyst',
  params: SchedulePath,
  body: ScheduleChange,
  replies: { 200: { description: 'The schedule as it is now', schema: ScheduleView } },
  errors: ['not_found', 'conflict'],
  async handle(call) {
    const present: Schedule = await requireSchedule(call)
    const { services, principal, body } = call
    requireAdmin(principal, present.readers, body.readers)
    await refuseOwned(services, { schedule_id: present.schedule_id })
    const patch = patchOf(body)
    if (body.notify !== undefined)
      patch.notify = await subscriptionsOf(services, principal, body.notify, 'notify', present.notify ?? [])
    // A schedule that has ended, or whose template is deleted, can still be paused.
    const onlyPauses = patch.paused === true && Object.keys(patch).length === 1
    if (!onlyPauses) await check(call, { ...present, ...patch }, present)
    const { workspace_id, schedule_id } = present
    const changed = await services.store.updateSchedule({ workspace_id, schedule_id, patch })
    if (!changed) throw notFound('schedule', schedule_id)
    void call.reply.header('etag', tagOfSchedule(changed))
    return shownTo(principal, changed)
  },
})

export const deleteSchedule = operation({
  name: 'deleteSchedule',
  tag: 'Schedules',
  audit: 'schedule.delete',
  summary: 'Delete a schedule',
  description: 'Its jobs stay.',
  scope: 'analyst',
  params: SchedulePath,
  replies: { 204: { description: 'The schedule is deleted' } },
  errors: ['not_found', 'conflict'],
  async handle({ services, principal, params, reply }) {
    const { workspace_id } = principal
    const present = await services.store.getSchedule({ workspace_id, ...params })
    if (present) {
      requireAdmin(principal, present.readers)
      await refuseOwned(services, params)
    }
    if (!(await services.store.deleteSchedule({ workspace_id, ...params })))
      throw notFound('schedule', params.schedule_id)
    return reply.code(204).send()
  },
})

export const runScheduleNow = operation({
  name: 'runScheduleNow',
  tag: 'Schedules',
  audit: 'schedule.run',
  summary: 'Run a schedule now',
  description:
    'Creates and queues a job of the schedule, even if it is paused or another job of it runs. The due times do not change.',
  scope: 'analyst',
  params: SchedulePath,
  body: Type.Object({
    reader_id: Type.Optional(
      nullable(
        Type.String({ minLength: 1, maxLength: 255, description: 'Of a schedule over readers: for whom' }),
      ),
    ),
  }),
  replies: { 201: { description: 'The job', schema: JobView } },
  errors: ['not_found', 'reader_missing', 'queue_full', 'workspace_busy'],
  async handle(call) {
    const { services, principal, body, id, request, reply } = call
    const schedule = await requireSchedule(call)
    const { schedule_id, workspace_id, template_id, variables: given, readers, user_id, notify } = schedule
    requireAdmin(principal, readers)
    const template = await runnableTemplate(services, principal, template_id, 'template_id')
    const variables = await variablesOf(services, principal, template, given, 'template_vars')
    const own = await services.store.findReaderOf({ workspace_id, user_id })
    const wanted = body.reader_id ?? (readers === null ? own?.reader_id : undefined)
    if (readers !== null && wanted === undefined)
      throw invalid([{ path: 'reader_id', message: 'is missing: the schedule runs for readers, name one' }])
    const personal = isPersonal(template, variables) || (body.reader_id ?? null) !== null
    const reader = personal
      ? await readerOf({ services, principal }, template, { id: wanted, values: variables }, 'reader_id')
      : null
    const input = {
      workspace_id,
      schedule_id,
      assignment_id: id,
      template: template.source,
      variables,
      metrics: metricsRead(template.source, variables),
      reader_id: reader?.reader_id ?? null,
      mail: reader && (readers !== null || notify?.includes(READER)) ? await mailOf(services, reader) : null,
    }
    const job = await services.store.runSchedule(input)
    if (!job) throw notFound('schedule', schedule_id)
    const { assignment_id } = job
    request.trace?.job('job created', { assignment_id, workspace_id, template_id, schedule_id })
    const location = `/v1alpha/jobs/status?assignment_id=${assignment_id}`
    return reply.code(201).header('location', location).send(jobView(job))
  },
})
