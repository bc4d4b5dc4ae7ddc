/**
 * A webhook: an address that gets events, the types it gets, and its health. This file holds the rules: which events it
 * gets, when it is disabled, when the breaker opens. Mail and chat are webhooks of another kind (see subscription.ts).
 */
import type { Static } from 'typebox'
import { AppError } from '../errors.ts'
import {
  ENDING_EVENTS,
  EVENT_TYPES,
  type EventType,
  type FailingEventData,
  type TriedDelivery,
} from '../event.ts'
import { nullable, Type } from '../schema.ts'

export const WEBHOOK_STATUSES = ['enabled', 'disabled'] as const
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number]

// `reader`: the mail to one reader, which no operation on webhooks or subscriptions finds.
// `openlineage`: a webhook whose requests are in that format.
const WEBHOOK_KINDS = ['webhook', 'openlineage', 'email', 'slack', 'reader'] as const
export type WebhookKind = (typeof WEBHOOK_KINDS)[number]

export const FORMATS = ['standard', 'openlineage'] as const
export type Format = (typeof FORMATS)[number]
/** The kinds that the operations on webhooks find. */
export const PROGRAM_KINDS = ['webhook', 'openlineage'] as const satisfies readonly WebhookKind[]

/** The most webhooks of a workspace. One event may go to all of them, in the transaction of its change. */
export const WEBHOOKS_MOST = 500
/** The most subscriptions of a workspace, not counting those of its readers. */
export const SUBSCRIPTIONS_MOST = 1000

/** The event types that OpenLineage has a name for. */
export const LINEAGE_EVENTS: readonly EventType[] = ['job.started', ...ENDING_EVENTS]

/** The name in `webhook_events` of a webhook that gets every run of a workspace. No presence name is empty. */
export const EVERY_NAME = ''

/**
 * A header value as the store keeps it: sealed, with a fingerprint (the first 8 hex digits of its SHA-256) for people to
 * compare. A value declared public is also kept as plain text.
 */
export interface SealedHeader {
  name: string
  sealed: string
  fingerprint: string
  public_value?: string
}

/** A signing key as the store keeps it. `expires_at` is null for the present key; an older key signs until then. */
export interface SealedSecret {
  sealed: string
  expires_at: string | null
}

export const SIGNATURES = ['v1', 'v1a'] as const
export type SignatureVersion = (typeof SIGNATURES)[number]

/** Seconds between tries, each with 20 % jitter. The first try is immediate. */
export const RETRY_SCHEDULE: readonly number[] = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

/** The health of a webhook. All fields are null after a success. */
export interface Health {
  /** The time since which every attempt has failed. */
  failing_since: string | null
  /** The class and the detail of the last error. */
  failing_reason: string | null
  /** The time at which `webhook.failing` was sent, once for each period of failure. */
  warned_at: string | null
}

export interface Webhook extends Health {
  webhook_id: string
  workspace_id: string
  kind: WebhookKind
  /** The sealed target of a subscription (see subscription.ts); null for the kind `webhook`. */
  target: string | null
  /** The address. For a subscription it is the part of its target that is not secret. */
  url: string
  headers: SealedHeader[]
  user_id: string
  presence_name: string
  /** The types as they were given. Null means the three types that end a job, `*` all types. */
  events: (EventType | '*')[] | null
  description: string | null
  signature: SignatureVersion
  /** The signing keys, newest first. */
  secrets: SealedSecret[]
  public_key: string | null
  retry_schedule: number[] | null
  max_in_flight: number | null
  rate_per_second: number | null
  status: WebhookStatus
  disabled_reason: string | null
  /** True if it gets events of jobs that were skipped by their condition. */
  tells_skipped: boolean
  /** True if it is the own subscription of its user, whom a job notifies by `notify: ["me"]`. */
  personal: boolean
  /** The objects that it follows (see subscription.ts); null for none. */
  follows: string[] | null
  /** The number of failed attempts in a row, for the breaker. */
  failures: number
  open_until: string | null
  /** The time until which the rules of its workspace hold its deliveries back, and the reason; null if they do not. */
  held_until: string | null
  held_reason: string | null
  created_at: string
  updated_at: string
}

const BREAKER_STATES = ['closed', 'open', 'half_open'] as const

