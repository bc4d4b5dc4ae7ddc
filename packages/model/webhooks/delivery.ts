/**
 * A delivery: one event to one webhook, with its attempts.
 *
 *   pending -> delivered | failed | canceled       (while pending it is claimed, tried, and waits for the next try)
 */
import type { Static } from 'typebox'
import { EVENT_TYPES } from '../event.ts'
import { nullable, Type } from '../schema.ts'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'canceled'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]
/** The states that end a delivery. */
export const ENDED: readonly DeliveryStatus[] = DELIVERY_STATUSES.filter((status) => status !== 'pending')

const ATTEMPT_ERRORS = [
  'dns',
  'refused',
  'reset',
  'tls',
  'timeout',
  'ssrf_blocked',
  'http_status',
  /** The mail server refused the mail. */
  'smtp_status',
  'response_invalid',
  /** Nothing was sent: a stored secret cannot be opened, or a stored value cannot be put on the wire. */
  'request_invalid',
] as const
export type AttemptErrorClass = (typeof ATTEMPT_ERRORS)[number]

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
              read_bytes: Type.Integer({ minimum: 0, description: 'The bytes of the body that were read' }),
              total_bytes: nullable(
                Type.Integer({
                  minimum: 0,
                  description: 'The length of the body; null if the receiver did not say',
                }),
              ),
              sha256: Type.String({ description: 'SHA-256 of the bytes that were read, in hex' }),
            },
            {
              description: 'Present if `truncated`: identifies the whole body, to compare with what was sent',
            },
          ),
        ),
      }),
    ),
  },
  { title: 'Attempt' },
)
export type Attempt = Static<typeof Attempt>

/** An attempt as the store keeps it. It lacks the event's text, which is the same in every attempt and kept once. */
export interface AttemptRecord extends Omit<Attempt, 'request'> {
  request: Omit<Attempt['request'], 'body'> & {
    /** The text that was sent, if it is not the event's text: a mail or a chat message. */
    body?: string
  }
}

/** Returns the attempt as the API shows it. `body` is the event's text. */
export function toAttempt(record: AttemptRecord, body: string): Attempt {
  // Older records hold the body themselves.
  return { ...record, request: { body, ...record.request } }
}

export const DeliveryView = Type.Object(
  {
    delivery_id: Type.String({ format: 'uuid' }),
    event_id: Type.String({ format: 'uuid' }),
    event_type: Type.Enum([...EVENT_TYPES]),
    webhook_id: Type.String({ format: 'uuid', description: 'The id of the webhook or the subscription' }),
    assignment_id: nullable(Type.String({ format: 'uuid' })),
    status: Type.Enum([...DELIVERY_STATUSES]),
    attempt_count: Type.Integer({ minimum: 0 }),
    next_attempt_at: nullable(Type.String({ format: 'date-time' })),
    created_at: Type.String({ format: 'date-time' }),
    title: Type.Optional(
      nullable(
        Type.String({
          description:
            'In lists and in the answer to a reading: the title of its job, as the list of jobs has it; null without a job that the caller may read',
        }),
      ),
    ),
  },
  { title: 'Delivery' },
)
export type DeliveryView = Static<typeof DeliveryView>

/** A delivery as the store returns it. */
export interface Delivery extends Omit<DeliveryView, 'title'> {
  workspace_id: string
}

/** A recovery: past events of a webhook delivered again, in the background. */
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

/** Counts of a webhook's attempts. Percentiles are of the delivered ones, within 5 %. */
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

/** The attempts of one hour in one bucket of duration (`latencyBucket`); bucket null counts the failed ones. */
export interface AttemptCount {
  hour: string
  bucket: number | null
  count: number
}

const GROWTH = 1.1

/** Returns the bucket of a duration. Each is a tenth wider than the one before, so a percentile is exact within 5 %. */
export function latencyBucket(durationMs: number): number {
  return durationMs <= 1 ? 0 : Math.ceil(Math.log(durationMs) / Math.log(GROWTH))
}

function bucketMiddle(bucket: number): number {
  return Math.round(GROWTH ** (bucket - 0.5) * 10) / 10
}

/** Computes statistics from counts in any order. Reading counts is cheap at any volume of attempts. */
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
