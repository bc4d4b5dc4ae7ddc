/**
 * A job: one run of a template. It has six states and these legal moves:
 *
 *   draft -> queued -> active -> executing -> completed
 *     any of the first four -> canceled
 *     active | executing -> queued    only if the worker was lost or is draining
 *
 * completed and canceled are final. `attempt` only rises and fences: a settle with an older attempt writes nothing.
 */
import type { Static } from 'typebox'
import { JOB_ERRORS, type JobErrorCode } from './errors.ts'
import { nullable, Type } from './schema.ts'

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

/** The states that are not final. */
export const UNFINISHED: readonly JobStatus[] = JOB_STATUSES.filter((status) => !isFinal(status))
/** The states that end a job. */
export const FINAL: readonly JobStatus[] = JOB_STATUSES.filter(isFinal)
/** The states in which a node holds a job. */
export const HELD = ['active', 'executing'] as const satisfies readonly JobStatus[]

/** The number of lost workers after which a job ends with `worker_lost`. */
export const LOSSES_MAX = 3

export const Progress = Type.Object({
  percent: Type.Number({ minimum: 0, maximum: 100 }),
  step: Type.Integer({ minimum: 0 }),
  steps: Type.Integer({ minimum: 0 }),
  label: Type.String(),
})
export type Progress = Static<typeof Progress>

/** One step of a run that failed: reading a source, a block, or writing the text. */
export const RunStep = Type.Object({
  name: Type.String(),
  elapsed_ms: Type.Number({ minimum: 0 }),
})
export type RunStep = Static<typeof RunStep>

export interface JobError {
  code: JobErrorCode
  detail: string
  /** The steps in their order. The last one is the one that failed. */
  steps?: RunStep[]
}

export interface StepTimes {
  /** Begins the step of the progress, unless it is under way. */
  note(progress: Progress): void
  /** Returns the steps so far. The last one is under way. */
  untilNow(): RunStep[]
}

/** Measures the steps of a run by its progress. `now` returns milliseconds of a clock that never jumps. */
export function createStepTimes(now: () => number): StepTimes {
  const begun: { step: number; name: string; at: number }[] = []
  return {
    note({ step, label }) {
      if (begun.at(-1)?.step !== step) begun.push({ step, name: label, at: now() })
    },
    untilNow() {
      const end = now()
      return begun.map(({ name, at }, nth) => {
        const elapsed_ms = Math.round(((begun[nth + 1]?.at ?? end) - at) * 10) / 10
        return { name, elapsed_ms }
      })
    },
  }
}

/** One change of state. Its position in `Job.moves`, from 1, is the id of the server-sent event. */
export interface Move {
  job_status: JobStatus
  at: string
  attempt: number
}

const time = (description: string) => Type.String({ format: 'date-time', description })

/** Why a job has no insight. */
export const JobFault = Type.Object({
  code: Type.Enum(Object.keys(JOB_ERRORS) as JobErrorCode[]),
  detail: Type.String(),
})

/** A job as the API answers it. */
export const JobView = Type.Object(
  {
    assignment_id: Type.String({ format: 'uuid' }),
    job_status: Type.Enum([...JOB_STATUSES]),
    insight_id: nullable(Type.String({ format: 'uuid' })),
    template_id: Type.String(),
    template_version: Type.String(),
    template_vars: Type.Record(Type.String(), Type.Unknown(), {
      description: 'The values of the job, with defaults filled in; a period as its text',
    }),
    progress: Progress,
    attempt: Type.Integer({ minimum: 0, description: 'Rises with each start on a worker' }),
    error: nullable(
      Type.Object({
        ...JobFault.properties,
        steps: Type.Optional(
          Type.Array(RunStep, {
            description: 'The steps that the run took and their times; the last one failed',
          }),
        ),
      }),
    ),
    skipped: nullable(Type.Enum(['condition'])),
    created_at: time('When the job was created'),
    queued_at: nullable(time('When it was run')),
    started_at: nullable(time('When the last attempt began')),
    finished_at: nullable(time('When it ended')),
    metadata: Type.Record(Type.String(), Type.String()),
    presence_name: nullable(Type.String()),
    notify: Type.Array(Type.String({ format: 'uuid' }), {
      description: 'The subscriptions that it tells, beside those that bear its presence_name',
    }),
    user_id: Type.String(),
    schedule_id: nullable(Type.String({ format: 'uuid', description: 'The schedule that created it' })),
    scheduled_for: nullable(time('The due time of the schedule; null for a job that was run by hand')),
    batch_id: nullable(Type.String({ format: 'uuid', description: 'The batch that the job belongs to' })),
    reader_id: nullable(
      Type.String({
        description: 'The reader whose insight it makes: only that reader and admins find the job',
      }),
    ),
    title: Type.Optional(
      nullable(
        Type.String({
          description:
            'In lists: the title of its insight, or before there is one the title of the template with the values of the variables; null where neither can be told',
        }),
      ),
    ),
  },
  { title: 'Job' },
)
export type JobView = Static<typeof JobView>

/**
 * The ways in which a job ends, as people ask for them: by an error, by a person, or without a notification because
 * of `deliver_if`.
 */
export const ENDINGS = ['failed', 'canceled', 'skipped'] as const
export type Ending = (typeof ENDINGS)[number]

/** A job as the store keeps it. Times are RFC 3339 UTC with milliseconds. */
export interface Job extends Omit<JobView, 'template_vars' | 'error' | 'notify' | 'title'> {
  workspace_id: string
  /** The values by variable, converted to the declared types. A period stays text until the run. */
  variables: Record<string, unknown>
  error: JobError | null
  /** The ids of subscriptions to notify; null for none. */
  notify: string[] | null
  losses: number
  priority: number
  moves: Move[]
}

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
    notify: job.notify ?? [],
    user_id: job.user_id,
    schedule_id: job.schedule_id,
    scheduled_for: job.scheduled_for,
    batch_id: job.batch_id,
    reader_id: job.reader_id,
  }
}
