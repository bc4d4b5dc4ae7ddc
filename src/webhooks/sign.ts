/** The headers of one attempt: as they are sent, and as people may see them. */
import type { Event } from '../event.ts'
import type { SecretBox } from '../runtime/secrets.ts'
import { type Key, prepareKey, sign } from '../signature.ts'
import { headerContext, secretContext, shownValue, type Webhook } from '../webhook.ts'

export interface AttemptHeaders {
  /** Name, value, name, value. */
  sent: string[]
  /** Registered values and the signature hidden: a signature could be replayed until it is too old. */
  shown: Record<string, string>
  /** The registered values, their longer parts, and the signatures: struck out of whatever the receiver answers. */
  secrets: string[]
}

export interface SignerOptions {
  box: SecretBox
  /** Of this program, for `user-agent`. */
  version: string
}

export interface HeadersInput {
  webhook: Webhook
  event: Pick<Event, 'event_id'>
  body: Buffer
  /** Milliseconds since 1970. */
  now: number
  /** Of the attempt, where it is traced: sent unless the webhook has a header of this name. */
  traceparent?: string | undefined
}

/** Throws SecretError where a value was sealed with a key that is not at hand. */
export type Signer = (input: HeadersInput) => AttemptHeaders

/** Opened texts are kept: opening one takes longer than signing with it. */
const OPENED_MOST = 10_000

/** By the sealed text and what it is bound to, so that a text kept for one use is not found for another. */
function remember<T>(make: (sealed: string, context: string) => T): (sealed: string, context: string) => T {
  const kept = new Map<string, T>()
  return (sealed, context) => {
    const id = `${context} ${sealed}`
    const known = kept.get(id)
    if (known !== undefined) return known
    const made = make(sealed, context)
    if (kept.size >= OPENED_MOST) kept.clear()
    kept.set(id, made)
    return made
  }
}

/** Values shorter than this are in every text: striking them out would leave none of it. */
const SHORTEST_SECRET = 4
const SHORTEST_PART = 8

/** A value, and the parts of one such as "Bearer TOKEN". */
function secretsIn(value: string): string[] {
  return [value, ...value.split(/[\s=:;,]+/).filter(({ length }) => length >= SHORTEST_PART)]
}

const isLong = ({ length }: string): boolean => length >= SHORTEST_SECRET

function setsTraceparent({ headers }: Webhook): boolean {
  return headers.some(({ name }) => name.toLowerCase() === 'traceparent')
}

/** What a webhook's own headers add to each request. */
type Registered = AttemptHeaders

export function createSigner({ box, version }: SignerOptions): Signer {
  const open = remember((sealed, context) => box.open(sealed, context))
  const keyOf = remember((sealed, context) => prepareKey(box.open(sealed, context)))

  /** The present key first, then the replaced ones that have not expired. */
  function signingKeys({ webhook, now }: HeadersInput): Key[] {
    return webhook.secrets
      .filter(({ expires_at }) => expires_at === null || Date.parse(expires_at) > now)
      .map(({ sealed }) => keyOf(sealed, secretContext(webhook.webhook_id)))
  }

  function registeredHeaders(webhook: Webhook): Registered {
    const all = webhook.headers.map((header) => {
      const value = open(header.sealed, headerContext(webhook.webhook_id, header.name))
      const hidden = header.public_value === undefined
      return { name: header.name, value, shown: shownValue(header), hidden }
    })
    const hidden = all.filter((one) => one.hidden)
    const encoded = all.some(({ name }) => name.toLowerCase() === 'accept-encoding')
    const own = encoded ? [] : [{ name: 'accept-encoding', value: 'identity', shown: 'identity' }]
    return {
      sent: [...own, ...all].flatMap(({ name, value }) => [name, value]),
      shown: Object.fromEntries([...own, ...all].map(({ name, shown }) => [name, shown])),
      secrets: hidden.flatMap(({ value }) => secretsIn(value)).filter(isLong),
    }
  }

  const agent = `assay/${version}`
  // One object for each webhook in a claim: its headers are opened once for all deliveries of it.
  const registered = new WeakMap<Webhook, Registered>()

  return (input) => {
    const { webhook, event, body, now } = input
    const timestamp = Math.floor(now / 1000)
    const signature = sign({ id: event.event_id, timestamp, body, secrets: signingKeys(input) })
    const known = registered.get(webhook)
    const rest = known ?? registeredHeaders(webhook)
    if (!known) registered.set(webhook, rest)
    const traceparent = setsTraceparent(webhook) ? undefined : input.traceparent
    const seconds = String(timestamp)
    const signatures = signature.split(' ').map((one) => one.split(',') as [string, string])
    return {
      sent: [
        'content-type',
        'application/json',
        'user-agent',
        agent,
        'webhook-id',
        event.event_id,
        'webhook-timestamp',
        seconds,
        'webhook-signature',
        signature,
        ...(traceparent === undefined ? [] : ['traceparent', traceparent]),
        ...rest.sent,
      ],
      shown: {
        'content-type': 'application/json',
        'user-agent': agent,
        'webhook-id': event.event_id,
        'webhook-timestamp': seconds,
        'webhook-signature': signatures.map(([version]) => `${version},••••`).join(' '),
        ...(traceparent === undefined ? {} : { traceparent }),
        ...rest.shown,
      },
      secrets: [...rest.secrets, ...signatures.map(([, base64]) => base64)],
    }
  }
}
