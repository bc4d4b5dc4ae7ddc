/** Makes the headers of one attempt, as they are sent and as the record shows them. */
import type { Event } from '@assay/model/event'
import { type Key, prepareKey, sign } from '@assay/model/signature'
import {
  headerContext,
  type SealedSecret,
  secretContext,
  shownValue,
  type Webhook,
} from '@assay/model/webhook'
import type { SecretBox } from '../runtime/secrets.ts'

export interface AttemptHeaders {
  /** Names and values of the headers, in turn: name, value, name, value. */
  sent: string[]
  /** The headers for the record. Registered values and the signature are hidden, because a signature can be replayed for a while. */
  shown: Record<string, string>
  /** The registered values, their longer parts, and the signatures. They are hidden in the receiver's answers. */
  secrets: string[]
}

export interface SignerOptions {
  box: SecretBox
  /** The version of this program, for `user-agent`. */
  version: string
}

export interface HeadersInput {
  webhook: Webhook
  event: Pick<Event, 'event_id'>
  body: Buffer
  /** The present time in milliseconds since 1970. */
  now: number
  /** The trace of the attempt. It is sent unless the webhook has a header of this name. */
  traceparent?: string | undefined
}

/** Makes the headers of an attempt. Throws SecretError if a value was sealed with an unknown key. */
export type Signer = (input: HeadersInput) => AttemptHeaders

/** The most opened secrets in memory. Opening one takes longer than signing with it. */
const OPENED_MOST = 10_000

/**
 * Caches the results of `make` by the sealed text and its context, so that a text opened for one use is not found for
 * another.
 */
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

/** The least characters of a value that is hidden. A shorter one occurs in every text. */
const SHORTEST_SECRET = 4
const SHORTEST_PART = 8

/** Returns a value and its parts, such as the token of "Bearer TOKEN". */
function secretsIn(value: string): string[] {
  return [value, ...value.split(/[\s=:;,]+/).filter(({ length }) => length >= SHORTEST_PART)]
}

const isLong = ({ length }: string): boolean => length >= SHORTEST_SECRET

function setsTraceparent({ headers }: Webhook): boolean {
  return headers.some(({ name }) => name.toLowerCase() === 'traceparent')
}

/** The headers that every request of a webhook has. Each request copies them and sets the rest by index. */
interface Prepared {
  /** The keys; null if one of them expires, so that each request chooses its keys. */
  keys: Key[] | null
  sent: string[]
  shown: Record<string, string>
  /** The registered values and their longer parts. */
  secrets: string[]
  traced: boolean
}

/** The indexes in `sent` of the values that differ in each request. */
const [ID_AT, TIMESTAMP_AT, SIGNATURE_AT] = [5, 7, 9]

interface Named {
  name: string
  value: string
  /** The value in the record, if it differs from the sent value. */
  shown?: string
}

/**
 * Returns the headers in the order in which they are sent. The values at the indexes above differ in each request.
 */
function namedHeaders(agent: string, signatures: string, registered: readonly Named[]): Required<Named>[] {
  const encoded = registered.some(({ name }) => name.toLowerCase() === 'accept-encoding')
  const all: Named[] = [
    { name: 'content-type', value: 'application/json' },
    { name: 'user-agent', value: agent },
    { name: 'webhook-id', value: '' },
    { name: 'webhook-timestamp', value: '' },
    { name: 'webhook-signature', value: '', shown: signatures },
    ...(encoded ? [] : [{ name: 'accept-encoding', value: 'identity' }]),
    ...registered,
  ]
  return all.map(({ name, value, shown = value }) => ({ name, value, shown }))
}

/** Returns the part after each comma of "v1,BASE64 v1a,BASE64". */
function base64sOf(signature: string): string[] {
  const first = signature.indexOf(',') + 1
  if (!signature.includes(' ')) return [signature.slice(first)]
  return signature.split(' ').map((one) => one.slice(one.indexOf(',') + 1))
}

function hiddenOf(keys: readonly Key[]): string {
  return keys.map(({ version }) => `${version},••••`).join(' ')
}

const isCurrent = ({ expires_at }: SealedSecret, now: number): boolean =>
  expires_at === null || Date.parse(expires_at) > now

export function createSigner({ box, version }: SignerOptions): Signer {
  const open = remember((sealed, context) => box.open(sealed, context))
  const keyOf = remember((sealed, context) => prepareKey(box.open(sealed, context)))

  /**
   * Returns the keys of signatures: the present one first, then replaced ones that have not expired. It leaves out a
   * key that no secret key opens.
   */
  function signingKeys(webhook: Webhook, now: number): Key[] {
    return webhook.secrets
      .filter((secret, index) => index === 0 || (isCurrent(secret, now) && box.holdsKeyOf(secret.sealed)))
      .map(({ sealed }) => keyOf(sealed, secretContext(webhook.webhook_id)))
  }

  function prepare({ webhook, now }: HeadersInput): Prepared {
    const all = webhook.headers.map((header) => {
      const value = open(header.sealed, headerContext(webhook.webhook_id, header.name))
      const hidden = header.public_value === undefined
      return { name: header.name, value, shown: shownValue(header), hidden }
    })
    const fixed = webhook.secrets.every(({ expires_at }) => expires_at === null)
    const keys = fixed ? signingKeys(webhook, now) : null
    const named = namedHeaders(agent, hiddenOf(keys ?? []), all)
    return {
      keys,
      sent: named.flatMap(({ name, value }) => [name, value]),
      shown: Object.fromEntries(named.map(({ name, shown }) => [name, shown])),
      secrets: all
        .filter(({ hidden }) => hidden)
        .flatMap(({ value }) => secretsIn(value))
        .filter(isLong),
      traced: !setsTraceparent(webhook),
    }
  }

  const agent = `assay/${version}`
  // The deliveries of one claim share the object of their webhook, so its headers are opened once.
  const known = new WeakMap<Webhook, Prepared>()

  function preparedFor(input: HeadersInput): Prepared {
    const before = known.get(input.webhook)
    if (before) return before
    const made = prepare(input)
    known.set(input.webhook, made)
    return made
  }

  return (input) => {
    const { webhook, event, body, now, traceparent } = input
    const prepared = preparedFor(input)
    const secrets = prepared.keys ?? signingKeys(webhook, now)
    const timestamp = Math.floor(now / 1000)
    const signature = sign({ id: event.event_id, timestamp, body, secrets })
    const sent = prepared.sent.slice()
    const shown = { ...prepared.shown }
    sent[ID_AT] = shown['webhook-id'] = event.event_id
    sent[TIMESTAMP_AT] = shown['webhook-timestamp'] = String(timestamp)
    sent[SIGNATURE_AT] = signature
    if (prepared.keys === null) shown['webhook-signature'] = hiddenOf(secrets)
    if (traceparent !== undefined && prepared.traced) {
      sent.push('traceparent', traceparent)
      shown.traceparent = traceparent
    }
    const base64s = base64sOf(signature)
    return { sent, shown, secrets: prepared.secrets.length > 0 ? [...prepared.secrets, ...base64s] : base64s }
  }
}
