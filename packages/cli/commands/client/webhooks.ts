/** assay webhooks ...: registers, shows and repairs webhooks. `listen` and `trigger` have files of their own. */
import type { Client, WebhookStats, WebhookView } from '@assay/client'
import { systemClock } from '@assay/model/clock'
import { EVENT_TYPES } from '@assay/model/event'
import { allPages, clientCommand, listCommand, showCommand } from '../../client-command.ts'
import type { Call } from '../../command.ts'
import { UsageError } from '../../exit.ts'
import {
  choicesOption,
  eventsOption,
  flag,
  JSON_OPTION,
  numberOption,
  text,
  texts,
  timeOption,
} from '../../options.ts'
import { out, printJson, say, table } from '../../print.ts'
import { deliveryCommands } from './deliveries.ts'

function headersOf(call: Call): { name: string; value: string }[] {
  return call.all('header').map((pair) => {
    const at = pair.indexOf(':')
    if (at < 1) throw new UsageError(`--header takes "NAME: VALUE", not ${JSON.stringify(pair)}.`)
    return { name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() }
  })
}

function retriesOf(call: Call): number[] | undefined {
  const given = call.text('retry')
  if (given === undefined) return undefined
  const seconds = given === '' ? [] : given.split(',').map((part) => Number(part.trim() || 'none'))
  if (seconds.every(Number.isFinite)) return seconds
  throw new UsageError(`--retry takes seconds divided by commas, such as 5,60,3600, not ${given}.`)
}

type Health = Pick<WebhookView, 'status' | 'disabled_reason' | 'held_reason' | 'failing_reason'>

/** Returns the status, with its reason if there is one. */
export function statusOf({ status, disabled_reason, held_reason, failing_reason }: Health): string {
  if (status === 'disabled') return disabled_reason === null ? status : `disabled: ${disabled_reason}`
  if (held_reason !== null) return `held back: ${held_reason}`
  return failing_reason === null ? status : `failing: ${failing_reason}`
}

function statsTables({ sent, failed, p50_ms, p95_ms, p99_ms, hours }: WebhookStats): string {
  const total = table(
    ['SENT', 'FAILED', 'P50 MS', 'P95 MS', 'P99 MS'],
    [[sent, failed, p50_ms, p95_ms, p99_ms]],
  )
  const rows = hours.map((hour) => [hour.hour, hour.sent, hour.failed])
  return total + table(['HOUR', 'SENT', 'FAILED'], rows)
}

const POLL_MS = 500

async function followRecovery(
  client: Client,
  webhook_id: string,
  recovery_id: string,
  signal: AbortSignal,
): Promise<void> {
  for (let said = -1; !signal.aborted; ) {
    const { status, done, count } = await client.webhooks.recovery(webhook_id, recovery_id)
    if (done !== said) say(`${done} of ${count} deliveries are made.`)
    said = done
    if (status === 'completed') return
    await systemClock.sleep(POLL_MS, signal)
  }
}

const RECOVER = clientCommand(
  {
    name: 'webhooks recover',
    operands: 'ID',
    summary: 'Send all failed deliveries since a time again',
    options: {
      json: JSON_OPTION,
      since: text('TIME', 'A time, or how long ago: 2h (default: 24h)'),
      until: text('TIME', 'A time, or how long ago (default: now)'),
      'include-unsent': flag('Also events that were never sent, e.g. from before the webhook existed'),
      event: texts('TYPE', 'Only this event type; repeat for more'),
      'dry-run': flag('Only count them'),
      wait: flag('End once all deliveries are made, and say how far it is'),
    },
  },
  async (client, call) => {
    const webhook_id = call.operands[0]!
    const recovery = await client.webhooks.recover(webhook_id, {
      since: timeOption(call, 'since', '24h')!,
      until: timeOption(call, 'until'),
      event_types: choicesOption(call, 'event', EVENT_TYPES),
      include_unsent: call.on('include-unsent'),
      dry_run: call.on('dry-run'),
    })
    if (call.on('json')) printJson(recovery)
    else out(`${recovery.count}\n`)
    if (!('recovery_id' in recovery)) return
    const { recovery_id } = recovery
    if (call.on('wait')) await followRecovery(client, webhook_id, recovery_id, call.signal)
    else if (!call.on('json')) say(`Deliveries are on their way (recovery ${recovery_id}).`)
  },
)

