/**
 * An event: one thing that happened, with its type and data. The list of types is closed. An event is written in the
 * transaction that makes the change, and read through deliveries and by cursor (GET /v1alpha/events).
 */
import type { Static, TSchema } from 'typebox'
import { JOB_STATUSES, type Job, JobFault, type JobStatus } from './job.ts'
import { nullable, Type } from './schema.ts'

export const EVENT_TYPES = [
  'job.queued',
  'job.started',
  'job.completed',
  'job.failed',
  'job.canceled',
  'schedule.failed',
  'webhook.test',
  'subscription.confirm',
  'webhook.failing',
  'webhook.disabled',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** The event types of a webhook without `events`: the three that end a job. */
export const ENDING_EVENTS: readonly EventType[] = ['job.completed', 'job.failed', 'job.canceled']

const Notify = Type.Array(Type.String({ format: 'uuid' }), {
  description: 'The subscriptions that are told by name',
})

const jobFields = {
  assignment_id: Type.String({ format: 'uuid' }),
  job_status: Type.Enum([...JOB_STATUSES]),
  insight_id: nullable(Type.String({ format: 'uuid' })),
  template_id: Type.String(),
  user_id: Type.String(),
  presence_name: nullable(Type.String()),
  notify: Notify,
  metadata: Type.Record(Type.String(), Type.String()),
  error: nullable(JobFault),
  skipped: nullable(Type.Enum(['condition'])),
  schedule_id: nullable(Type.String({ format: 'uuid' })),
  scheduled_for: nullable(Type.String({ format: 'date-time' })),
  batch_id: nullable(Type.String({ format: 'uuid' })),
  personal: Type.Boolean({
    description:
      "Whether the insight is one reader's own: others get 404, and the detail of an error is left out",
  }),
  result_url: nullable(
    Type.String({ description: 'The address of the insight; absolute if ASSAY_PUBLIC_URL is set' }),
  ),
}
const JobEventData = Type.Object(jobFields)
export type JobEventData = Static<typeof JobEventData>
const CompletedEventData = Type.Object({
  ...jobFields,
  job_status: Type.Literal('completed'),
  insight_id: Type.String({ format: 'uuid' }),
  error: Type.Null(),
  result_url: Type.String({
    description: 'The address of the insight; absolute if ASSAY_PUBLIC_URL is set',
  }),
})
const CanceledEventData = Type.Object({
  ...jobFields,
  job_status: Type.Literal('canceled'),
  insight_id: Type.Null(),
  error: JobFault,
  result_url: Type.Null(),
})

const ScheduleFailedData = Type.Object({
  schedule_id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  template_id: Type.String(),
  user_id: Type.String(),
  presence_name: nullable(Type.String()),
  notify: Notify,
  metadata: Type.Record(Type.String(), Type.String()),
  scheduled_for: Type.String({ format: 'date-time' }),
  error: Type.Object({
    code: Type.String(),
    detail: Type.String(),
    errors: Type.Array(Type.Object({ path: Type.String(), message: Type.String() })),
  }),
})
const TestEventData = Type.Object({
  webhook_id: Type.String({ format: 'uuid' }),
  message: Type.String(),
})
const ConfirmEventData = Type.Object({ webhook_id: Type.String({ format: 'uuid' }) })
const TriedDelivery = Type.Object(
  {
    delivery_id: Type.String({ format: 'uuid' }),
    event_id: Type.String({ format: 'uuid' }),
    event_type: Type.Enum([...EVENT_TYPES]),
  },
  { description: 'The delivery whose attempt led to this' },
)
export type TriedDelivery = Static<typeof TriedDelivery>
export const FailingEventData = Type.Object({
  webhook_id: Type.String({ format: 'uuid' }),
  url: Type.String(),
  failing_since: Type.String({ format: 'date-time' }),
  failing_reason: Type.String({ description: 'Class and detail of the last error' }),
  disabled_from: Type.String({
    format: 'date-time',
    description: 'The first attempt that fails after this disables the webhook',
  }),
  delivery: TriedDelivery,
})
export type FailingEventData = Static<typeof FailingEventData>
const DisabledEventData = Type.Object({
  webhook_id: Type.String({ format: 'uuid' }),
  url: Type.String(),
  disabled_reason: Type.String(),
  delivery: TriedDelivery,
})
export type DisabledEventData = Static<typeof DisabledEventData>

export const EVENT_DATA: Record<EventType, TSchema> = {
  'job.queued': JobEventData,
  'job.started': JobEventData,
  'job.completed': CompletedEventData,
  'job.failed': CanceledEventData,
  'job.canceled': CanceledEventData,
  'schedule.failed': ScheduleFailedData,
  'webhook.test': TestEventData,
  'subscription.confirm': ConfirmEventData,
  'webhook.failing': FailingEventData,
  'webhook.disabled': DisabledEventData,
}

export const Event = Type.Object(
  {
    event_id: Type.String({ format: 'uuid' }),
    type: Type.Enum([...EVENT_TYPES]),
    timestamp: Type.String({ format: 'date-time' }),
    data: Type.Record(Type.String(), Type.Unknown()),
  },
  { title: 'Event' },
)
export type Event = Static<typeof Event>

/** Returns the event type of a job's present state, or null if that state has no event. */
export function eventTypeOf(job: Pick<Job, 'job_status' | 'error'>): EventType | null {
  const types: Record<JobStatus, EventType | null> = {
    draft: null,
    queued: 'job.queued',
    active: null,
    executing: 'job.started',
    completed: 'job.completed',
    canceled: job.error?.code === 'canceled_by_user' ? 'job.canceled' : 'job.failed',
  }
  return types[job.job_status]
}

/** Events leave out the error of a reader's job, because an error may quote a row. The job tells it, to the reader and admins. */
export const PERSONAL_DETAIL =
  'The job of a reader failed: she and admins read the reason in the status of the job.'

/** Returns the error of a job as events show it. Only the job itself tells the steps. */
function toldError({ error, reader_id }: Pick<Job, 'error' | 'reader_id'>): JobEventData['error'] {
  if (error === null) return null
  const { code, detail } = error
  return { code, detail: reader_id === null ? detail : PERSONAL_DETAIL }
}

/** Returns the data of a job's event. `publicUrl` has no trailing slash; null leaves `result_url` relative. */
export function jobEventData(job: Job, publicUrl: string | null): JobEventData {
  return {
    assignment_id: job.assignment_id,
    job_status: job.job_status,
    insight_id: job.insight_id,
    template_id: job.template_id,
    user_id: job.user_id,
    presence_name: job.presence_name,
    notify: job.notify ?? [],
    metadata: job.metadata,
    error: toldError(job),
    skipped: job.skipped,
    schedule_id: job.schedule_id,
    scheduled_for: job.scheduled_for,
    batch_id: job.batch_id,
    personal: job.reader_id !== null,
    result_url: job.insight_id ? `${publicUrl ?? ''}/v1alpha/jobs/result?insight_id=${job.insight_id}` : null,
  }
}

/** Returns the exact text that is signed and sent. It is the same for every attempt. */
export function eventBody(event: Pick<Event, 'type' | 'timestamp' | 'data'>): string {
  return eventText(event, JSON.stringify(event.data))
}

/** Returns the text of `eventBody`, from data that are JSON text already. */
export function eventText({ type, timestamp }: Pick<Event, 'type' | 'timestamp'>, data: string): string {
  return `{"type":"${type}","timestamp":"${timestamp}","data":${data}}`
}
