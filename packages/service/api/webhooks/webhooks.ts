/** Operations on webhooks: create, list, read, change, delete, test, rotate the secret. Only the answer that creates a secret has it. */

import { Attempt, DeliveryView } from '@assay/model/delivery'
import { tagOfWebhook } from '@assay/model/entity-tag'
import { AppError, notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { newSigningSecret } from '@assay/model/signature'
import {
  LINEAGE_EVENTS,
  PROGRAM_KINDS,
  type SignatureVersion,
  secretContext,
  WEBHOOK_STATUSES,
  WEBHOOKS_MOST,
  type Webhook,
  WebhookView,
  webhookView,
} from '@assay/model/webhook'
import type { WebhookPatch } from '@assay/store/store'
import type { SecretBox } from '../../runtime/secrets.ts'
import { Id, LIMIT_DEFAULT, Name, pageOf, pageQuery } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { deliveryKey } from '../jobs/changes.ts'
import { deliveryView } from './deliveries.ts'
import {
  headerChanges,
  headerFaults,
  lineageFaults,
  sealHeader,
  urlFaults,
  WebhookChange,
  WebhookInput,
} from './webhook-input.ts'
import {
  type Family,
  pathOf,
  requireOf,
  requireWebhook,
  SUBSCRIPTIONS,
  WEBHOOKS,
  WebhookPath,
} from './webhook-lookup.ts'

const OVERLAP_SECONDS = 24 * 3600
const TEST_MS = 20_000

const SigningSecret = Type.Union([Type.String(), Type.Null()], {
  description:
    'Only this answer has it: keep it to verify signatures. Null with v1a, whose private key is never shown: receivers verify with `public_key`',
})
const WithSecret = Type.Object(
  { ...WebhookView.properties, signing_secret: SigningSecret },
  { title: 'WebhookWithSecret' },
)

/** Returns the view with the secret. Of a key pair (v1a) it shows the public key alone. */
function withSecret(webhook: Webhook, secret: string, now: number) {
  return { ...webhookView(webhook, now), signing_secret: webhook.signature === 'v1' ? secret : null }
}

function newSecret(secrets: SecretBox, webhook_id: string, version: SignatureVersion) {
  const { secret, public_key } = newSigningSecret(version)
  return { secret, public_key, sealed: secrets.seal(secret, secretContext(webhook_id)) }
}

export const createWebhook = operation({
  name: 'createWebhook',
  tag: 'Webhooks',
  audit: 'webhook.create',
  summary: 'Register a webhook',
  description: `A workspace has at most ${WEBHOOKS_MOST}.`,
  scope: 'analyst',
  body: WebhookInput,
  replies: { 200: { description: 'The webhook, with its signing secret', schema: WithSecret } },
  errors: ['conflict'],
  async handle({ services, principal, body, id, reply }) {
    const { secrets, store } = services
    const { headers = [], signature = 'v1' } = body
    const isLineage = body.format === 'openlineage'
    const faults = [
      ...(await urlFaults(services, principal, 'webhook', body.url)),
      ...headerFaults(headers),
      ...(isLineage ? lineageFaults(body.events) : []),
    ]
    if (faults.length > 0) throw invalid(faults)
    const { secret, public_key, sealed } = newSecret(secrets, id, signature)
    const webhook = await store.createWebhook({
      webhook_id: id,
      workspace_id: principal.workspace_id,
      ...(isLineage ? { kind: 'openlineage' as const, tells_skipped: true } : {}),
      url: body.url,
      headers: headers.map((header) => sealHeader(secrets, id, header)),
      user_id: body.user_id,
      presence_name: body.presence_name,
      events: body.events ?? (isLineage ? [...LINEAGE_EVENTS] : null),
      description: body.description ?? null,
      signature,
      secrets: [{ sealed, expires_at: null }],
      public_key,
      retry_schedule: body.retry_schedule ?? null,
      max_in_flight: body.max_in_flight ?? null,
      rate_per_second: body.rate_per_second ?? null,
    })
    void reply.header('etag', tagOfWebhook(webhook))
    return withSecret(webhook, secret, services.clock.now())
  },
})

export const listWebhooks = operation({
  name: 'listWebhooks',
  tag: 'Webhooks',
  summary: 'List webhooks, newest first',
  scope: 'viewer',
  query: pageQuery({
    user_id: Type.Optional(Name),
    presence_name: Type.Optional(Name),
    status: Type.Optional(Type.Enum([...WEBHOOK_STATUSES])),
  }),
  replies: { 200: { description: 'A page of webhooks', schema: pageOf(WebhookView) } },
  async handle({ services, principal, query }) {
    const { workspace_id } = principal
    const page = await services.store.listWebhooks({
      limit: LIMIT_DEFAULT,
      ...query,
      workspace_id,
      kinds: PROGRAM_KINDS,
    })
    const now = services.clock.now()
    return { items: page.items.map((webhook) => webhookView(webhook, now)), next_cursor: page.next_cursor }
  },
})

export const getWebhook = operation({
  name: 'getWebhook',
  tag: 'Webhooks',
  summary: 'Read a webhook',
  scope: 'viewer',
  params: WebhookPath,
  replies: { 200: { description: 'The webhook', schema: WebhookView } },
  errors: ['not_found'],
  async handle(call) {
    const webhook = await requireWebhook(call)
    void call.reply.header('etag', tagOfWebhook(webhook))
    return webhookView(webhook, call.services.clock.now())
  },
})

export const changeWebhook = operation({
  name: 'changeWebhook',
  tag: 'Webhooks',
  audit: 'webhook.change',
  summary: 'Change a webhook',
  description:
    'Fields that are left out stay. `headers` changes by name: a value sets a header, null removes it, the others stay; null instead of the list removes all. `enabled` makes pending deliveries due at once, even if the webhook was enabled.',
  scope: 'analyst',
  params: WebhookPath,
  body: WebhookChange,
  replies: { 200: { description: 'The webhook as it is now', schema: WebhookView } },
  errors: ['not_found'],
  async handle(call) {
    const { services, principal, body } = call
    const { headers, status, ...plain } = body
    const faults = [
      ...(await urlFaults(services, principal, 'webhook', body.url)),
      ...headerFaults(headers ?? []),
    ]
    if (faults.length > 0) throw invalid(faults)
    const { user_id } = principal
    const { workspace_id, webhook_id, kind } = await requireWebhook(call)
    const meant = kind === 'openlineage' && body.events !== undefined ? lineageFaults(body.events) : []
    if (meant.length > 0) throw invalid(meant)
    const patch: WebhookPatch = plain
    if (headers !== undefined) patch.headers = headerChanges(services.secrets, webhook_id, headers)
    if (status !== undefined) patch.status = status
    if (status === 'disabled') patch.disabled_reason = `Turned off by ${user_id}.`
    const changed = await services.store.updateWebhook({ workspace_id, webhook_id, patch })
    if (!changed) throw notFound('webhook', webhook_id)
    void call.reply.header('etag', tagOfWebhook(changed))
    return webhookView(changed, services.clock.now())
  },
})

export const deleteWebhook = operation({
  name: 'deleteWebhook',
  tag: 'Webhooks',
  audit: 'webhook.delete',
  summary: 'Delete a webhook with its deliveries',
  scope: 'analyst',
  params: WebhookPath,
  replies: { 204: { description: 'The webhook is deleted' } },
  errors: ['not_found'],
  async handle(call) {
    const { services, reply } = call
    const { workspace_id, webhook_id } = await requireWebhook(call)
    if (!(await services.store.deleteWebhook({ workspace_id, webhook_id })))
      throw notFound('webhook', webhook_id)
    return reply.code(204).send()
  },
})

export const rotateSecret = operation({
  name: 'rotateSecret',
  tag: 'Webhooks',
  audit: 'webhook.rotate_secret',
  summary: 'Replace the signing secret',
  description:
    'Both secrets sign until the overlap is over, so that receivers can change theirs in between (with v1a to the new `public_key`). With 0 only the new secret signs.',
  scope: 'analyst',
  params: WebhookPath,
  body: Type.Object({
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 7 * 24 * 3600,
        description: `Seconds for which the present secret still signs (default ${OVERLAP_SECONDS})`,
      }),
    ),
  }),
  replies: { 200: { description: 'The webhook, with its new signing secret', schema: WithSecret } },
  errors: ['not_found'],
  async handle(call) {
    const { services, principal, params, body } = call
    const { signature } = await requireWebhook(call)
    const { secret, public_key, sealed } = newSecret(services.secrets, params.webhook_id, signature)
    const webhook = await services.store.rotateSecret({
      workspace_id: principal.workspace_id,
      webhook_id: params.webhook_id,
      sealed,
      public_key,
      overlap_ms: (body.overlap_seconds ?? OVERLAP_SECONDS) * 1000,
    })
    if (!webhook) throw notFound('webhook', params.webhook_id)
    void call.reply.header('etag', tagOfWebhook(webhook))
    return withSecret(webhook, secret, services.clock.now())
  },
})

