/** Operations on deliveries of webhooks and subscriptions: list, read, send again, recover, cancel, count. */

import { iso } from '@assay/model/clock'
import {
  Attempt,
  DELIVERY_STATUSES,
  type Delivery,
  DeliveryView,
  RecoveryView,
  WebhookStats,
} from '@assay/model/delivery'
import { notFound } from '@assay/model/errors'
import { EVENT_TYPES } from '@assay/model/event'
import { Type } from '@assay/model/schema'
import { Id, LIMIT_DEFAULT, pageOf, pageQuery, Time } from '../http/fields.ts'
import { type Call, operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { jobTitles } from '../jobs/run-titles.ts'
import { mayRead } from '../readers/visible.ts'
import { type Family, pathOf, requireOf, SUBSCRIPTIONS, WEBHOOKS } from './webhook-lookup.ts'

const DAY_MS = 24 * 3600 * 1000
const DeliveryPath = Type.Object({ delivery_id: Id })
const DeliveryWithAttempts = Type.Object(
  { ...DeliveryView.properties, attempts: Type.Array(Attempt, { description: 'Oldest first' }) },
  { title: 'DeliveryWithAttempts' },
)

/** Returns the titles of the jobs of deliveries, by assignment id. The jobs that the caller may not read have none. */
async function titlesOf(
  { services, principal }: Pick<Call, 'services' | 'principal'>,
  deliveries: readonly Delivery[],
): Promise<Map<string, string>> {
  const { workspace_id } = principal
  const assignment_ids = [...new Set(deliveries.flatMap(({ assignment_id }) => assignment_id ?? []))]
  if (assignment_ids.length === 0) return new Map()
  const jobs = await services.store.getJobs({ workspace_id, assignment_ids })
  return jobTitles(
    services,
    workspace_id,
    jobs.filter((job) => mayRead(principal, job)),
  )
}

/** Returns the view of a delivery with the title of its job. */
function titledView(delivery: Delivery, titles: ReadonlyMap<string, string>): DeliveryView {
  return { ...deliveryView(delivery), title: titles.get(delivery.assignment_id ?? '') ?? null }
}

export function deliveryView(delivery: Delivery): DeliveryView {
  const { workspace_id: _, ...view } = delivery
  return view
}

const listOf = (of: Family, name: string) =>
  operation({
    name,
    tag: of.tag,
    summary: `List the deliveries of a ${of.noun}, newest first`,
    scope: 'viewer',
    params: pathOf(of, {}),
    query: pageQuery({
      status: Type.Optional(Type.Enum([...DELIVERY_STATUSES])),
      event_type: Type.Optional(Type.Enum([...EVENT_TYPES])),
      assignment_id: Type.Optional(Id),
      created_after: Type.Optional(Time),
      created_before: Type.Optional(Time),
    }),
    replies: { 200: { description: 'A page of deliveries', schema: pageOf(DeliveryView) } },
    errors: ['not_found'],
    async handle(call) {
      const { workspace_id, webhook_id } = await requireOf(of, call)
      const page = await call.services.store.listDeliveries({
        limit: LIMIT_DEFAULT,
        ...call.query,
        workspace_id,
        webhook_id,
      })
      const titles = await titlesOf(call, page.items)
      return {
        items: page.items.map((delivery) => titledView(delivery, titles)),
        next_cursor: page.next_cursor,
      }
    },
  })

export const getDelivery = operation({
  name: 'getDelivery',
  // The answer shows what was sent: the text of a mail, the body of a request.
  audit: 'delivery.read',
  tag: 'Webhooks',
  summary: 'Read a delivery with every attempt',
  scope: 'viewer',
  params: DeliveryPath,
  replies: { 200: { description: 'The delivery', schema: DeliveryWithAttempts } },
  errors: ['not_found'],
  async handle({ services, principal, params }) {
    const delivery = await services.store.getDelivery({ workspace_id: principal.workspace_id, ...params })
    if (!delivery) throw notFound('delivery', params.delivery_id)
    const titles = await titlesOf({ services, principal }, [delivery])
    return { ...titledView(delivery, titles), attempts: delivery.attempts }
  },
})

export const redeliver = operation({
  name: 'redeliver',
  tag: 'Webhooks',
  audit: 'delivery.redeliver',
  summary: 'Send an event again',
  description: 'Creates a new delivery of the same event, with the same `webhook-id`, due now.',
  scope: 'analyst',
  params: DeliveryPath,
  replies: { 202: { description: 'The new delivery', schema: DeliveryView } },
  errors: ['not_found'],
  async handle({ services, principal, params, id, reply }) {
    const { workspace_id } = principal
    const delivery = await services.store.redeliver({ workspace_id, ...params, new_delivery_id: id })
    if (!delivery) throw notFound('delivery', params.delivery_id)
    return reply
      .code(202)
      .header('location', `/v1alpha/webhooks/deliveries/${delivery.delivery_id}`)
      .send(deliveryView(delivery))
  },
})

const RecoverRequest = Type.Object(
  {
    since: Time,
    until: Type.Optional(Time),
    include_unsent: Type.Optional(
      Type.Boolean({
        description:
          'Also events that were never sent: from before the webhook existed, or while it was disabled',
      }),
    ),
    event_types: Type.Optional(
      Type.Array(Type.Enum([...EVENT_TYPES]), {
        minItems: 1,
        uniqueItems: true,
        description: 'Only events of these types',
      }),
    ),
    dry_run: Type.Optional(Type.Boolean({ description: 'Counts and sends nothing' })),
  },
  { title: 'RecoverRequest' },
)

const Count = Type.Object({ count: Type.Integer() }, { title: 'Count' })
const RecoveryStarted = Type.Object({ recovery_id: Id, count: Type.Integer() }, { title: 'RecoveryStarted' })

const recoverOf = (of: Family, name: string) =>
  operation({
    name,
    tag: of.tag,
    audit: `${of.noun}.recover`,
    summary: 'Send all failed deliveries since a time again',
    scope: 'analyst',
    params: pathOf(of, {}),
    body: RecoverRequest,
    replies: {
      200: { description: 'With `dry_run`: the number of deliveries', schema: Count },
      202: { description: 'The recovery has begun', schema: RecoveryStarted },
    },
    errors: ['not_found'],
    async handle(call) {
      const { services, body, id, reply } = call
      const { workspace_id, webhook_id } = await requireOf(of, call)
      const { since, until = null, include_unsent = false, event_types } = body
      if (until !== null && until <= since)
        throw invalid([{ path: 'until', message: 'must be later than since' }])
      const wanted = { workspace_id, webhook_id, since, until, include_unsent, event_types }
      if (body.dry_run) {
        const count = await services.store.countRecoverable(wanted)
        if (count === null) throw notFound(of.noun, webhook_id)
        return { count }
      }
      const recovery = await services.store.createRecovery({ ...wanted, recovery_id: id })
      if (!recovery) throw notFound(of.noun, webhook_id)
      const { recovery_id, count } = recovery
      return reply
        .code(202)
        .header('location', `/v1alpha/${of.noun}s/${webhook_id}/recoveries/${recovery_id}`)
        .send({ recovery_id, count })
    },
  })

const recoveryOf = (of: Family, name: string) =>
  operation({
    name,
    tag: of.tag,
    summary: 'Read the progress of a recovery',
    scope: 'viewer',
    params: pathOf(of, { recovery_id: Id }),
    replies: { 200: { description: 'The recovery', schema: RecoveryView } },
    errors: ['not_found'],
    async handle(call) {
      const { workspace_id, webhook_id } = await requireOf(of, call)
      const recovery_id = call.params.recovery_id!
      const recovery = await call.services.store.getRecovery({ workspace_id, webhook_id, recovery_id })
      if (!recovery) throw notFound('recovery', recovery_id)
      return recovery
    },
  })

const cancelOf = (of: Family, name: string) =>
  operation({
    name,
    tag: of.tag,
    audit: `${of.noun}.cancel_pending`,
    summary: 'Cancel pending deliveries',
    scope: 'analyst',
    params: pathOf(of, {}),
    replies: {
      200: { description: 'The number of canceled deliveries', schema: Count },
    },
    errors: ['not_found'],
    async handle(call) {
      const { workspace_id, webhook_id } = await requireOf(of, call)
      return { count: await call.services.store.cancelPending({ workspace_id, webhook_id }) }
    },
  })

const statsOf = (of: Family, name: string) =>
  operation({
    name,
    tag: of.tag,
    summary: 'Read statistics of the attempts',
    scope: 'viewer',
    params: pathOf(of, {}),
    query: Type.Object({
      since: Type.Optional(Type.String({ format: 'date-time', description: 'Default: 24 hours ago' })),
    }),
    replies: { 200: { description: 'Counts, percentiles, and counts by hour', schema: WebhookStats } },
    errors: ['not_found'],
    async handle(call) {
      const { services, query } = call
      const since = query.since ?? iso(services.clock.now() - DAY_MS)
      const { workspace_id, webhook_id } = await requireOf(of, call)
      const stats = await services.store.webhookStats({ workspace_id, webhook_id, since })
      if (!stats) throw notFound(of.noun, webhook_id)
      return stats
    },
  })

export const listDeliveries = listOf(WEBHOOKS, 'listDeliveries')
export const recoverDeliveries = recoverOf(WEBHOOKS, 'recoverDeliveries')
export const getRecovery = recoveryOf(WEBHOOKS, 'getRecovery')
export const cancelPending = cancelOf(WEBHOOKS, 'cancelPending')
export const getWebhookStats = statsOf(WEBHOOKS, 'getWebhookStats')

export const listSubscriptionDeliveries = listOf(SUBSCRIPTIONS, 'listSubscriptionDeliveries')
export const recoverSubscription = recoverOf(SUBSCRIPTIONS, 'recoverSubscription')
export const getSubscriptionRecovery = recoveryOf(SUBSCRIPTIONS, 'getSubscriptionRecovery')
export const cancelSubscriptionPending = cancelOf(SUBSCRIPTIONS, 'cancelSubscriptionPending')
export const getSubscriptionStats = statsOf(SUBSCRIPTIONS, 'getSubscriptionStats')