/** The fields that the answers of a webhook and of a subscription share. */
export const ReceiverFields = {
  user_id: Type.String(),
  presence_name: Type.String(),
  events: Type.Array(Type.Enum([...EVENT_TYPES]), { description: 'The event types that it receives' }),
  description: nullable(Type.String()),
  retry_schedule: Type.Array(Type.Number(), { description: 'Seconds between tries' }),
  max_in_flight: nullable(Type.Integer()),
  rate_per_second: nullable(Type.Number()),
  status: Type.Enum([...WEBHOOK_STATUSES]),
  disabled_reason: nullable(Type.String()),
  failing_since: nullable(
    Type.String({ format: 'date-time', description: 'The time since which every attempt has failed' }),
  ),
  failing_reason: nullable(Type.String({ description: 'Class and detail of the last error' })),
  breaker: Type.Object(
    {
      state: Type.Enum([...BREAKER_STATES], {
        description:
          'closed: deliveries go out. open: nothing is sent before `until`. half_open: one at a time, until one succeeds',
      }),
      failures: Type.Integer({
        minimum: 0,
        description: 'Failed attempts in a row',
      }),
      until: nullable(Type.String({ format: 'date-time' })),
    },
    {
      description:
        'Sending stops for a while after five failures in a row, or at the request of the receiver',
    },
  ),
  held_reason: nullable(
    Type.String({
      description:
        'Why its deliveries are held back: a budget, the hosts or the stop of its workspace. They go out afterwards',
    }),
  ),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
}

/** A webhook as the API answers it. Only creation and rotation add a secret, as `signing_secret`. */
export const WebhookView = Type.Object(
  {
    webhook_id: Type.String({ format: 'uuid' }),
    url: Type.String(),
    headers: Type.Array(
      Type.Object({
        name: Type.String(),
        value: Type.String({ description: 'Hidden, •••• and a fingerprint, unless it is public' }),
        public: Type.Boolean(),
      }),
    ),
    format: Type.Enum([...FORMATS], { description: 'What the requests hold' }),
    signature: Type.Enum([...SIGNATURES]),
    public_key: nullable(Type.String()),
    ...ReceiverFields,
  },
  { title: 'Webhook' },
)
export type WebhookView = Static<typeof WebhookView>

/** Returns the context with which a header value is sealed (`SecretBox`). It opens for this webhook and this name only. */
export function headerContext(webhook_id: string, name: string): string {
  return `webhook:${webhook_id}:header:${name.toLowerCase()}`
}

export function secretContext(webhook_id: string): string {
  return `webhook:${webhook_id}:secret`
}

export const HEADERS_MOST = 50

/** A change of one header. `sealed` null removes the header of this name, whatever its case. */
export interface HeaderChange {
  name: string
  sealed: SealedHeader | null
}

/**
 * Returns the headers after a change by name. Headers that are not named stay; a null change removes all. Throws
 * `invalid` if there are too many.
 */
export function changedHeaders(
  present: readonly SealedHeader[],
  change: readonly HeaderChange[] | null,
): SealedHeader[] {
  const changed = new Map(
    change === null ? [] : present.map((header) => [header.name.toLowerCase(), header] as const),
  )
  for (const { name, sealed } of change ?? []) {
    if (sealed === null) changed.delete(name.toLowerCase())
    else changed.set(name.toLowerCase(), sealed)
  }
  if (changed.size <= HEADERS_MOST) return [...changed.values()]
  const message = `would make ${changed.size} headers: a webhook has at most ${HEADERS_MOST}`
  throw new AppError('invalid', `headers: ${message}. Remove some with null.`, {
    errors: [{ path: 'headers', message }],
  })
}

/** The most secrets that sign at once. Each adds a signature to every request, and receivers limit their headers. */
const SECRETS_MOST = 5

/**
 * Returns the secrets after a rotation, newest first. Older ones sign for at most the overlap; 0 removes a leaked one
 * at once.
 */
export function rotatedSecrets(
  present: readonly SealedSecret[],
  rotation: { sealed: string; overlap_ms: number },
  now: number,
): SealedSecret[] {
  const until = new Date(now + rotation.overlap_ms).toISOString()
  const older = present
    .map(({ sealed, expires_at }) => ({
      sealed,
      expires_at: expires_at === null || expires_at > until ? until : expires_at,
    }))
    .filter((secret) => Date.parse(secret.expires_at) > now)
  return [{ sealed: rotation.sealed, expires_at: null }, ...older].slice(0, SECRETS_MOST)
}

