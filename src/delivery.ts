/**
 * A delivery: one event on its way to one webhook, with the attempts made.
 *
 *   pending -> delivered | failed | canceled       (a pending one is claimed, tried, and waits for the next try)
 */
import Type, { type Static } from 'typebox'
import { EVENT_TYPES } from './event.ts'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'canceled'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

export const ATTEMPT_ERRORS = [
  'dns',
  'refused',
  'reset',
  'tls',
  'timeout',
  'ssrf_blocked',
  'http_status',
  'response_invalid',
] as const
export type AttemptErrorClass = (typeof ATTEMPT_ERRORS)[number]

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const milliseconds = nullable(Type.Number({ description: 'Milliseconds' }))

export const Attempt = Type.Object(
  {
    number: Type.Integer({ minimum: 1 }),
    started_at: Type.String({ format: 'date-time' }),
    duration_ms: Type.Number(),
    status_code: nullable(Type.Integer()),
    error: nullable(Type.Object({ class: Type.Enum([...ATTEMPT_ERRORS]), detail: Type.String() })),
    phases: Type.Object({
      dns: milliseconds,
      connect: milliseconds,
      tls: milliseconds,
      first_byte: milliseconds,
      total: Type.Number(),
    }),
    request: Type.Object({
      method: Type.String(),
      url: Type.String(),
      headers: Type.Record(Type.String(), Type.String(), { description: 'Registered values hidden' }),
      body: Type.String(),
    }),
    response: nullable(
      Type.Object({
        headers: Type.Record(Type.String(), Type.String()),
        body: Type.String({ description: 'The first 16 KiB' }),
        truncated: Type.Boolean(),
      }),
    ),
  },
  { title: 'Attempt' },
)
export type Attempt = Static<typeof Attempt>

export const DeliveryView = Type.Object(
  {
    delivery_id: Type.String({ format: 'uuid' }),
    event_id: Type.String({ format: 'uuid' }),
    event_type: Type.Enum([...EVENT_TYPES]),
    webhook_id: Type.String({ format: 'uuid' }),
    assignment_id: nullable(Type.String({ format: 'uuid' })),
    status: Type.Enum([...DELIVERY_STATUSES]),
    attempt_count: Type.Integer({ minimum: 0 }),
    next_attempt_at: nullable(Type.String({ format: 'date-time' })),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Delivery' },
)
export type DeliveryView = Static<typeof DeliveryView>

/** A delivery as the store gives it back. */
export interface Delivery extends DeliveryView {
  workspace_id: string
}
