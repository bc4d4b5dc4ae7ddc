/** Events by cursor, for clients that cannot receive webhooks, and the catalogue of event types. */

import { EVENT_DATA, EVENT_TYPES, Event, type EventType } from '@assay/model/event'
import { Type } from '@assay/model/schema'
import type { TSchema } from 'typebox'
import { callerOf } from '../http/auth.ts'
import { LIMIT_DEFAULT, pageOf, pageQuery } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { plainSchema } from '../http/plain-schema.ts'
import { invalid } from '../http/validate.ts'
import { ANSWERED_BY, eventsKey, WAIT_MOST } from '../jobs/changes.ts'

/** The data that several types share, by their name in the OpenAPI document. */
const DATA_NAMES: Partial<Record<EventType, string>> = {
  'job.queued': 'JobEventData',
  'job.started': 'JobEventData',
  'job.completed': 'CompletedEventData',
  'job.failed': 'CanceledEventData',
  'job.canceled': 'CanceledEventData',
}

function dataOf(type: EventType): TSchema {
  const title = DATA_NAMES[type]
  return title === undefined ? EVENT_DATA[type] : { ...EVENT_DATA[type], title }
}

/** An event with the data of its type. */
const EventOfType = Type.Union(
  EVENT_TYPES.map((type) =>
    Type.Object({ ...Event.properties, type: Type.Literal(type), data: dataOf(type) }),
  ),
  { title: 'Event' },
) as unknown as typeof Event

export const listEvents = operation({
  name: 'listEvents',
  tag: 'Events',
  summary: 'List all events of the workspace',
  description:
    'Lists the newest first. With `order=oldest` the list goes forward and `next_cursor` is never null: send it again later to read further events. No event is skipped. With `wait` an empty page is answered only when an event has come or after that many seconds, 50 at most.',
  scope: 'viewer',
  query: pageQuery({
    type: Type.Optional(Type.Enum([...EVENT_TYPES])),
    order: Type.Optional(Type.Enum(['newest', 'oldest'], { description: 'newest unless given' })),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: WAIT_MOST,
        description: 'With order=oldest: seconds to wait for an event where there is none yet',
      }),
    ),
  }),
  replies: { 200: { description: 'A page of events', schema: pageOf(EventOfType) } },
  errors: ['workspace_busy'],
  async handle({ services, principal, query, signal, request }) {
    const { workspace_id } = principal
    const { wait = 0, ...asked } = query
    if (wait > 0 && query.order !== 'oldest')
      throw invalid([{ path: 'wait', message: 'goes with order=oldest: only that list goes on' }])
    let page = await services.store.listEvents({
      limit: LIMIT_DEFAULT,
      order: 'newest',
      ...asked,
      workspace_id,
    })
    if (wait === 0 || page.items.length > 0) return page
    const until = Math.min(wait, ANSWERED_BY) * 1000
    const end = services.clock.monotonic() + until
    const look = async (): Promise<boolean | undefined> => {
      for (;;) {
        // The token may be revoked by now.
        if (!(await callerOf(services, request))) return true
        const cursor = page.next_cursor!
        page = await services.store.listEvents({
          limit: LIMIT_DEFAULT,
          order: 'oldest',
          ...asked,
          cursor,
          workspace_id,
        })
        if (page.items.length > 0) return true
        // An empty page with a new cursor means that none of its events has the type. The next page is read at once.
        const isBehind = page.next_cursor !== cursor
        if (!isBehind || signal().aborted || services.clock.monotonic() >= end) return undefined
      }
    }
    const close = services.open.open(principal)
    await services.changes.until(eventsKey(workspace_id), look, until, signal()).finally(close)
    return page
  },
})

const EXAMPLE_ID = '019c0f5e-7a10-7c3b-9c55-3f0d8a1b2c3d'
const EXAMPLE_INSIGHT = '019c0f5e-9b20-7d41-8e66-4a1e9b2c3d4e'
const EXAMPLE_DELIVERY = {
  delivery_id: '019c0f5e-a1c0-7e52-9d77-5b2fac3d4e5f',
  event_id: '019c0f5e-9f00-7a63-8c88-6c30bd4e5f60',
  event_type: 'job.completed',
}
export const EXAMPLE_TIME = '2026-01-31T12:00:00.000Z'

const EXAMPLE_JOB = {
  assignment_id: EXAMPLE_ID,
  job_status: 'completed',
  insight_id: null as string | null,
  template_id: 'flight-delays',
  user_id: 'ada',
  presence_name: null,
  notify: [],
  metadata: { report: 'weekly' },
  error: null as { code: string; detail: string } | null,
  skipped: null,
  schedule_id: null,
  scheduled_for: null,
  batch_id: null,
  personal: false,
  result_url: null as string | null,
}

