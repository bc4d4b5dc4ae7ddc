/** Where a subscription goes, opened. */

import { type Target, targetContext } from '@assay/model/subscription'
import type { Webhook } from '@assay/model/webhook'
import type { SecretBox } from '../../runtime/secrets.ts'

/** Throws SecretError where it was sealed with a key that is not at hand. */
export function openTarget(
  box: SecretBox,
  { webhook_id, target }: Pick<Webhook, 'webhook_id' | 'target'>,
): Target {
  return JSON.parse(box.open(target ?? '', targetContext(webhook_id))) as Target
}
