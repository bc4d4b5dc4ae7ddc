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
  /** The mail server refused it. */
  'smtp_status',
  'response_invalid',
  /** Nothing was sent: a stored secret cannot be opened, or a stored value cannot be put on the wire. */
  'request_invalid',
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
        cut: Type.Optional(
          Type.Object(
            {
              read_bytes: Type.Integer({ minimum: 0, description: 'So much of the body was read' }),
              total_bytes: nullable(
                Type.Integer({ minimum: 0, description: 'So long the body is; null: nobody said so' }),
              ),
              sha256: Type.String({ description: 'Of the bytes that were read, in hex' }),
            },
            { description: 'Where `truncated`: what the body was, to compare with what was sent' },
          ),
        ),
      }),
    ),
  },
  { title: 'Attempt' },
)
export type Attempt = Static<typeof Attempt>

/** An attempt as it is kept: what was sent is the event's text, the same in every attempt, and is not kept again. */
export interface AttemptRecord extends Omit<Attempt, 'request'> {
  request: Omit<Attempt['request'], 'body'> & {
    /** Where something else was sent than the event's text: a mail, a message in a chat. */
    body?: string
  }
}

/** `body`: the event's text. */
export function toAttempt(record: AttemptRecord, body: string): Attempt {
  // Those of before were kept with it.
  return { ...record, request: { body, ...record.request } }
}

export const DeliveryView = Type.Object(
  {
    delivery_id: Type.String({ format: 'uuid' }),
    event_id: Type.String({ format: 'uuid' }),
    event_type: Type.Enum([...EVENT_TYPES]),
    webhook_id: Type.String({ format: 'uuid', description: 'Of the webhook, or of the subscription' }),
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

/** Deliveries made anew from the past of a webhook, in the background. */
export const RecoveryView = Type.Object(
  {
    recovery_id: Type.String({ format: 'uuid' }),
    webhook_id: Type.String({ format: 'uuid' }),
    status: Type.Enum(['running', 'completed']),
    done: Type.Integer({ minimum: 0, description: 'Deliveries made so far' }),
    count: Type.Integer({ minimum: 0, description: 'Deliveries to make, as counted at the start' }),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Recovery' },
)
export type Recovery = Static<typeof RecoveryView>

/** What became of a webhook's attempts. Percentiles are those of the delivered ones, within 5 %. */
export const WebhookStats = Type.Object(
  {
    sent: Type.Integer({ minimum: 0, description: 'Attempts that were answered with a 2xx' }),
    failed: Type.Integer({ minimum: 0, description: 'Attempts that failed' }),
    p50_ms: nullable(Type.Number()),
    p95_ms: nullable(Type.Number()),
    p99_ms: nullable(Type.Number()),
    hours: Type.Array(
      Type.Object({
        hour: Type.String({ format: 'date-time', description: 'Its beginning' }),
        sent: Type.Integer({ minimum: 0 }),
        failed: Type.Integer({ minimum: 0 }),
      }),
      { description: 'Oldest first; hours without attempts are left out' },
    ),
  },
  { title: 'WebhookStats' },
)
export type WebhookStats = Static<typeof WebhookStats>

/** Attempts of one hour in one bucket of duration (`latencyBucket`); bucket null: the failed ones. */
export interface AttemptCount {
  hour: string
  bucket: number | null
  count: number
}

const GROWTH = 1.1

/** The bucket of a duration: each is a tenth wider than the one before, so a percentile is known within 5 %. */
export function latencyBucket(durationMs: number): number {
  return durationMs <= 1 ? 0 : Math.ceil(Math.log(durationMs) / Math.log(GROWTH))
}

function bucketMiddle(bucket: number): number {
  return Math.round(GROWTH ** (bucket - 0.5) * 10) / 10
}

/** The counts of `latencyBucket` as statistics; in any order. Keeping counts makes reading cheap at any volume. */
export function webhookStats(counts: readonly AttemptCount[]): WebhookStats {
  const hours = new Map<string, { hour: string; sent: number; failed: number }>()
  const buckets = new Map<number, number>()
  let sent = 0
  let failed = 0
  for (const { hour, bucket, count } of counts) {
    const row = hours.get(hour) ?? { hour, sent: 0, failed: 0 }
    hours.set(hour, row)
    if (bucket === null) {
      row.failed += count
      failed += count
    } else {
      row.sent += count
      sent += count
      buckets.set(bucket, (buckets.get(bucket) ?? 0) + count)
    }
  }
  const sorted = [...buckets].toSorted(([a], [b]) => a - b)
  const percentile = (share: number): number | null => {
    let seen = 0
    for (const [bucket, count] of sorted) {
      seen += count
      if (seen >= share * sent) return bucketMiddle(bucket)
    }
    return null
  }
  return {
    sent,
    failed,
    p50_ms: percentile(0.5),
    p95_ms: percentile(0.95),
    p99_ms: percentile(0.99),
    hours: [...hours.values()].toSorted((a, b) => (a.hour < b.hour ? -1 : 1)),
  }
}
