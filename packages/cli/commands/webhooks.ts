/** assay webhooks ...: register, look, repair. `listen` and `trigger` are in listen.ts. */
import type { Client } from '@assay/client'
import { systemClock } from '@assay/model/clock'
import { EVENT_TYPES, type EventType } from '@assay/model/event'
import type { HeaderInput, WebhookView } from '@assay/model/webhook'
import { type Call, type Command, JSON_OPTION } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT, UsageError } from '../exit.ts'
import { out, printJson, say, table } from '../print.ts'
import { everything } from './accounts.ts'
import { deliveryCommands } from './deliveries.ts'
import { eventTypes } from './listen.ts'

function headersOf(call: Call): HeaderInput[] {
  return call.all('header').map((pair) => {
    const at = pair.indexOf(':')
    if (at < 1) throw new UsageError(`--header takes "NAME: VALUE", not ${JSON.stringify(pair)}.`)
    return { name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() }
  })
}

export function eventsOf(call: Call): (EventType | '*')[] | undefined {
  const given = call.all('event')
  for (const type of given) {
    if (type !== '*' && !EVENT_TYPES.includes(type as EventType))
      throw new UsageError(`--event takes *, ${EVENT_TYPES.join(', ')}, not ${JSON.stringify(type)}.`)
  }
  return given.length > 0 ? (given as (EventType | '*')[]) : undefined
}

function scheduleOf(text: string | undefined): { retry_schedule?: number[] } {
  if (text === undefined) return {}
  const retry_schedule = text === '' ? [] : text.split(',').map((part) => Number(part.trim() || 'none'))
  if (retry_schedule.some((seconds) => !Number.isFinite(seconds)))
    throw new UsageError(`--retry takes seconds divided by commas, such as 5,60,3600, not ${text}.`)
  return { retry_schedule }
}

const CREATE: Command = {
  name: 'webhooks create',
  operands: 'URL',
  summary: 'Register a webhook and print its id and signing secret, this once',
  options: {
    json: JSON_OPTION,
    user: { type: 'string', value: 'TEXT', doc: 'Its user_id (default: admin)' },
    presence: { type: 'string', value: 'TEXT', doc: 'Its presence_name (default: default)' },
    header: { type: 'string', multiple: true, value: 'NAME:VALUE', doc: 'Sent with every request' },
    event: {
      type: 'string',
      multiple: true,
      value: 'TYPE',
      doc: 'An event type, or * (default: the three ends)',
    },
    description: { type: 'string', value: 'TEXT', doc: 'A note for people' },
    retry: { type: 'string', value: 'SECONDS', doc: 'Between tries, divided by commas; "" for a single try' },
  },
  run: (call) =>
    withClient(call, async (client) => {
      const [events, description] = [eventsOf(call), call.text('description')]
      const webhook = await client.webhooks.create({
        url: call.operands[0]!,
        user_id: call.text('user') ?? 'admin',
        presence_name: call.text('presence') ?? 'default',
        headers: headersOf(call),
        ...(events ? { events } : {}),
        ...(description ? { description } : {}),
        ...scheduleOf(call.text('retry')),
      })
      if (call.on('json')) printJson(webhook)
      else out(`${webhook.webhook_id}\n${webhook.signing_secret!}\n`)
      return EXIT.ok
    }),
}

/** With the reason, where there is one. */
function statusOf({ status, disabled_reason, failing_reason }: WebhookView): string {
  if (status === 'disabled') return disabled_reason === null ? status : `disabled: ${disabled_reason}`
  return failing_reason === null ? status : `failing: ${failing_reason}`
}

const LIST: Command = {
  name: 'webhooks list',
  operands: '',
  summary: 'List the webhooks',
  options: { json: JSON_OPTION },
  run: (call) =>
    withClient(call, async (client) => {
      const webhooks = await everything(client.webhooks.list)
      if (call.on('json')) printJson(webhooks)
      else {
        const rows = webhooks.map((webhook) => [
          webhook.webhook_id,
          statusOf(webhook),
          webhook.presence_name,
          webhook.url,
        ])
        out(table(['WEBHOOK', 'STATUS', 'PRESENCE', 'URL'], rows))
      }
      return EXIT.ok
    }),
}

