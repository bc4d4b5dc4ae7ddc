/**
 * A subscription: events told to people, by mail or in a chat. It is a webhook of another kind and shares its table,
 * its deliveries and its care; only where it goes and what is said differ.
 */
import Type, { type Static } from 'typebox'
import { EVENT_TYPES } from './event.ts'
import {
  breakerView,
  RETRY_SCHEDULE,
  subscribedEvents,
  WEBHOOK_STATUSES,
  type Webhook,
  type WebhookKind,
  WebhookView,
} from './webhook.ts'

export const SUBSCRIPTION_KINDS = ['email', 'slack'] as const satisfies readonly WebhookKind[]
export type SubscriptionKind = (typeof SUBSCRIPTION_KINDS)[number]

export const RECIPIENTS_MOST = 50

/** What is sealed in `target`. `link_expires_in`: seconds that the link in a message opens the page; null: no link. */
export interface Target {
  to: string[]
  url: string | null
  link_expires_in: number | null
}

/** What a sealed target is bound to (`SecretBox`). */
export function targetContext(webhook_id: string): string {
  return `webhook:${webhook_id}:target`
}

/** What the token of an address to unsubscribe at is bound to: it holds `[workspace_id, webhook_id, recipient]`. */
export const UNSUBSCRIBE_CONTEXT = 'unsubscribe'

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const SubscriptionView = Type.Object(
  {
    subscription_id: Type.String({ format: 'uuid' }),
    kind: Type.Enum([...SUBSCRIPTION_KINDS]),
    to: Type.Array(Type.String(), { description: 'Addresses that get the mail; of a chat none' }),
    url: nullable(Type.String({ description: 'Of a chat: its host; the rest is hidden' })),
    link_expires_in: nullable(
      Type.Integer({ description: 'Seconds that the link in a message opens the page; null: no link' }),
    ),
    include_skipped: Type.Boolean({
      description: 'Whether runs that their condition skipped are told of, too',
    }),
    user_id: Type.String(),
    presence_name: Type.String(),
    events: Type.Array(Type.Enum([...EVENT_TYPES]), { description: 'The event types that it tells of' }),
    description: nullable(Type.String()),
    retry_schedule: Type.Array(Type.Number(), { description: 'Seconds between tries' }),
    max_in_flight: nullable(Type.Integer()),
    rate_per_second: nullable(Type.Number()),
    status: Type.Enum([...WEBHOOK_STATUSES]),
    disabled_reason: nullable(Type.String()),
    failing_since: nullable(Type.String({ format: 'date-time' })),
    failing_reason: WebhookView.properties.failing_reason,
    breaker: WebhookView.properties.breaker,
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Subscription' },
)
export type SubscriptionView = Static<typeof SubscriptionView>

/** The address of a chat is a secret: whoever has it may write there. */
export function hiddenUrl(url: string, fingerprint: string): string {
  return `${new URL(url).origin}/•••• ${fingerprint}`
}

/** `now`: milliseconds since 1970. */
export function subscriptionView(webhook: Webhook, target: Target, now: number): SubscriptionView {
  return {
    subscription_id: webhook.webhook_id,
    kind: webhook.kind as SubscriptionKind,
    to: target.to,
    url: webhook.kind === 'slack' ? webhook.url : null,
    link_expires_in: target.link_expires_in,
    include_skipped: webhook.tells_skipped,
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
    created_at: webhook.created_at,
    updated_at: webhook.updated_at,
  }
}

/** As the HTML standard has it (https://html.spec.whatwg.org/#valid-e-mail-address), within the lengths of RFC 5321. */
const ADDRESS =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/

/** Whether it is one plain address: no name, no list, nothing that could begin another line of a header. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && ADDRESS.test(text)
}

/** "Name <address>" or an address; null: neither. */
export function parseMailbox(text: string): { name: string; address: string } | null {
  const match = /^(?:"?([^"<>\r\n]*?)"?\s*<([^<>\s]+)>|([^<>\s]+))$/.exec(text.trim())
  const address = match?.[2] ?? match?.[3]
  if (address === undefined || !isMailAddress(address)) return null
  return { name: match?.[1] ?? '', address }
}
