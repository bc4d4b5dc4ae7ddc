/**
 * A subscription: sends events to people by mail or chat. It is stored as a webhook of another kind, with the same
 * deliveries, retries, breaker and statistics; only the target and the text differ.
 */
import type { Static } from 'typebox'
import { nullable, Type } from '../schema.ts'
import { ReceiverFields, receiverView, type Webhook, type WebhookKind } from './webhook.ts'

export const SUBSCRIPTION_KINDS = ['email', 'slack'] as const satisfies readonly WebhookKind[]
export type SubscriptionKind = (typeof SUBSCRIPTION_KINDS)[number]

export const RECIPIENTS_MOST = 50
export const FOLLOWS_MOST = 100

/** The word in `notify` for the subscriptions that follow the template of the run. */
export const FOLLOWERS = 'followers'
/** The word in `notify` of a personal run for its reader, at the address of the reader. */
export const READER = 'reader'

/** Returns the text in `follows` for an object that a subscription follows. */
export function followed(noun: 'template' | 'schedule' | 'collection' | 'metric', id: string): string {
  return `${noun}:${id}`
}

/** The subjects of a mail: the title of the insight, or its first figure with the title. */
export const SUBJECTS = ['title', 'figure'] as const
/** The files that may be attached to a mail. */
export const ATTACHMENTS = ['pdf'] as const

/**
 * The target, which is stored sealed. `link_expires_in`: seconds for which the link in a message is valid; null for
 * no link.
 */
export interface Target {
  to: string[]
  url: string | null
  link_expires_in: number | null
  subject: (typeof SUBJECTS)[number]
  attach: (typeof ATTACHMENTS)[number] | null
  /** The addresses of `to` that get nothing before their owners agree, each with the time since which it waits. */
  unconfirmed?: Record<string, string>
  /** The addresses whose owners have left since somebody last wrote `to`. Only they can put themselves back. */
  left?: string[]
}

/** Returns the context with which a target is sealed (`SecretBox`). */
export function targetContext(webhook_id: string): string {
  return `webhook:${webhook_id}:target`
}

/** The reason of a subscription that is disabled because nobody reads it any more. */
export const LAST_LEFT = 'The last reader unsubscribed.'

/** The context of the token in an address at which a reader agrees, which holds `[workspace_id, webhook_id, recipient]`. */
export const CONFIRM_CONTEXT = 'confirm'

/** The context of the token in an unsubscribe address, which holds `[workspace_id, webhook_id, recipient]`. */
export const UNSUBSCRIBE_CONTEXT = 'unsubscribe'

export const SubscriptionView = Type.Object(
  {
    subscription_id: Type.String({ format: 'uuid' }),
    kind: Type.Enum([...SUBSCRIPTION_KINDS]),
    to: Type.Array(Type.String(), { description: 'The addresses that get the mail; empty for a chat' }),
    waiting: Type.Array(
      Type.Object({
        to: Type.String(),
        reason: Type.Enum(['unconfirmed', 'left'], {
          description:
            'unconfirmed: its owner has not agreed yet. left: its owner has unsubscribed, and can return by the page in an earlier mail',
        }),
      }),
      { description: 'Addresses of `to` that get no mail before their owners agree' },
    ),
    url: nullable(Type.String({ description: 'The host of a chat; the rest of the address is hidden' })),
    link_expires_in: nullable(
      Type.Integer({ description: 'Seconds that the link in a message is valid; null: no link' }),
    ),
    subject: Type.Enum([...SUBJECTS], {
      description: 'What the subject of a mail says: the title, or the first figure with the title',
    }),
    attach: nullable(Type.Enum([...ATTACHMENTS], { description: 'What is attached to a mail' })),
    include_skipped: Type.Boolean({
      description: 'Whether events of jobs that were skipped by their condition are sent',
    }),
    personal: Type.Boolean({
      description: 'Whether it is the own subscription of its user, whom a job tells by `notify: ["me"]`',
    }),
    follows: Type.Array(Type.String(), {
      description:
        'Schedules (`schedule:ID`), of which it gets each run; templates (`template:ID`), of which it gets the runs that are sent to "followers"; collections (`collection:ID`), of which it gets the runs of series that schedules make or that are sent to "followers"',
    }),
    ...ReceiverFields,
  },
  { title: 'Subscription' },
)
export type SubscriptionView = Static<typeof SubscriptionView>

/** Returns the address of a chat without its secret part. Anyone who has the full address can post there. */
export function hiddenUrl(url: string, fingerprint: string): string {
  return `${new URL(url).origin}/•••• ${fingerprint}`
}

/** Returns the subscription as the API answers it. `now`: milliseconds since 1970. */
export function subscriptionView(
  webhook: Webhook,
  { target, waiting }: { target: Target; waiting: SubscriptionView['waiting'] },
  now: number,
): SubscriptionView {
  return {
    subscription_id: webhook.webhook_id,
    kind: webhook.kind as SubscriptionKind,
    to: target.to,
    waiting,
    url: webhook.kind === 'slack' ? webhook.url : null,
    link_expires_in: target.link_expires_in,
    subject: target.subject,
    attach: target.attach,
    include_skipped: webhook.tells_skipped,
    personal: webhook.personal,
    follows: webhook.follows ?? [],
    ...receiverView(webhook, now),
  }
}

/** The pattern of the HTML standard (https://html.spec.whatwg.org/#valid-e-mail-address) with the lengths of RFC 5321. */
const ADDRESS =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/

/** Tells whether the text is one plain address: no name, no list, no line break that could start another header. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && ADDRESS.test(text)
}

/** Reads "Name <address>" or an address. Returns null for any other text. */
export function parseMailbox(text: string): { name: string; address: string } | null {
  const match = /^(?:"?([^"<>\r\n]*?)"?\s*<([^<>\s]+)>|([^<>\s]+))$/.exec(text.trim())
  const address = match?.[2] ?? match?.[3]
  if (address === undefined || !isMailAddress(address)) return null
  return { name: match?.[1] ?? '', address }
}
