/**
 * A job: one run of a template. This file alone knows the six states and the legal moves between them.
 *
 *   draft -> queued -> active -> executing -> completed
 *     any of the first four -> canceled
 *     active | executing -> queued    only where the worker was lost or is draining
 *
 * completed and canceled are final. `attempt` only rises: it fences, a settle with an older one writes nothing.
 */
import Type, { type Static } from 'typebox'
import type { JobErrorCode } from './errors.ts'

export const JOB_STATUSES = ['draft', 'queued', 'active', 'executing', 'completed', 'canceled'] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

const MOVES: Record<JobStatus, readonly JobStatus[]> = {
  draft: ['queued', 'canceled'],
  queued: ['active', 'canceled'],
  active: ['executing', 'queued', 'canceled'],
  executing: ['completed', 'queued', 'canceled'],
  completed: [],
  canceled: [],
}

export function mayMove(from: JobStatus, to: JobStatus): boolean {
  return MOVES[from].includes(to)
}

export function isFinal(status: JobStatus): boolean {
  return MOVES[status].length === 0
}

/** A worker lost for the third time ends its job: `worker_lost`. */
export const LOSSES_MAX = 3

export const Progress = Type.Object({
  percent: Type.Number({ minimum: 0, maximum: 100 }),
  step: Type.Integer({ minimum: 0 }),
  steps: Type.Integer({ minimum: 0 }),
  label: Type.String(),
})
export type Progress = Static<typeof Progress>

export interface JobError {
  code: JobErrorCode
  detail: string
}

/** One change of state. Its number in `Job.moves`, from 1, is the id of the live event. */
export interface Move {
  job_status: JobStatus
  at: string
  attempt: number
}

/** A job as the store keeps it. Times are RFC 3339 UTC with milliseconds. */
export interface Job {
  assignment_id: string
  workspace_id: string
  user_id: string
  template_id: string
  template_version: string
  /** Values by variable, converted to the declared types; a period stays text until the run. */
  variables: Record<string, unknown>
  job_status: JobStatus
  insight_id: string | null
  progress: Progress
  attempt: number
  losses: number
  error: JobError | null
  skipped: 'condition' | null
  priority: number
  presence_name: string | null
  metadata: Record<string, string>
  /** The schedule that made it, and the due time that it was made for (null: by hand); null: no schedule did. */
  schedule_id: string | null
  scheduled_for: string | null
  /** Of those made by one call. */
  batch_id: string | null
  moves: Move[]
  created_at: string
  queued_at: string | null
  started_at: string | null
  finished_at: string | null
}

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const time = (description: string) => Type.String({ format: 'date-time', description })

/** What status, run, cancel and the list answer. */
export const JobView = Type.Object(
  {
    assignment_id: Type.String({ format: 'uuid' }),
    job_status: Type.Enum([...JOB_STATUSES]),
    insight_id: nullable(Type.String({ format: 'uuid' })),
    template_id: Type.String(),
    template_version: Type.String(),
    template_vars: Type.Record(Type.String(), Type.Unknown(), {
      description: 'The values that the job was created with, defaults filled in; a period as its text',
    }),
    progress: Progress,
    attempt: Type.Integer({ minimum: 0, description: 'Rises with each start on a worker' }),
    error: nullable(Type.Object({ code: Type.String(), detail: Type.String() })),
    skipped: nullable(Type.Enum(['condition'])),
    created_at: time('When the job was created'),
    queued_at: nullable(time('When it was run')),
    started_at: nullable(time('When the last attempt began')),
    finished_at: nullable(time('When it ended')),
    metadata: Type.Record(Type.String(), Type.String()),
    presence_name: nullable(Type.String()),
    user_id: Type.String(),
    schedule_id: nullable(Type.String({ format: 'uuid', description: 'The schedule that made it' })),
    scheduled_for: nullable(time('The due time of the schedule; null where it was run by hand')),
    batch_id: nullable(Type.String({ format: 'uuid', description: 'The call that made it with others' })),
  },
  { title: 'Job' },
)
export type JobView = Static<typeof JobView>

export function jobView(job: Job): JobView {
  return {
    assignment_id: job.assignment_id,
    job_status: job.job_status,
    insight_id: job.insight_id,
    template_id: job.template_id,
    template_version: job.template_version,
    template_vars: job.variables,
    progress: job.progress,
    attempt: job.attempt,
    error: job.error,
    skipped: job.skipped,
    created_at: job.created_at,
    queued_at: job.queued_at,
    started_at: job.started_at,
    finished_at: job.finished_at,
    metadata: job.metadata,
    presence_name: job.presence_name,
    user_id: job.user_id,
    schedule_id: job.schedule_id,
    scheduled_for: job.scheduled_for,
    batch_id: job.batch_id,
  }
}
