/**
 * Checks who reports a push: ASSAY_TEMPLATES_HOOK_SECRET signs the body by HMAC-SHA256. GitHub, Gitea, Forgejo, Gogs and Bitbucket send
 * the signature in hex. GitLab sends it by Standard Webhooks or, in its older form, sends the secret itself. The body is read as a
 * stream and not kept.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Headers with the HMAC-SHA256 of the body in hex, with or without "sha256=" before it. */
const HEX_HEADERS = [
  'x-hub-signature-256',
  'x-forgejo-signature',
  'x-gitea-signature',
  'x-gogs-signature',
  'x-hub-signature',
]
/** The most seconds between the time of a signature and now. Somebody may have recorded an older request. */
const SKEW_MS = 5 * 60_000

/** The body is larger than `most` bytes. */
export class LongBodyError extends Error {}

const same = (given: Buffer, wanted: Buffer): boolean =>
  given.length === wanted.length && timingSafeEqual(given, wanted)

const one = (headers: IncomingHttpHeaders, name: string): string | null => {
  const value = headers[name]
  return typeof value === 'string' ? value : null
}

async function digest(
  body: AsyncIterable<Buffer>,
  key: string | Buffer,
  before: string,
  most: number,
): Promise<Buffer> {
  const hmac = createHmac('sha256', key).update(before)
  let length = 0
  for await (const part of body) {
    length += part.length
    if (length > most) throw new LongBodyError()
    hmac.update(part)
  }
  return hmac.digest()
}

/** Returns the key of a Standard Webhooks secret: base64 after `whsec_`. */
const keyOf = (secret: string): string | Buffer =>
  secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret

/**
 * Tells whether the request proves the secret. It reads the body if a header signs the body. Rejects with
 * LongBodyError.
 */
export async function isSigned(
  { headers, body }: { headers: IncomingHttpHeaders; body: AsyncIterable<Buffer> },
  secret: string,
  { now, most }: { now: number; most: number },
): Promise<boolean> {
  for (const name of HEX_HEADERS) {
    const hex = one(headers, name)?.replace(/^sha256=/, '')
    if (hex === undefined) continue
    return same(Buffer.from(hex, 'hex'), await digest(body, secret, '', most))
  }
  const [id, at, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    one(headers, name),
  )
  if (id && at && signatures) {
    if (!(Math.abs(now - Number(at) * 1000) <= SKEW_MS)) return false
    const wanted = await digest(body, keyOf(secret), `${id}.${at}.`, most)
    return signatures
      .split(' ')
      .some((part) => part.startsWith('v1,') && same(Buffer.from(part.slice(3), 'base64'), wanted))
  }
  const token = one(headers, 'x-gitlab-token')
  // Digests are compared, because they have one length.
  const hash = (text: string): Buffer => createHmac('sha256', 'token').update(text).digest()
  return token !== null && same(hash(token), hash(secret))
}