function endedBy(code: string, detail: string) {
  return { ...EXAMPLE_JOB, job_status: 'canceled', error: { code, detail } }
}

/** Describes every event type, with an example of its data. */
export const CATALOGUE: Record<EventType, { description: string; data: Record<string, unknown> }> = {
  'job.queued': {
    description: 'A job waits for a worker: it was run, or the worker that had it was lost.',
    data: { ...EXAMPLE_JOB, job_status: 'queued' },
  },
  'job.started': {
    description: 'The analysis of a job has begun.',
    data: { ...EXAMPLE_JOB, job_status: 'executing' },
  },
  'job.completed': {
    description: 'A job has ended with an insight.',
    data: {
      ...EXAMPLE_JOB,
      insight_id: EXAMPLE_INSIGHT,
      result_url: `/v1alpha/jobs/result?insight_id=${EXAMPLE_INSIGHT}`,
    },
  },
  'job.failed': {
    description: 'A job was canceled by anything but a person: `error` says why.',
    data: endedBy('timed_out', 'The analysis took longer than limits.timeout, 60 s.'),
  },
  'job.canceled': {
    description: 'A person canceled a job.',
    data: endedBy('canceled_by_user', 'The job was canceled by ada.'),
  },
  'schedule.failed': {
    description:
      'A schedule was due and no job could be created, because its template was changed or deleted: `error` says why. Only for webhooks whose `events` names it or is `*`.',
    data: {
      schedule_id: EXAMPLE_ID,
      name: 'Delays every morning',
      template_id: 'flight-delays',
      user_id: 'ada',
      presence_name: null,
      notify: [],
      metadata: { report: 'weekly' },
      scheduled_for: '2026-01-31T06:00:00.000Z',
      error: {
        code: 'invalid',
        detail: 'The variables do not fit the template any more: change the schedule.',
        errors: [{ path: 'template_vars.origin', message: 'The template has no variable "origin".' }],
      },
    },
  },
  'webhook.test': {
    description: 'A person tests a webhook.',
    data: { webhook_id: EXAMPLE_ID, message: 'This is a test: nothing happened, and the webhook works.' },
  },
  'subscription.confirm': {
    description:
      'New readers of a subscription are asked by mail whether they agree. It goes to that subscription alone.',
    data: { webhook_id: EXAMPLE_ID },
  },
  'webhook.failing': {
    description:
      'Every attempt of a webhook has failed for a day. It is sent once, until an attempt succeeds. Only for webhooks whose `events` names it or is `*`.',
    data: {
      webhook_id: EXAMPLE_ID,
      url: 'https://example.com/hook',
      failing_since: '2026-01-30T12:00:00.000Z',
      failing_reason: 'refused: The host refused the connection.',
      disabled_from: '2026-02-04T12:00:00.000Z',
      delivery: EXAMPLE_DELIVERY,
    },
  },
  'webhook.disabled': {
    description:
      'A webhook was disabled because its attempts failed. Only for webhooks whose `events` names it or is `*`.',
    data: {
      webhook_id: EXAMPLE_ID,
      url: 'https://example.com/hook',
      disabled_reason: 'Every attempt has failed since 2026-01-30T12:00:00.000Z.',
      delivery: EXAMPLE_DELIVERY,
    },
  },
}

/** Returns the schema of the message for an event of the type. */
export function messageOf(type: EventType) {
  return Type.Object({
    type: Type.Literal(type),
    timestamp: Type.String({ format: 'date-time' }),
    data: dataOf(type),
  })
}

function schemaOf(type: EventType): Record<string, unknown> {
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...plainSchema(messageOf(type), false) }
}

const EventKind = Type.Object(
  {
    type: Type.Enum([...EVENT_TYPES]),
    description: Type.String(),
    schema: Type.Record(Type.String(), Type.Unknown(), {
      description: 'JSON Schema of the body that is sent',
    }),
    example: Type.Record(Type.String(), Type.Unknown()),
  },
  { title: 'EventType' },
)

export const listEventTypes = operation({
  name: 'listEventTypes',
  tag: 'Events',
  summary: 'The catalogue of event types',
  scope: 'viewer',
  replies: {
    200: { description: 'Every type, with its JSON Schema and an example', schema: Type.Array(EventKind) },
  },
  handle() {
    return EVENT_TYPES.map((type) => {
      const { description, data } = CATALOGUE[type]
      return { type, description, schema: schemaOf(type), example: { type, timestamp: EXAMPLE_TIME, data } }
    })
  },
})
