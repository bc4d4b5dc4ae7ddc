/** Verifies webhooks with Node's cryptography. A bundler for browsers takes signature-browser.ts in its place. */
import { SignatureError, type VerifyInput, verify as verifySignature } from '@assay/model/signature'
import type { WebhookMessage } from './api.generated.ts'

export { SignatureError, sign } from '@assay/model/signature'

export interface Verified {
  /** The `webhook-id`. It is the same for every attempt, so keep it to recognize repeats. */
  id: string
  /** The time of the signature, in seconds since 1970. */
  timestamp: number
  /** The event. Its `type` decides the fields of its `data`. */
  event: WebhookMessage
}

/**
 * Returns the event of a received request. Throws SignatureError if the request cannot be trusted, or if its body is
 * not an event.
 */
export function verify(input: VerifyInput): Verified {
  const proven = verifySignature(input)
  const { body } = input
  try {
    const event = JSON.parse(
      typeof body === 'string' ? body : new TextDecoder().decode(body),
    ) as WebhookMessage
    if (typeof event.type === 'string') return { ...proven, event }
  } catch {
    // The error is thrown below.
  }
  throw new SignatureError(
    'body_invalid',
    'The signature fits, and the body is not an event: verify only what Assay sends.',
  )
}
