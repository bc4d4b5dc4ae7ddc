/**
 * Operations on jobs: create, run, status, cancel, list, delete. The API never waits on an analysis: it writes and
 * reads rows.
 */

import { metricsRead } from '@assay/engine/metrics/names'
import { keptBlocks } from '@assay/engine/partitions/block-days'
import { tagOfJob } from '@assay/model/entity-tag'
import { AppError, notFound } from '@assay/model/errors'
import { ENDINGS, isFinal, JOB_STATUSES, type Job, JobView, jobView } from '@assay/model/job'
import { ReaderId } from '@assay/model/readers'
import { Type } from '@assay/model/schema'
import type { Principal } from '@assay/model/token'
import { findTemplate, isAsPut } from '../../templates/find-template.ts'
import { takesReader } from '../../templates/personal.ts'
import type { Services } from '../dependencies.ts'
import { callerOf } from '../http/auth.ts'
import { Id, LIMIT_DEFAULT, Name, pageOf, pageQuery, Time } from '../http/fields.ts'
import { preferred } from '../http/negotiate.ts'
import { operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { JobReader, mailToReader, readerOf } from '../readers/job-reader.ts'
import { mayRead } from '../readers/visible.ts'
import { Notify, toldOf } from '../subscriptions/notify.ts'
import { runnableTemplate, variablesOf } from '../templates/template-lookup.ts'
import { ANSWERED_BY, jobKey, WAIT_MOST } from './changes.ts'
import { jobTitles } from './run-titles.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Returns the job. Throws a 404 if there is none, and the same 404 for a job of another workspace or of another
 * reader.
 */
export async function requireJob(
  services: Services,
  principal: Principal,
  assignment_id: string,
): Promise<Job> {
  const job = await services.store.getJob({ workspace_id: principal.workspace_id, assignment_id })
  if (!job || !mayRead(principal, job)) throw notFound('job', assignment_id)
  return job
}

export const Metadata = Type.Record(Type.String(), Type.String({ maxLength: 1000 }), {
  maxProperties: 50,
  description: 'Returned in status and events',
})

export const createJob = operation({
  name: 'createJob',
  tag: 'Jobs',
  audit: 'job.create',
  summary: 'Create a job from a template',
  description:
    'Answers with the assignment id alone: a JSON string, or the bare id with `Accept: text/plain`. The job is a draft until it is run.',
  scope: 'analyst',
  body: Type.Object({
    payload: Type.Object({
      type: Type.Literal('template'),
      template_id: Type.String({ minLength: 1, maxLength: 200 }),
      template_vars: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          description: 'Values by variable: text is converted to the declared type',
        }),
      ),
      presence_name: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description:
            'Notifies the webhooks and the subscriptions with this presence_name, and no other webhook',
        }),
      ),
      notify: Type.Optional(Notify),
      reader_id: Type.Optional(JobReader),
      priority: Type.Optional(
        Type.Integer({ minimum: -100, maximum: 100, description: 'Higher runs first' }),
      ),
      metadata: Type.Optional(Metadata),
      full: Type.Optional(
        Type.Boolean({
          description:
            'Drops the days that are kept of the metrics and blocks of the template, so that the run reads all; default false',
        }),
      ),
    }),
  }),
  replies: {
    200: { description: 'The assignment id', schema: Type.String({ format: 'uuid' }), media: ['text/plain'] },
  },
  errors: ['not_found', 'reader_missing', 'queue_full', 'workspace_busy'],
  async handle({ services, principal, body, id, request, reply }) {
    const { template_id, template_vars = {}, presence_name, notify, priority, metadata } = body.payload
    const template = await runnableTemplate(services, principal, template_id, 'payload.template_id')
    const variables = await variablesOf(services, principal, template, template_vars)
    const at = { reader_id: 'payload.reader_id', notify: 'payload.notify' }
    const reader = await readerOf(
      { services, principal },
      template,
      { id: body.payload.reader_id, values: variables },
      at.reader_id,
    )
    const told = reader
      ? await mailToReader(services, reader, notify, at.notify)
      : await (await toldOf(services, principal, { notify, template: template.source, at: at.notify }))(
          variables,
        )
    const { workspace_id } = principal
    const { assignment_id } = await services.store.createJob({
      assignment_id: id,
      workspace_id,
      user_id: principal.user_id,
      template: template.source,
      variables,
      presence_name: presence_name ?? null,
      notify: told,
      reader_id: reader?.reader_id ?? null,
      priority: priority ?? 0,
      metadata: metadata ?? {},
    })
    // The kept days are dropped before the job can run, because the job is still a draft.
    if (body.payload.full === true)
      await services.store.dropKeptDays({
        workspace_id,
        metrics: [...metricsRead(template.source, variables), ...keptBlocks(template.source)],
      })
    request.trace?.job('job created', { assignment_id, workspace_id, template_id })
    const plain = preferred(request.headers.accept, ['application/json', 'text/plain']) === 'text/plain'
    return plain
      ? reply.type('text/plain; charset=utf-8').send(assignment_id)
      : reply.type(JSON_TYPE).send(JSON.stringify(assignment_id))
  },
})