/** Returns the value of a public header, and the fingerprint of any other. */
export function shownValue(header: SealedHeader): string {
  return header.public_value ?? `•••• ${header.fingerprint}`
}

/** Returns the values of `ReceiverFields`. `now`: milliseconds since 1970. */
export function receiverView(webhook: Webhook, now: number): Pick<WebhookView, keyof typeof ReceiverFields> {
  return {
    user_id: webhook.user_id,
    presence_name: webhook.presence_name,
    events: subscribedEvents(webhook),
    description: webhook.description,
    retry_schedule: webhook.retry_schedule ?? [...RETRY_SCHEDULE],
    max_in_flight: webhook.max_in_flight,
    rate_per_second: webhook.rate_per_second,
    status: webhook.status,
    disabled_reason: webhook.disabled_reason,
    failing_since: webhook.failing_since,
    failing_reason: webhook.failing_reason,
    breaker: breakerView(webhook, now),
    held_reason: webhook.held_reason,
    created_at: webhook.created_at,
    updated_at: webhook.updated_at,
  }
}

/** Returns the webhook as the API answers it. `now`: milliseconds since 1970. */
export function webhookView(webhook: Webhook, now: number): WebhookView {
  return {
    webhook_id: webhook.webhook_id,
    url: webhook.url,
    headers: webhook.headers.map((header) => ({
      name: header.name,
      value: shownValue(header),
      public: header.public_value !== undefined,
    })),
    format: webhook.kind === 'openlineage' ? ('openlineage' as const) : ('standard' as const),
    signature: webhook.signature,
    public_key: webhook.public_key,
    ...receiverView(webhook, now),
  }
}

function isEventType(name: string): name is EventType {
  return (EVENT_TYPES as readonly string[]).includes(name)
}

/**
 * Returns the event types that a webhook gets. If its `presence_name` is the name of an event type, it gets only that
 * type, and only if `events` does not exclude it.
 */
export function subscribedEvents(webhook: Pick<Webhook, 'presence_name' | 'events'>): EventType[] {
  const named =
    webhook.events === null || webhook.events.includes('*') ? EVENT_TYPES : webhook.events.filter(isEventType)
  if (isEventType(webhook.presence_name)) {
    const only = webhook.presence_name
    return named.includes(only) ? [only] : []
  }
  return webhook.events === null ? [...ENDING_EVENTS] : [...named]
}

/** The audience of a job's events. */
export interface Audience {
  presence_name: string | null
  /** The ids of subscriptions; null for none. */
  notify: readonly string[] | null
  skipped: string | null
  /** True if the job belongs to one reader. Subscriptions with its presence name are then not notified. */
  personal?: boolean
}

/** Tells whether the webhook sends mail. */
export function sendsMail(webhook: Pick<Webhook, 'kind'> | null): webhook is Webhook {
  return webhook?.kind === 'email' || webhook?.kind === 'reader'
}

/** Tells whether the webhook is a subscription, whose events go to people. */
export function tellsPeople({ kind }: Pick<Webhook, 'kind'>): boolean {
  return kind !== 'webhook' && kind !== 'openlineage'
}

/**
 * Tells whether a webhook or a subscription gets an event. A job with a `presence_name` notifies those with the same
 * name; a job without one notifies all webhooks of its workspace and no subscription. `notify` adds the subscriptions
 * that it names. Webhooks for lineage get every run. A job skipped by its condition notifies those with
 * `tells_skipped`. A personal job notifies no people but those in `notify`. `job` is null for an event of no job,
 * which notifies all.
 */
export function notifies(
  webhook: Pick<Webhook, 'webhook_id' | 'kind' | 'presence_name' | 'events' | 'status' | 'tells_skipped'>,
  event: EventType,
  job: Audience | null,
): boolean {
  if (webhook.status !== 'enabled' || !subscribedEvents(webhook).includes(event)) return false
  if (job === null) return true
  if (job.skipped !== null && !webhook.tells_skipped) return false
  if (webhook.kind === 'openlineage') return true
  const named = job.presence_name === webhook.presence_name
  if (named && !(job.personal && tellsPeople(webhook))) return true
  if (!tellsPeople(webhook)) return job.presence_name === null
  return job.notify?.includes(webhook.webhook_id) ?? false
}

