/** Seals and opens the target of a subscription: the addresses of its readers, or that of a chat. */

import { type Target, targetContext } from '@assay/model/subscription'
import type { Webhook } from '@assay/model/webhook'
import type { SecretBox } from '../runtime/secrets.ts'

/** Opens the target. Throws SecretError if it was sealed with an unknown key. */
export function openTarget(
  box: SecretBox,
  { webhook_id, target }: Pick<Webhook, 'webhook_id' | 'target'>,
): Target {
  const stored = JSON.parse(box.open(target ?? '', targetContext(webhook_id))) as Partial<Target>
  return { to: [], url: null, link_expires_in: null, subject: 'title', attach: null, ...stored }
}

export function sealTarget(box: SecretBox, webhook_id: string, target: Target): string {
  return box.seal(JSON.stringify(target), targetContext(webhook_id))
}