export const WEBHOOKS = [
  showCommand(
    {
      name: 'webhooks create',
      operands: 'URL',
      summary: 'Register a webhook and print its id and signing secret, this once',
      options: {
        user: text('TEXT', 'Its user_id (default: admin)'),
        presence: text('TEXT', 'Its presence_name (default: default)'),
        header: texts('NAME:VALUE', 'Sent with every request'),
        event: texts('TYPE', 'An event type, or * (default: the three that end a job)'),
        description: text('TEXT', 'A note for people'),
        retry: text('SECONDS', 'Seconds between tries, divided by commas; "" for a single try'),
      },
    },
    (client, call) =>
      client.webhooks.create({
        url: call.operands[0]!,
        user_id: call.text('user') ?? 'admin',
        presence_name: call.text('presence') ?? 'default',
        headers: headersOf(call),
        events: eventsOption(call),
        description: call.text('description'),
        retry_schedule: retriesOf(call),
      }),
    ({ webhook_id, signing_secret }) => `${webhook_id}\n${signing_secret}\n`,
  ),
  listCommand(
    { name: 'webhooks list', summary: 'List the webhooks' },
    ['WEBHOOK', 'STATUS', 'PRESENCE', 'URL'],
    (client) => allPages(client.webhooks.list),
    (webhook) => [webhook.webhook_id, statusOf(webhook), webhook.presence_name, webhook.url],
  ),
  ...deliveryCommands('webhooks', 'Send webhook.test now and show what came back'),
  showCommand(
    {
      name: 'webhooks delivery',
      operands: 'DELIVERY',
      summary: 'Show a delivery with every attempt',
    },
    (client, call) => client.webhooks.delivery(call.operands[0]!),
    ({ attempts, next_attempt_at, event_type, status }) => {
      const rows = attempts.map(({ number, started_at, status_code, duration_ms, error }) => [
        number,
        started_at,
        status_code,
        Math.round(duration_ms),
        error ? `${error.class}: ${error.detail}` : 'delivered',
      ])
      const next = next_attempt_at ? `, next try ${next_attempt_at}` : ''
      return `${event_type} ${status}${next}\n${table(['TRY', 'STARTED', 'STATUS', 'MS', 'OUTCOME'], rows)}`
    },
  ),
  clientCommand(
    {
      name: 'webhooks redeliver',
      operands: 'DELIVERY...',
      summary: 'Send deliveries again',
      options: { json: JSON_OPTION },
    },
    async (client, call) => {
      for (const id of call.operands) {
        const delivery = await client.webhooks.redeliver(id)
        if (call.on('json')) printJson(delivery)
        else out(`${delivery.delivery_id}\n`)
      }
    },
  ),
  RECOVER,
  showCommand(
    {
      name: 'webhooks rotate-secret',
      operands: 'ID',
      summary: 'Make a new signing secret and print it, this once; both sign for a while',
      options: { overlap: text('SECONDS', 'Seconds that the present secret still signs (default 86400)') },
    },
    (client, call) => {
      const overlap_seconds = numberOption(call, 'overlap', 0, 604_800)
      return client.webhooks.rotateSecret(call.operands[0]!, { overlap_seconds })
    },
    ({ public_key, signing_secret }) => `${public_key ?? signing_secret}\n`,
  ),
  showCommand(
    { name: 'webhooks cancel-pending', operands: 'ID', summary: 'Cancel the pending deliveries' },
    (client, call) => client.webhooks.cancelPending(call.operands[0]!),
    ({ count }) => `${count}\n`,
  ),
  showCommand(
    {
      name: 'webhooks stats',
      operands: 'ID',
      summary: 'What was sent, what failed, and how long receivers took',
      options: { since: text('TIME', 'RFC 3339, such as 2026-01-31T12:00:00Z') },
    },
    (client, call) => client.webhooks.stats(call.operands[0]!, { since: call.text('since') }),
    statsTables,
  ),
]