/** The most requests at a time to one webhook, unless it sets its own number. */
export const MAX_IN_FLIGHT = 8

export const HEALTHY: Health = { failing_since: null, failing_reason: null, warned_at: null }

export function healthAfter(
  health: Health,
  delivered: boolean,
  error: { class: string; detail: string } | null,
  at: string,
): Health {
  if (delivered) return HEALTHY
  const { failing_since, failing_reason, warned_at } = health
  return {
    failing_since: failing_since ?? at,
    failing_reason: error === null ? failing_reason : `${error.class}: ${error.detail}`,
    warned_at,
  }
}

const DAY_MS = 86_400_000
/** A webhook is disabled after this many days without a success. */
const FAILING_DAYS_MAX = 5
/** `webhook.failing` is sent once after this many days without a success. */
const FAILING_DAYS_TO_WARN = 1

function failsFor(days: number, { failing_since }: Pick<Webhook, 'failing_since'>, now: number): boolean {
  return failing_since !== null && now - Date.parse(failing_since) >= days * DAY_MS
}

export function failsForTooLong(webhook: Pick<Webhook, 'failing_since'>, now: number): boolean {
  return failsFor(FAILING_DAYS_MAX, webhook, now)
}

/** Tells whether `webhook.failing` must be sent now. */
export function isWarningDue(webhook: Pick<Webhook, 'failing_since' | 'warned_at'>, now: number): boolean {
  return webhook.warned_at === null && failsFor(FAILING_DAYS_TO_WARN, webhook, now)
}

/** Returns the data of the event `webhook.failing`. The webhook must be failing. */
export function failingData(
  { webhook_id, url, failing_since, failing_reason }: Pick<Webhook, 'webhook_id' | 'url'> & Health,
  delivery: TriedDelivery,
): FailingEventData {
  const disabled_from = new Date(Date.parse(failing_since!) + FAILING_DAYS_MAX * DAY_MS).toISOString()
  return {
    webhook_id,
    url,
    failing_since: failing_since!,
    failing_reason: failing_reason!,
    disabled_from,
    delivery,
  }
}

/**
 * The circuit breaker of a webhook. It is closed while `failures` (failed attempts in a row, of any delivery) is
 * below 5. Then it is open until `open_until`. After that one probe at a time is sent: a success closes the breaker,
 * a failure opens it for twice as long. A receiver's Retry-After moves `open_until` too.
 */
export interface Breaker {
  failures: number
  open_until: string | null
}

export const CLOSED: Breaker = { failures: 0, open_until: null }
const FAILURES_TO_OPEN = 5
const OPEN_MS_FIRST = 30_000
const OPEN_MS_MOST = 300_000

export function breakerView(breaker: Breaker, now: number): WebhookView['breaker'] {
  const held = breaker.open_until !== null && Date.parse(breaker.open_until) > now
  const state = held ? 'open' : isOpen(breaker) ? 'half_open' : 'closed'
  return { state, failures: breaker.failures, until: held ? breaker.open_until : null }
}

export function isOpen(breaker: Breaker): boolean {
  return breaker.failures >= FAILURES_TO_OPEN
}

/**
 * Returns the breaker after an attempt. `holdMs`: the pause that the receiver asked for. An attempt that started
 * before the breaker opened is not a probe: its failure can only lengthen the pause, and its success does not end a
 * requested pause.
 */
export function breakerAfter(breaker: Breaker, delivered: boolean, now: number, holdMs = 0): Breaker {
  const until = breaker.open_until === null ? 0 : Date.parse(breaker.open_until)
  const held = now < until
  if (delivered) return held && !isOpen(breaker) ? { ...breaker, failures: 0 } : CLOSED
  const failures = held ? breaker.failures : breaker.failures + 1
  const opens = !held && failures >= FAILURES_TO_OPEN
  const openMs = opens ? Math.min(OPEN_MS_FIRST * 2 ** (failures - FAILURES_TO_OPEN), OPEN_MS_MOST) : 0
  const next = Math.max(until, now + openMs, now + holdMs)
  return { failures, open_until: next > now ? new Date(next).toISOString() : null }
}
