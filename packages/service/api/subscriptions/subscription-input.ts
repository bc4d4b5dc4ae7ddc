/** What a client may set of a subscription: its readers, its events, and the pace of its deliveries. */

import type { FieldError } from '@assay/model/errors'
import { LINK_SECONDS } from '@assay/model/link'
import { nullable, Type } from '@assay/model/schema'
import {
  ATTACHMENTS,
  FOLLOWS_MOST,
  isMailAddress,
  RECIPIENTS_MOST,
  SUBJECTS,
  SUBSCRIPTION_KINDS,
  type SubscriptionKind,
} from '@assay/model/subscription'
import type { Principal } from '@assay/model/token'
import type { Static } from 'typebox'
import type { Services } from '../dependencies.ts'
import { Name } from '../http/fields.ts'
import { PaceInput, urlFaults, WebhookChange, WebhookInput } from '../webhooks/webhook-input.ts'

const To = Type.Array(Type.String({ minLength: 1, maxLength: 254 }), {
  minItems: 1,
  maxItems: RECIPIENTS_MOST,
  uniqueItems: true,
  description: 'For email: plain addresses. Each address gets a mail of its own',
})
const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  description:
    'For slack: the address of an incoming webhook. It is a secret, stored encrypted and never shown again',
})
const LinkExpiresIn = nullable(
  Type.Integer({
    minimum: LINK_SECONDS.least,
    maximum: LINK_SECONDS.most,
    description: `Seconds for which the link in a message opens the page (default ${LINK_SECONDS.usual}, seven days); null: no link. Links need ASSAY_PUBLIC_URL`,
  }),
)
const Subject = Type.Enum([...SUBJECTS], {
  description:
    'For email: what the subject says. `title` (default): the title of the insight; `figure`: its first figure with its change, then the title, such as "Late flights 27.3 %, up 3.7 points (Flight delays, June 2001)". A figure that is doubtful or must not be read is not named',
})
const Attach = nullable(
  Type.Enum([...ATTACHMENTS], {
    description:
      'For email: `pdf` attaches the insight as PDF, without how it was computed (default null: nothing)',
  }),
)
const IncludeSkipped = Type.Boolean({
  description: 'Also sends a line for each run that its condition skipped',
})

const Personal = Type.Boolean({
  description:
    'Whether it is your own: a job or a schedule that you make tells it by `notify: ["me"]`. It has one address at most (default false)',
})

const Follows = Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
  maxItems: FOLLOWS_MOST,
  uniqueItems: true,
  description:
    'What it follows: `schedule:ID`, to get each run of the schedule, `template:ID`, to get the runs of the template that are sent to "followers", `collection:ID`, to get the runs of the series in it that schedules make or that are sent to "followers", or `metric:ID`, to get the runs that read the metric and are sent to "followers"',
})

const { events, status } = WebhookChange.properties

const shared = {
  to: Type.Optional(To),
  url: Type.Optional(Url),
  link_expires_in: Type.Optional(LinkExpiresIn),
  subject: Type.Optional(Subject),
  attach: Type.Optional(Attach),
  include_skipped: Type.Optional(IncludeSkipped),
  personal: Type.Optional(Personal),
  follows: Type.Optional(nullable(Follows)),
  user_id: Type.Optional(Name),
  presence_name: Type.Optional(Name),
  ...PaceInput,
}

export const SubscriptionInput = Type.Object({
  kind: Type.Enum([...SUBSCRIPTION_KINDS]),
  ...shared,
  events: WebhookInput.properties.events,
})
export const SubscriptionChange = Type.Object({ ...shared, events, status })
export type SubscriptionChange = Static<typeof SubscriptionChange>

/** Returns the faults of `url` and `to`, if given. `missingTarget` finds an absent one. */
export async function targetFaults(
  services: Pick<Services, 'targets' | 'ledger'>,
  principal: Pick<Principal, 'workspace_id'>,
  kind: SubscriptionKind,
  { to, url, subject, attach }: Pick<SubscriptionChange, 'to' | 'url' | 'subject' | 'attach'>,
): Promise<FieldError[]> {
  if (kind === 'slack') {
    const ofMail = { to, subject: subject === 'title' ? undefined : subject, attach: attach ?? undefined }
    return [
      ...(await urlFaults(services, principal, 'chat', url)),
      ...Object.entries(ofMail).flatMap(([path, value]) =>
        value === undefined ? [] : [{ path, message: 'belongs to the kind email' }],
      ),
    ]
  }
  const faults = (to ?? []).flatMap((address, index) =>
    isMailAddress(address)
      ? []
      : [{ path: `to.${index}`, message: 'must be a plain address such as ada@example.com' }],
  )
  return url === undefined ? faults : [...faults, { path: 'url', message: 'belongs to the kind slack' }]
}

/**
 * Returns the faults of a subscription of one user. "me" must not tell anybody else, and nobody may make such a
 * subscription for another user.
 */
export function personalFaults(
  { personal, user_id, to }: { personal: boolean; user_id: string; to: readonly string[] },
  caller: string,
): FieldError[] {
  if (!personal) return []
  const faults: FieldError[] = []
  if (user_id !== caller)
    faults.push({
      path: 'personal',
      message: `must be false: the subscription is for the user ${user_id}, and only ${user_id} can make it personal`,
    })
  if (to.length > 1)
    faults.push({ path: 'to', message: 'must be one address, because the subscription is personal' })
  return faults
}

export function missingTarget(
  kind: SubscriptionKind,
  { to, url }: Pick<SubscriptionChange, 'to' | 'url'>,
): FieldError[] {
  if (kind === 'email') return to === undefined ? [{ path: 'to', message: 'is missing' }] : []
  return url === undefined ? [{ path: 'url', message: 'is missing' }] : []
}