const Assignment = Type.Object(
  { payload: Type.Object({ type: Type.Literal('assignment'), assignment_id: Id }) },
  { title: 'AssignmentRequest' },
)

/**
 * Throws `conflict` for a draft whose template has changed and decides whose rows are shown, because the earlier text
 * may show other rows.
 */
async function refuseStale(
  services: Services,
  key: { workspace_id: string; assignment_id: string },
): Promise<void> {
  const draft = await services.store.getDraft(key)
  if (!draft) return
  const found = await findTemplate(services, { ...key, template_id: draft.template_id })
  const now = found && 'faults' in found ? found.found : found
  if (now && takesReader(now) && now.source.version !== draft.template_version)
    throw new AppError('conflict', STALE)
}

const STALE =
  'The template, or a metric of it, has changed since this draft was made, and decides whose rows the run shows: create the job again.'

export const runJob = operation({
  name: 'runJob',
  tag: 'Jobs',
  audit: 'job.run',
  summary: 'Run a job',
  description:
    'A draft becomes queued. A job that is queued, active or executing is answered as it is and not run twice.',
  scope: 'analyst',
  body: Assignment,
  replies: { 200: { description: 'The job', schema: JobView } },
  errors: ['not_found', 'conflict', 'job_final', 'queue_full', 'workspace_busy'],
  async handle({ services, principal: { workspace_id }, body, request, reply }) {
    const { assignment_id } = body.payload
    const key = { workspace_id, assignment_id }
    let job = await services.store.queueCurrent({ ...key, isCurrent: (draft) => isAsPut(services, draft) })
    if (!job) {
      await refuseStale(services, key)
      job = await services.store.queueJob(key)
    }
    request.trace?.job('job run request', { assignment_id, workspace_id, template_id: job.template_id })
    void reply.header('etag', tagOfJob(job))
    return jobView(job)
  },
})

export const cancelJob = operation({
  name: 'cancelJob',
  tag: 'Jobs',
  audit: 'job.cancel',
  summary: 'Cancel a job',
  description: 'Any unfinished job becomes canceled at once; a running query is stopped within a second.',
  scope: 'analyst',
  body: Assignment,
  replies: { 200: { description: 'The job', schema: JobView } },
  errors: ['not_found', 'job_final'],
  async handle({ services, principal, body, reply }) {
    const { assignment_id } = body.payload
    const job = await services.store.cancelJob({ workspace_id: principal.workspace_id, assignment_id })
    void reply.header('etag', tagOfJob(job))
    return jobView(job)
  },
})

