/** Makes one attempt of a claimed delivery: signs it, sends it by the sender of its kind, and logs it. A request that cannot be made is an outcome, too. */

import type { Clock } from '@assay/model/clock'
import type { Event } from '@assay/model/event'
import type { Lineage } from '@assay/model/insight'
import { tellsPeople } from '@assay/model/webhook'
import type { AttemptOutcome, ClaimedDelivery, Store } from '@assay/store/store'
import type { Ledger } from '../outgoing/ledger.ts'
import { hostOf } from '../outgoing/refusal.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { SecretError } from '../runtime/secrets.ts'
import { isStoreAway } from '../runtime/store-retry.ts'
import { openLineage } from './lineage/openlineage.ts'
import { type Sender, type Sent, send, unsent } from './send.ts'
import type { Held } from './senders/sender.ts'
import type { Senders } from './senders/senders.ts'
import type { Signer } from './sign.ts'

export interface AttemptContext {
  clock: Clock
  log: Logger
  /** The log of attempts, without redaction (see dispatcher.ts). */
  attemptLog: Logger
  metrics: Metrics
  ledger: Pick<Ledger, 'take' | 'addBytes' | 'vetHost'>
  store: Pick<Store, 'getInsightData'>
  /** The public address of the service; null if it has none. */
  publicUrl: string | null
  sender: Sender
  signer: Signer
  /** The senders of subscriptions; undefined if the node has none. */
  senders: Senders | undefined
}

/** Returns the body of an OpenLineage event. It leaves out the lineage of a deleted insight. */
async function lineageBody({ store, publicUrl }: AttemptContext, claimed: ClaimedDelivery): Promise<string> {
  const { workspace_id, event, body } = claimed
  const { data } = JSON.parse(body) as { data: Event['data'] }
  const { insight_id } = data
  const found =
    typeof insight_id === 'string' ? await store.getInsightData({ workspace_id, insight_id }) : null
  const lineage = found && (JSON.parse(Buffer.from(found.lineage).toString()) as Lineage)
  const around = { event_id: event.event_id, workspace_id, publicUrl }
  return JSON.stringify(openLineage({ ...event, data }, around, lineage))
}

/** The hosts of webhooks. The deliveries of one claim share the object of their webhook. */
const hosts = new WeakMap<ClaimedDelivery['webhook'], string>()

function hostFor(webhook: ClaimedDelivery['webhook']): string {
  const known = hosts.get(webhook)
  if (known !== undefined) return known
  const host = hostOf(webhook.url)
  hosts.set(webhook, host)
  return host
}

async function sendByKind(
  context: AttemptContext,
  claimed: ClaimedDelivery,
  now: number,
  giveUp: AbortSignal,
  traceparent: string | undefined,
): Promise<Sent | Held | null> {
  const { sender, signer, senders, ledger } = context
  const { delivery_id, workspace_id, webhook, event, attempt: number } = claimed
  if (!tellsPeople(webhook)) {
    const refusal =
      (await ledger.vetHost(workspace_id, 'webhook', hostFor(webhook))) ??
      (await ledger.take(workspace_id, 'webhook'))
    if (refusal !== null) return { held: refusal }
    const text = webhook.kind === 'openlineage' ? await lineageBody(context, claimed) : claimed.body
    const body = Buffer.from(text, 'utf8')
    ledger.addBytes(workspace_id, 'webhook', body.length)
    const headers = signer({ webhook, event, body, now, traceparent })
    return send(sender, { number, now, url: webhook.url, headers, body, signal: giveUp })
  }
  const own = senders?.[webhook.kind as keyof Senders]
  if (!own) throw new Error(`There is no sender of the kind ${webhook.kind}.`)
  const { data } = JSON.parse(claimed.body) as { data: Event['data'] }
  return own.send(
    { delivery_id, workspace_id, webhook, event: { ...event, data }, attempt: number, now },
    giveUp,
  )
}

const REMEDY = 'set the headers or the address again'

/**
 * Makes the attempt. Resolves with its record, or with null if the delivery is released without counting a try. If
 * the rules of the workspace hold the delivery back, it resolves with the reason.
 */
export async function attempt(
  context: AttemptContext,
  claimed: ClaimedDelivery,
  giveUp: AbortSignal,
  traceparent?: string,
): Promise<Sent | Held | null> {
  const now = context.clock.now()
  try {
    return await sendByKind(context, claimed, now, giveUp, traceparent)
  } catch (error) {
    // The sender of a subscription could not read the insight from the store.
    if (isStoreAway(error)) return null
    const { webhook, delivery_id, attempt: number } = claimed
    context.log.error(
      { webhook_id: webhook.webhook_id, delivery_id, err: error },
      'a delivery cannot be made',
    )
    const detail =
      error instanceof SecretError
        ? `A stored secret cannot be opened: rotate the signing secret and ${REMEDY}.`
        : `The request could not be made: ${REMEDY}, and rotate the signing secret.`
    return unsent(
      { number, now, url: webhook.url, body: Buffer.alloc(0) },
      { class: 'request_invalid', detail },
    )
  }
}

/** Returns the host of an address. The rest may hold a secret and is not logged. */
function shownHost(url: string): string | null {
  return /^https?:\/\/([^/?#]+)/i.exec(url)?.[1] ?? null
}

/** Logs an attempt in one line and observes its durations. */
export function report(
  { metrics, attemptLog }: AttemptContext,
  claimed: ClaimedDelivery,
  { record }: Sent,
  { next, disable }: AttemptOutcome,
): void {
  const outcome = record.error?.class ?? 'delivered'
  metrics.attempts.observe({ outcome }, record.duration_ms / 1000)
  if (record.number === 1) {
    const lag = Date.parse(record.started_at) - Date.parse(claimed.event.timestamp)
    metrics.deliveryLag.observe(Math.max(0, lag) / 1000)
  }
  const { delivery_id, webhook, workspace_id, event } = claimed
  attemptLog[disable ? 'warn' : 'info'](
    {
      delivery_id,
      webhook_id: webhook.webhook_id,
      workspace_id,
      host: shownHost(webhook.url),
      event_id: event.event_id,
      event_type: event.type,
      attempt: record.number,
      outcome,
      status_code: record.status_code,
      detail: record.error?.detail,
      duration_ms: record.duration_ms,
      phases: record.phases,
      next: next.status,
      wait_ms: next.status === 'pending' ? next.wait_ms : undefined,
      disabled: disable?.reason,
    },
    disable ? 'attempted a delivery and disabled the webhook' : 'attempted a delivery',
  )
}