const REDELIVER: Command = {
  name: 'webhooks redeliver',
  operands: 'DELIVERY...',
  summary: 'Send deliveries again',
  options: { json: JSON_OPTION },
  run: (call) =>
    withClient(call, async (client) => {
      for (const id of call.operands) {
        const delivery = await client.webhooks.redeliver(id)
        if (call.on('json')) printJson(delivery)
        else out(`${delivery.delivery_id}\n`)
      }
      return EXIT.ok
    }),
}

/** "2h" ago, or an RFC 3339 time. */
async function timeOf(text: string, option: string): Promise<string> {
  const { parseDuration } = await import('@assay/service/config/config')
  if (/^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString()
  try {
    return new Date(Date.now() - parseDuration(text)).toISOString()
  } catch {
    throw new UsageError(`--${option} takes a time (2026-01-31T12:00:00Z) or how long ago (2h), not ${text}.`)
  }
}

const RECOVER: Command = {
  name: 'webhooks recover',
  operands: 'ID',
  summary: 'Send again all that failed since a time',
  options: {
    json: JSON_OPTION,
    since: { type: 'string', value: 'TIME', doc: 'A time, or how long ago: 2h (default: 24h)' },
    until: { type: 'string', value: 'TIME', doc: 'A time, or how long ago (default: now)' },
    'include-unsent': { type: 'boolean', doc: 'Also what was never sent, e.g. before the webhook was made' },
    event: { type: 'string', multiple: true, value: 'TYPE', doc: 'Only this event type; repeat for more' },
    'dry-run': { type: 'boolean', doc: 'Only say how many there are' },
    wait: { type: 'boolean', doc: 'End once all deliveries are made, and say how far it is' },
  },
  run: (call) =>
    withClient(call, async (client) => {
      const until = call.text('until')
      const event_types = eventTypes(call.all('event'))
      const recovery = await client.webhooks.recover(call.operands[0]!, {
        since: await timeOf(call.text('since') ?? '24h', 'since'),
        ...(until ? { until: await timeOf(until, 'until') } : {}),
        ...(event_types ? { event_types } : {}),
        ...(call.on('include-unsent') ? { include_unsent: true } : {}),
        ...(call.on('dry-run') ? { dry_run: true } : {}),
      })
      if (call.on('json')) printJson(recovery)
      else out(`${recovery.count}\n`)
      if (!('recovery_id' in recovery)) return EXIT.ok
      const { recovery_id } = recovery
      if (call.on('wait')) await untilRecovered(client, call.operands[0]!, recovery_id, call.signal)
      else if (!call.on('json')) say(`Deliveries are on their way (recovery ${recovery_id}).`)
      return EXIT.ok
    }),
}

const LOOK_MS = 500

async function untilRecovered(
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
    await systemClock.sleep(LOOK_MS, signal)
  }
}

const DELIVERY: Command = {
  name: 'webhooks delivery',
  operands: 'DELIVERY',
  summary: 'Show a delivery with every attempt',
  options: { json: JSON_OPTION },
  run: (call) =>
    withClient(call, async (client) => {
      const delivery = await client.webhooks.delivery(call.operands[0]!)
      if (call.on('json')) printJson(delivery)
      else {
        const { attempts, next_attempt_at, event_type, status } = delivery
        out(`${event_type} ${status}${next_attempt_at ? `, next try ${next_attempt_at}` : ''}\n`)
        const rows = attempts.map(({ number, started_at, status_code, duration_ms, error }) => [
          number,
          started_at,
          status_code,
          Math.round(duration_ms),
          error ? `${error.class}: ${error.detail}` : 'delivered',
        ])
        out(table(['TRY', 'STARTED', 'STATUS', 'MS', 'OUTCOME'], rows))
      }
      return EXIT.ok
    }),
}

export const WEBHOOKS = [
  CREATE,
  LIST,
  ...deliveryCommands('webhooks', 'Send webhook.test now and show what came back'),
  DELIVERY,
  REDELIVER,
  RECOVER,
]