export const jobStatus = operation({
  name: 'jobStatus',
  tag: 'Jobs',
  summary: 'Read the status of a job',
  description:
    'With `wait` the service answers when the job has ended, or after that many seconds, 50 at most.',
  scope: 'viewer',
  query: Type.Object({
    assignment_id: Id,
    wait: Type.Optional(
      Type.Integer({ minimum: 0, maximum: WAIT_MOST, description: 'Seconds to wait for the end' }),
    ),
  }),
  replies: { 200: { description: 'The job', schema: JobView } },
  errors: ['not_found', 'workspace_busy'],
  async handle({ services, principal, query, signal, request, reply }) {
    const { assignment_id, wait = 0 } = query
    let job = await requireJob(services, principal, assignment_id)
    if (wait > 0 && !isFinal(job.job_status)) {
      const look = async (): Promise<boolean | undefined> => {
        // The caller is looked up again, because the user may be another reader by now.
        const caller = (await callerOf(services, request)) ?? principal
        job = await requireJob(services, caller, assignment_id)
        return isFinal(job.job_status) || undefined
      }
      const close = services.open.open(principal)
      const until = Math.min(wait, ANSWERED_BY) * 1000
      await services.changes.until(jobKey(assignment_id), look, until, signal()).finally(close)
    }
    void reply.header('etag', tagOfJob(job))
    return jobView(job)
  },
})

/** Splits the filter KEY:VALUE. */
function pairOf(text: string): readonly [key: string, value: string] {
  const [, key, value] = /^([\w.-]{1,100}):(.*)$/s.exec(text) ?? []
  if (key !== undefined && value !== undefined) return [key, value]
  const message = 'must be KEY:VALUE, such as report:weekly, with a key of letters, digits, "_", "." and "-"'
  throw invalid([{ path: 'metadata', message }])
}

export const listJobs = operation({
  name: 'listJobs',
  tag: 'Jobs',
  summary: 'List jobs, newest first',
  scope: 'viewer',
  query: pageQuery({
    job_status: Type.Optional(Type.Enum([...JOB_STATUSES])),
    ending: Type.Optional(
      Type.Enum([...ENDINGS], {
        description:
          'How it ended, instead of job_status: failed by an error, canceled by a person, or skipped (deliver_if was not met)',
      }),
    ),
    template_id: Type.Optional(Name),
    schedule_id: Type.Optional(Id),
    batch_id: Type.Optional(Id),
    user_id: Type.Optional(Name),
    reader_id: Type.Optional(ReaderId),
    presence_name: Type.Optional(Name),
    metadata: Type.Optional(
      Type.String({
        maxLength: 1101,
        description:
          'KEY:VALUE: jobs whose metadata hold this value under this key (letters, digits, "_", "." and "-")',
      }),
    ),
    created_after: Type.Optional(Time),
    created_before: Type.Optional(Time),
  }),
  replies: { 200: { description: 'A page of jobs', schema: pageOf(JobView) } },
  async handle({ services, principal, query }) {
    const { workspace_id } = principal
    const { store } = services
    if (query.ending !== undefined && query.job_status !== undefined)
      throw invalid([{ path: 'ending', message: 'says the state already: leave out job_status' }])
    const { metadata: pair, ...asked } = query
    const metadata = pair === undefined ? pair : pairOf(pair)
    const wanted = { limit: LIMIT_DEFAULT, ...asked, metadata, workspace_id }
    const { items, next_cursor } = await store.listJobs(wanted)
    const titles = await jobTitles(services, workspace_id, items)
    const view = (job: Job): JobView => ({ ...jobView(job), title: titles.get(job.assignment_id) ?? null })
    return { items: items.map(view), next_cursor }
  },
})

export const deleteJob = operation({
  name: 'deleteJob',
  tag: 'Jobs',
  audit: 'job.delete',
  summary: 'Delete a job that has ended',
  description: 'Deletes its insight and the bodies of its deliveries, too.',
  scope: 'analyst',
  params: Type.Object({ assignment_id: Id }),
  replies: { 204: { description: 'The job is deleted' } },
  errors: ['not_found', 'job_unfinished'],
  async handle({ services, principal, params, reply }) {
    await services.store.deleteJob({ workspace_id: principal.workspace_id, ...params })
    return reply.code(204).send()
  },
})
