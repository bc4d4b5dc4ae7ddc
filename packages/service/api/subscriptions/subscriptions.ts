/**
 * Operations on subscriptions: events by mail or in a chat. A subscription is a webhook of another kind, so deliveries,
 * retries, recovery and statistics work the same.
 */

import { tagOfWebhook } from '@assay/model/entity-tag'
import { AppError, type FieldError, notFound } from '@assay/model/errors'
import { LINK_SECONDS } from '@assay/model/link'
import { Type } from '@assay/model/schema'
import {
  hiddenUrl,
  SUBSCRIPTION_KINDS,
  type SubscriptionKind,
  SubscriptionView,
  type Target,
} from '@assay/model/subscription'
import { WEBHOOK_STATUSES, type Webhook } from '@assay/model/webhook'
import type { WebhookPatch } from '@assay/store/store'
import { fingerprint } from '../../runtime/secrets.ts'
import { openTarget, sealTarget } from '../../webhooks/target.ts'
import type { Services } from '../dependencies.ts'
import { LIMIT_DEFAULT, Name, pageOf, pageQuery } from '../http/fields.ts'
import { type Call, operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { requireSubscription, SubscriptionPath } from '../webhooks/webhook-lookup.ts'
import { followFaults } from './follows.ts'
import { askReaders, viewsOf, withAgreement } from './readers.ts'
import {
  missingTarget,
  personalFaults,
  SubscriptionChange,
  SubscriptionInput,
  targetFaults,
} from './subscription-input.ts'

/** Returns the target without its secrets, for the log and for `webhook.disabled`. */
function shownTarget(kind: SubscriptionKind, target: Target): string {
  return kind === 'slack' ? hiddenUrl(target.url!, fingerprint(target.url!)) : 'mailto:••••'
}

async function view(services: Services, webhook: Webhook): Promise<SubscriptionView> {
  return (await viewsOf(services, webhook.workspace_id, [webhook]))[0]!
}

function requireMailServer({ config }: Services, kind: SubscriptionKind): void {
  if (kind === 'email' && config.smtpUrl === null)
    throw new AppError(
      'conflict',
      'This service sends no mail: ask its operator to set ASSAY_SMTP_URL and ASSAY_MAIL_FROM on every node.',
    )
}

export const createSubscription = operation({
  name: 'createSubscription',
  audit: 'subscription.create',
  tag: 'Subscriptions',
  summary: 'Send events to people by mail or in a chat',
  description:
    '`email` takes `to`, `slack` takes `url`. `presence_name` (default "default") and `events` select the events, as for a webhook.',
  scope: 'analyst',
  body: SubscriptionInput,
  replies: { 201: { description: 'The subscription', schema: SubscriptionView } },
  errors: ['conflict'],
  async handle(call) {
    const { services, principal, body, id, reply } = call
    const { kind, to, url } = body
    const personal = body.personal ?? false
    const user_id = body.user_id ?? principal.user_id
    const faults = [
      ...missingTarget(kind, body),
      ...(await targetFaults(services, principal, kind, body)),
      ...personalFaults({ personal, user_id, to: to ?? [] }, principal.user_id),
      ...(await followFaults(call, body.follows)),
    ]
    if (faults.length > 0) throw invalid(faults)
    requireMailServer(services, kind)
    const wanted: Target = {
      to: to ?? [],
      url: url ?? null,
      link_expires_in: body.link_expires_in === undefined ? LINK_SECONDS.usual : body.link_expires_in,
      subject: body.subject ?? 'title',
      attach: body.attach ?? null,
    }
    const { target, asks } = await withAgreement(services, principal.workspace_id, {
      target: wanted,
      before: null,
    })
    const webhook = await services.store.createWebhook({
      webhook_id: id,
      workspace_id: principal.workspace_id,
      kind,
      target: sealTarget(services.secrets, id, target),
      tells_skipped: body.include_skipped ?? false,
      personal,
      follows: body.follows ?? null,
      url: shownTarget(kind, target),
      headers: [],
      user_id,
      presence_name: body.presence_name ?? 'default',
      events: body.events ?? null,
      description: body.description ?? null,
      signature: 'v1',
      secrets: [],
      public_key: null,
      retry_schedule: body.retry_schedule ?? null,
      max_in_flight: body.max_in_flight ?? null,
      rate_per_second: body.rate_per_second ?? null,
    })
    if (asks) await askReaders(services.store, webhook)
    return reply
      .code(201)
      .headers({ location: `/v1alpha/subscriptions/${id}`, etag: tagOfWebhook(webhook) })
      .send(await view(services, webhook))
  },
})

export const listSubscriptions = operation({
  name: 'listSubscriptions',
  // The answer shows the addresses of readers.
  audit: 'subscription.read',
  tag: 'Subscriptions',
  summary: 'List subscriptions, newest first',
  scope: 'viewer',
  query: pageQuery({
    kind: Type.Optional(Type.Enum([...SUBSCRIPTION_KINDS])),
    user_id: Type.Optional(Name),
    presence_name: Type.Optional(Name),
    status: Type.Optional(Type.Enum([...WEBHOOK_STATUSES])),
  }),
  replies: { 200: { description: 'A page of subscriptions', schema: pageOf(SubscriptionView) } },
  async handle({ services, principal, query: { kind, ...query } }) {
    const { workspace_id } = principal
    const kinds = kind === undefined ? SUBSCRIPTION_KINDS : [kind]
    const page = await services.store.listWebhooks({ limit: LIMIT_DEFAULT, ...query, workspace_id, kinds })
    return { items: await viewsOf(services, workspace_id, page.items), next_cursor: page.next_cursor }
  },
})

export const getSubscription = operation({
  name: 'getSubscription',
  audit: 'subscription.read',
  tag: 'Subscriptions',
  summary: 'Read a subscription',
  scope: 'viewer',
  params: SubscriptionPath,
  replies: { 200: { description: 'The subscription', schema: SubscriptionView } },
  errors: ['not_found'],
  async handle(call) {
    const webhook = await requireSubscription(call)
    void call.reply.header('etag', tagOfWebhook(webhook))
    return view(call.services, webhook)
  },
})

/**
 * Returns the sealed target after a change, and whether new readers are to be asked. Without a patch the target
 * stays.
 */
async function changedTarget(
  services: Services,
  webhook: Webhook,
  { to, url, link_expires_in, subject, attach }: SubscriptionChange,
): Promise<{ patch: Pick<WebhookPatch, 'target' | 'url'>; asks: boolean }> {
  if ([to, url, link_expires_in, subject, attach].every((field) => field === undefined))
    return { patch: {}, asks: false }
  const present = openTarget(services.secrets, webhook)
  // Whoever writes the list decides who is on it: readers who had left it before cannot put themselves back.
  const { left, ...known } = present
  const wanted: Target = {
    ...known,
    ...(to === undefined && left ? { left } : {}),
    to: to ?? present.to,
    url: url ?? present.url,
    link_expires_in: link_expires_in === undefined ? present.link_expires_in : link_expires_in,
    subject: subject ?? present.subject,
    attach: attach === undefined ? present.attach : attach,
  }
  const { target, asks } = await withAgreement(services, webhook.workspace_id, {
    target: wanted,
    before: present,
  })
  const patch = {
    target: sealTarget(services.secrets, webhook.webhook_id, target),
    url: shownTarget(webhook.kind as SubscriptionKind, target),
  }
  return { patch, asks }
}

/** Returns the faults of a change. Only the user of a personal subscription can change whose it is. */
function changedFaults(
  {
    services,
    principal,
    body,
  }: Pick<Call<unknown, unknown, SubscriptionChange>, 'services' | 'principal' | 'body'>,
  webhook: Webhook,
): FieldError[] {
  const { personal = webhook.personal, user_id = webhook.user_id, to } = body
  const touched = personal !== webhook.personal || user_id !== webhook.user_id
  const caller = touched ? principal.user_id : user_id
  return personalFaults({ personal, user_id, to: to ?? openTarget(services.secrets, webhook).to }, caller)
}

export const changeSubscription = operation({
  name: 'changeSubscription',
  audit: 'subscription.change',
  tag: 'Subscriptions',
  summary: 'Change a subscription',
  description: 'Fields that are left out stay. `enabled` makes pending deliveries due at once.',
  scope: 'analyst',
  params: SubscriptionPath,
  body: SubscriptionChange,
  replies: { 200: { description: 'The subscription as it is now', schema: SubscriptionView } },
  errors: ['not_found', 'conflict'],
  async handle(call) {
    const { services, principal, body } = call
    const webhook = await requireSubscription(call)
    const kind = webhook.kind as SubscriptionKind
    const faults = [
      ...(await targetFaults(services, principal, kind, body)),
      ...changedFaults(call, webhook),
      ...(await followFaults(call, body.follows, webhook.follows)),
    ]
    if (faults.length > 0) throw invalid(faults)
    const { to: _to, url: _url, link_expires_in: _link, subject: _subject, attach: _attach, ...rest } = body
    const { include_skipped, status, ...plain } = rest
    const { patch: targeted, asks } = await changedTarget(services, webhook, body)
    const patch: WebhookPatch = { ...plain, ...targeted }
    if (include_skipped !== undefined) patch.tells_skipped = include_skipped
    if (status !== undefined) patch.status = status
    if (status === 'disabled') patch.disabled_reason = `Turned off by ${principal.user_id}.`
    const { workspace_id, webhook_id, target } = webhook
    const changed = await services.store.updateWebhook({ workspace_id, webhook_id, patch, if_target: target })
    if (!changed)
      throw new AppError('conflict', 'The subscription was changed or deleted meanwhile: read it again.')
    if (asks) await askReaders(services.store, changed)
    void call.reply.header('etag', tagOfWebhook(changed))
    return view(services, changed)
  },
})

export const deleteSubscription = operation({
  name: 'deleteSubscription',
  audit: 'subscription.delete',
  tag: 'Subscriptions',
  summary: 'Delete a subscription with its deliveries',
  scope: 'analyst',
  params: SubscriptionPath,
  replies: { 204: { description: 'The subscription is deleted' } },
  errors: ['not_found'],
  async handle(call) {
    const { workspace_id, webhook_id } = await requireSubscription(call)
    const deleted = await call.services.store.deleteWebhook({ workspace_id, webhook_id })
    if (!deleted) throw notFound('subscription', webhook_id)
    return call.reply.code(204).send()
  },
})
