/** The headers of one attempt: as they are sent, and as people may see them. */
import type { Event } from '../event.ts'
import type { SecretBox } from '../runtime/secrets.ts'
import { sign } from '../signature.ts'
import { headerContext, hiddenValue, secretContext, type Webhook } from '../webhook.ts'

export interface AttemptHeaders {
  /** Name, value, name, value. */
  sent: string[]
  /** Registered values and the signature hidden: a signature could be replayed until it is too old. */
  shown: Record<string, string>
  /** The registered values, to be struck out of whatever the receiver answers. */
  secrets: string[]
}

export interface HeadersInput {
  webhook: Webhook
  event: Pick<Event, 'event_id'>
  body: Buffer
  /** Milliseconds since 1970. */
  now: number
  /** Of this program, for `user-agent`. */
  version: string
  box: SecretBox
}

/** The present key first, then the replaced ones that have not expired. */
function signingSecrets({ webhook, now, box }: HeadersInput): string[] {
  return webhook.secrets
    .filter(({ expires_at }) => expires_at === null || Date.parse(expires_at) > now)
    .map(({ sealed }) => box.open(sealed, secretContext(webhook.webhook_id)))
}

/** Throws SecretError where a value was sealed with a key that is not at hand. */
export function attemptHeaders(input: HeadersInput): AttemptHeaders {
  const { webhook, event, body, now, version, box } = input
  const timestamp = Math.floor(now / 1000)
  const signature = sign({ id: event.event_id, timestamp, body, secrets: signingSecrets(input) })
  const own: [string, string, string][] = [
    ['content-type', 'application/json', 'application/json'],
    ['user-agent', `assay/${version}`, `assay/${version}`],
    ['webhook-id', event.event_id, event.event_id],
    ['webhook-timestamp', String(timestamp), String(timestamp)],
    ['webhook-signature', signature, signature.replaceAll(/,[^ ]+/g, ',••••')],
  ]
  const registered = webhook.headers.map((header): [string, string, string] => {
    const value = box.open(header.sealed, headerContext(webhook.webhook_id, header.name))
    return [header.name, value, hiddenValue(header)]
  })
  const names = new Set(registered.map(([name]) => name.toLowerCase()))
  if (!names.has('accept-encoding')) own.push(['accept-encoding', 'identity', 'identity'])
  const all = [...own, ...registered]
  return {
    sent: all.flatMap(([name, value]) => [name, value]),
    shown: Object.fromEntries(all.map(([name, , shown]) => [name, shown])),
    secrets: registered.map(([, value]) => value),
  }
}
