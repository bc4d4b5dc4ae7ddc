/**
 * Standard Webhooks signatures: `v1` (HMAC-SHA256, keys `whsec_`) and `v1a` (Ed25519, keys `whsk_` and `whpk_`). The exact
 * bytes of the body are signed; converting a body to a string changes it if it is not UTF-8. The file needs node:crypto
 * only, so receivers can use it as it is (`assay/client`).
 */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign as signBytes,
  timingSafeEqual,
  verify as verifyBytes,
} from 'node:crypto'

export type SignatureFault =
  | 'key_invalid'
  | 'header_missing'
  | 'timestamp_invalid'
  | 'timestamp_too_old'
  | 'timestamp_too_new'
  | 'signature_mismatch'
  | 'body_invalid'

/** A refused signature or key. `fault` is for programs, the message for people. */
export class SignatureError extends Error {
  readonly fault: SignatureFault

  constructor(fault: SignatureFault, message: string) {
    super(message)
    this.name = 'SignatureError'
    this.fault = fault
  }
}

/** The bytes before the 32 raw bytes of an Ed25519 key in PKCS #8 and in SPKI (RFC 8410). */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
/** The most signatures of a header that are compared. A rotation needs only a few. */
const MOST_SIGNATURES = 32

/** A key prepared by `prepareKey`. Preparing an HMAC key takes six times as long as signing with it. */
export type Key =
  | { version: 'v1'; secretKey: KeyObject }
  | { version: 'v1a'; privateKey: KeyObject | null; publicKey: KeyObject }

function decode(text: string, prefix: string): Buffer {
  const base64 = text.slice(prefix.length)
  if (base64 === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    throw new SignatureError('key_invalid', `A key must be ${prefix} followed by base64.`)
  return Buffer.from(base64, 'base64')
}

function publicKeyOf(raw: Buffer): KeyObject {
  if (raw.length !== 32) throw new SignatureError('key_invalid', 'A whpk_ key must hold 32 bytes.')
  return createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, raw]), format: 'der', type: 'spki' })
}

/**
 * Returns the private key of `whsk_`. It holds the 32 bytes of the seed, with or without the 32 bytes of the public
 * key after them.
 */
function privateKeyOf(raw: Buffer): KeyObject {
  if (raw.length !== 32 && raw.length !== 64)
    throw new SignatureError('key_invalid', 'A whsk_ key must hold 32 or 64 bytes.')
  const der = Buffer.concat([PRIVATE_PREFIX, raw.subarray(0, 32)])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

/** Prepares a key `whsec_`, `whsk_` or `whpk_`. Throws SignatureError `key_invalid`. */
export function prepareKey(text: string): Key {
  if (text.startsWith('whsec_')) return { version: 'v1', secretKey: createSecretKey(decode(text, 'whsec_')) }
  if (text.startsWith('whsk_')) {
    const privateKey = privateKeyOf(decode(text, 'whsk_'))
    return { version: 'v1a', privateKey, publicKey: createPublicKey(privateKey) }
  }
  if (text.startsWith('whpk_'))
    return { version: 'v1a', privateKey: null, publicKey: publicKeyOf(decode(text, 'whpk_')) }
  throw new SignatureError('key_invalid', 'A key must start with whsec_, whsk_ or whpk_.')
}

function toBytes(body: Uint8Array | string): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body, 'utf8') : body
}

function signedContent(id: string, timestamp: string, body: Uint8Array | string): Buffer {
  return Buffer.concat([Buffer.from(`${id}.${timestamp}.`, 'utf8'), toBytes(body)])
}

/** Returns the HMAC of `head` and `body` without copying them into one buffer. */
function signHmac(key: KeyObject, head: string, body: Uint8Array | string): string {
  return createHmac('sha256', key).update(head).update(toBytes(body)).digest('base64')
}

function hmac(key: KeyObject, content: Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest()
}

export interface SignInput {
  /** The value of `webhook-id`. It has no dots, because a dot separates the signed parts. */
  id: string
  /** The value of `webhook-timestamp`: seconds since 1970. */
  timestamp: number
  body: Uint8Array | string
  /** Keys `whsec_` or `whsk_`, as text or prepared. There are several while a key is being replaced. */
  secrets: readonly (string | Key)[]
}