const TestedAttempt = Type.Object(
  { delivery_id: Id, event_id: Id, ...Attempt.properties },
  { title: 'TestedAttempt' },
)

const testOf = (of: Family, name: string) =>
  operation({
    name,
    tag: of.tag,
    audit: `${of.noun}.test`,
    summary: 'Send a test event now',
    description: `Sends \`webhook.test\` to this ${of.noun}, whatever its \`events\`, ahead of pending deliveries and despite an open breaker, and answers with the attempt. It waits only for a free slot (\`max_in_flight\`), for the rate, or while the receiver's Retry-After lasts.`,
    scope: 'analyst',
    params: pathOf(of, {}),
    replies: {
      200: { description: 'The attempt, whether it succeeded or not', schema: TestedAttempt },
      202: {
        description: 'No attempt was made within 20 seconds: read the delivery later',
        schema: DeliveryView,
      },
    },
    errors: ['not_found', 'conflict'],
    async handle(call) {
      const { services, id, reply, signal } = call
      const { store, changes } = services
      const { workspace_id, webhook_id, status } = await requireOf(of, call)
      if (status === 'disabled')
        throw new AppError('conflict', `The ${of.noun} is disabled and gets nothing: enable it first.`)
      const sent = await store.sendEvent({
        workspace_id,
        webhook_id,
        event_id: id,
        delivery_id: id,
        type: 'webhook.test',
        data: { webhook_id, message: `This is a test: nothing happened, and the ${of.noun} works.` },
      })
      if (!sent) throw notFound(of.noun, webhook_id)
      const { delivery_id } = sent
      const look = async (): Promise<Attempt | undefined> =>
        (await store.getDelivery({ workspace_id, delivery_id }))?.attempts[0]
      const attempt = await changes.until(deliveryKey(delivery_id), look, TEST_MS, signal())
      if (attempt) return { delivery_id, event_id: sent.event_id, ...attempt }
      return reply
        .code(202)
        .header('location', `/v1alpha/webhooks/deliveries/${delivery_id}`)
        .send(deliveryView(sent))
    },
  })

export const testWebhook = testOf(WEBHOOKS, 'testWebhook')
export const testSubscription = testOf(SUBSCRIPTIONS, 'testSubscription')
