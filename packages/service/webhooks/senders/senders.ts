/** The senders of subscriptions, by kind. */

import { CONFIRM_CONTEXT, type SubscriptionKind, UNSUBSCRIBE_CONTEXT } from '@assay/model/subscription'
import type { Webhook } from '@assay/model/webhook'
import type { Guard } from '@assay/net/guard'
import type { Targets } from '@assay/net/target'
import { createEmailSender, type EmailOptions } from './email.ts'
import type { Sender } from './sender.ts'
import { createSlackSender } from './slack.ts'

/** The senders by kind. `reader` sends the mail to one reader. */
export type Senders = Record<SubscriptionKind | 'reader', Sender>

export interface SenderOptions extends Omit<EmailOptions, 'unsubscribe' | 'confirm'> {
  targets: Targets
  /** The version of this program. */
  version: string
  /** The time in milliseconds for one exchange with a chat (default 15,000). */
  deadline?: number
}

/** Makes the senders. `guard` connects to chats. The mail server is the operator's own and needs no guard. */
export function createSenders(options: SenderOptions, guard: Guard): Senders {
  const { box, publicUrl } = options
  const sealedAt =
    (page: string, context: string) =>
    ({ workspace_id, webhook_id }: Webhook, to: string): string | null =>
      publicUrl &&
      `${publicUrl}/${page}/${box.sealForOthers(JSON.stringify([workspace_id, webhook_id, to]), context)}`
  const unsubscribe = sealedAt('unsubscribe', UNSUBSCRIBE_CONTEXT)
  const confirm = sealedAt('confirm', CONFIRM_CONTEXT)
  const email = createEmailSender({ ...options, unsubscribe, confirm })
  return {
    email,
    reader: email,
    slack: createSlackSender({ ...options, guard }),
  }
}