/** Returns the value of `webhook-signature`: one signature for each secret, separated by spaces. */
export function sign({ id, timestamp, body, secrets }: SignInput): string {
  if (id === '' || id.includes('.') || !Number.isSafeInteger(timestamp) || secrets.length === 0)
    throw new TypeError(
      'sign needs an id without dots, a timestamp in whole seconds and at least one secret.',
    )
  const signatures = secrets.map((secret) => {
    const key = typeof secret === 'string' ? prepareKey(secret) : secret
    if (key.version === 'v1') return `v1,${signHmac(key.secretKey, `${id}.${timestamp}.`, body)}`
    if (key.privateKey === null)
      throw new SignatureError('key_invalid', 'A public key (whpk_) only verifies; sign with whsk_.')
    const content = signedContent(id, String(timestamp), body)
    return `v1a,${signBytes(null, content, key.privateKey).toString('base64')}`
  })
  return signatures.join(' ')
}

export type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export type VerifyInput = {
  /** The headers as node:http gives them, as `Headers`, or as any record of names and values. */
  headers: HeaderSource
  /** The body exactly as it was received, before anything parsed it. */
  body: Uint8Array | string
  /** The seconds by which the timestamp may differ from now, both ways; 300 by default. */
  tolerance?: number
  /** The present time in milliseconds since 1970; by default that of the clock. */
  now?: number
} & ({ secret: string } | { publicKey: string })

function headerOf(headers: HeaderSource, name: string): string {
  let value: string | readonly string[] | null | undefined
  if (typeof headers.get === 'function') value = headers.get(name)
  else {
    const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name)
    value = entry?.[1] as string | readonly string[] | undefined
  }
  const text = typeof value === 'string' ? value : (value?.join(' ') ?? '')
  if (text === '') throw new SignatureError('header_missing', `The request has no header ${name}.`)
  return text
}

function checkTimestamp(text: string, tolerance: number, now: number): number {
  if (!/^\d{1,15}$/.test(text))
    throw new SignatureError('timestamp_invalid', 'The header webhook-timestamp must hold whole seconds.')
  const timestamp = Number(text)
  const age = now / 1000 - timestamp
  if (age > tolerance) throw new SignatureError('timestamp_too_old', 'The request was signed too long ago.')
  if (age < -tolerance)
    throw new SignatureError('timestamp_too_new', 'The request was signed in the future: compare the clocks.')
  return timestamp
}

function matches(key: Key, content: Buffer, signature: Buffer): boolean {
  if (key.version === 'v1a')
    return signature.length === 64 && verifyBytes(null, content, key.publicKey, signature)
  const expected = hmac(key.secretKey, content)
  return signature.length === expected.length && timingSafeEqual(signature, expected)
}

/**
 * Checks a received request. Throws SignatureError if it cannot be trusted. One matching signature is enough; those
 * of other versions and keys are ignored. Every retry has the same `id`: keep it to recognize repeats.
 */
export function verify(input: VerifyInput): { id: string; timestamp: number } {
  const key = prepareKey('secret' in input ? input.secret : input.publicKey)
  const id = headerOf(input.headers, 'webhook-id')
  const seconds = headerOf(input.headers, 'webhook-timestamp')
  const list = headerOf(input.headers, 'webhook-signature').split(' ').slice(0, MOST_SIGNATURES)
  const timestamp = checkTimestamp(seconds, input.tolerance ?? 300, input.now ?? Date.now())
  const content = signedContent(id, seconds, input.body)
  const wanted = `${key.version},`
  const fits = list
    .filter((entry) => entry.startsWith(wanted))
    .map((entry) => matches(key, content, Buffer.from(entry.slice(wanted.length), 'base64')))
    .includes(true)
  if (!fits || id.includes('.'))
    throw new SignatureError(
      'signature_mismatch',
      'No signature in webhook-signature matches the body and the key.',
    )
  return { id, timestamp }
}

/**
 * Makes a new key. `v1`: 32 random bytes (`whsec_`). `v1a`: an Ed25519 pair; the sender keeps `secret` (`whsk_`, 64
 * bytes: seed and public key), receivers get `public_key` (`whpk_`).
 */
export function newSigningSecret(version: Key['version']): { secret: string; public_key: string | null } {
  if (version === 'v1') return { secret: `whsec_${randomBytes(32).toString('base64')}`, public_key: null }
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(PRIVATE_PREFIX.length)
  const open = publicKey.export({ format: 'der', type: 'spki' }).subarray(PUBLIC_PREFIX.length)
  return {
    secret: `whsk_${Buffer.concat([seed, open]).toString('base64')}`,
    public_key: `whpk_${open.toString('base64')}`,
  }
}
